"""CSV files: each row a line, each cell with the name of its column."""

from __future__ import annotations

import csv

from raptor_core.documents.formats.archive import refuse_damage
from raptor_core.documents.formats.encoding import decode
from raptor_core.documents.formats.parsed import Blocks, Parsed, clean_text
from raptor_core.documents.formats.rows import write_rows

_DELIMITERS = ",;\t|"
_SNIFFED_CHARS = 20_000


def parse_csv(data: bytes) -> Parsed:
    """Parse rows of values with commas, semicolons, tabs or bars between them."""
    text = clean_text(decode(data))
    try:
        dialect: type[csv.Dialect] = csv.Sniffer().sniff(text[:_SNIFFED_CHARS], _DELIMITERS)
    except csv.Error:
        dialect = csv.excel
    blocks = Blocks()
    with refuse_damage("CSV file"):
        write_rows(blocks, csv.reader(text.splitlines(keepends=True), dialect))
    return blocks.parsed()
