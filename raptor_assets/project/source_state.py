"""Cache of the last scans of the source, next to the tables, for the next tick or process.

It may be deleted, and several machines may write it: an entry is valid for a file with the stamp
that it names. A large catalog has parts by the first bits of the keys, so that an edit writes one
part. The first part has their number. Files of a missing or damaged part are read again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise, repeat

from raptor_core.documents import Catalog, Scan, parser_fingerprint, scan_source
from raptor_core.errors import TableError
from raptor_core.settings import SourceSettings
from raptor_core.tables.files import TableStore, table_properties
from raptor_core.tables.schema import Schema

KEY = ("source_scan",)
_NAME = "files"
_READINGS = Schema(("file", "bytes"), ("reading", "bytes"))
_PARSERS = "parsers"
_PARTS = "parts"

PART_BYTES = 4 * 2**20  # of packed readings in one table
MAX_PARTS = 256


def load_catalog(tables: TableStore, settings: SourceSettings) -> Catalog:
    """Return the kept catalog, without parts that are damaged or of other settings."""
    parsers = parser_fingerprint(settings)
    catalog = Catalog()
    for number in range(_read(catalog, tables, 0, parsers)):
        if number:
            _read(catalog, tables, number, parsers)
    return catalog


def look(tables: TableStore, settings: SourceSettings) -> Scan:
    """Scan the source without writing anything, with files that were just written, as they are."""
    at_once = settings.model_copy(update={"settle_seconds": 0.0})
    return scan_source(at_once, load_catalog(tables, settings))


def keep_look(tables: TableStore, settings: SourceSettings, scan: Scan) -> None:
    """Keep the catalog of a ``look`` for the next one."""
    if scan.is_new:
        save_catalog(tables, settings, scan.catalog, load_catalog(tables, settings))


def save_catalog(
    tables: TableStore, settings: SourceSettings, catalog: Catalog, previous: Catalog
) -> None:
    """Write the parts of a catalog that differ from the previous one."""
    if catalog == previous:
        return
    parsers = parser_fingerprint(settings)
    n_bytes = sum(map(len, catalog.values()))
    n_previous = _read(Catalog(), tables, 0, parsers)
    n_parts = max(n_previous, min(MAX_PARTS, 1 << (n_bytes // PART_BYTES).bit_length()))
    known = _split(previous, n_parts) if n_parts == n_previous else repeat(None)
    for number, (readings, kept) in enumerate(zip(_split(catalog, n_parts), known, strict=False)):
        if readings != kept:
            notes = {_PARSERS: parsers, _PARTS: str(n_parts)}
            tables.write(KEY, _name(number), _READINGS.table(readings), notes)


def _read(catalog: Catalog, tables: TableStore, number: int, parsers: str) -> int:
    """Add one part to a catalog, and return the number of parts, 0 if it cannot be used."""
    try:
        table = tables.read(KEY, _name(number))
    except TableError:  # a cache that cannot be read is as good as none
        return 0
    notes = table_properties(table.schema)
    if notes.get(_PARSERS) != parsers:
        return 0
    catalog.update(_READINGS.rows(table))
    return int(notes[_PARTS])


def _split(catalog: Catalog, n_parts: int) -> Iterator[list[tuple[bytes, bytes]]]:
    keys = sorted(catalog)
    starts = [bisect_left(keys, bytes([256 * n // n_parts])) for n in range(n_parts)]
    for start, end in pairwise([*starts, len(keys)]):
        yield [(key, catalog[key]) for key in keys[start:end]]


def _name(number: int) -> str:
    return f"{_NAME}-{number}" if number else _NAME
