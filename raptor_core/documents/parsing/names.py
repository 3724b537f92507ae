"""Names of files and rows, and explanations for files that are not supported."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from raptor_core.documents.base import Document
from raptor_formats.base import MetadataValue, Parsed
from raptor_formats.blocks import pack_blocks
from raptor_formats.table import FORMATS

SIMPLE = frozenset({"markdown", "rst", "text"})
"""Formats that are parsed in this process; files of others may exhaust memory or never end."""


class FileName(NamedTuple):
    """Id and ``SourceFile.source`` of a file to parse, and whether the settings name this file."""

    id: str
    source: str
    is_named: bool = False

    @property
    def extension(self) -> str:
        """Extension of the id with its dot, lower case; empty if there is none."""
        return posixpath.splitext(self.id)[1].lower()

    @property
    def kind(self) -> str:
        """Format of the file; its extension if a command converts it."""
        return FORMATS.get(self.extension, self.extension[1:])


Named = tuple[str, Document]
"""A document with the name to show for it, such as "papers.jsonl:7"."""


@dataclass(frozen=True, slots=True)
class TableOrigin:
    """The table of a row: its name, the source of its documents, and metadata of all of them."""

    name: str
    source: str
    metadata: Mapping[str, MetadataValue]


def to_document(
    parsed: Parsed, name: str, source: str, metadata: Mapping[str, MetadataValue]
) -> Document:
    """Return the document of a parsed file, with ``metadata`` in place of its own."""
    return Document(
        id=name,
        text=parsed.text,
        title=parsed.title,
        source=source,
        sections=parsed.sections,
        metadata=metadata,
        pages=parsed.page_starts,
        blocks=parsed.packed_blocks or pack_blocks(parsed.list_blocks()),
        readers=parsed.readers,
    )


_COMMANDS = {
    **dict.fromkeys((".rtf", ".org", ".tex", ".textile", ".mediawiki"), "pandoc -t gfm {}"),
    **dict.fromkeys((".doc", ".dot", ".wps", ".wpd", ".sxw"), "soffice --headless --cat {}"),
    **dict.fromkeys((".adoc", ".asciidoc"), "pandoc -s -f asciidoc -t gfm"),
    ".ipynb": "jupyter nbconvert --to markdown --stdout {}",
    ".msg": "markitdown {}",
}
"""Suggested ``source.convert`` commands by extension, for formats without a parser."""

_OFFICE = {
    **dict.fromkeys((".xls", ".xlsb", ".xlt"), "xlsx"),
    **dict.fromkeys((".ppt", ".pps", ".pot"), "pptx"),
    ".pages": "odt",
}
"""Format to which LibreOffice converts files of an unsupported type."""


def explain_unsupported(kind: str) -> str:
    """Explain that an extension, such as ".doc" or "", is not supported, and how to convert it."""
    remedy = ""
    if command := _COMMANDS.get(kind):
        remedy = f'; name a command for them: source.convert = {{"{kind}" = "{command}"}}'
    elif new := _OFFICE.get(kind):
        remedy = f"; convert it: soffice --headless --convert-to {new} FILE{kind}"
    elif kind == ".xml":
        remedy = "; convert its text to .html, .md or .txt, for example with XSLT"
    name = f"files of type {kind}" if kind else "files without an extension"
    return f"{name} are not supported{remedy}"


def describe_formats() -> str:
    """List the supported file types, for an error message."""
    return f"supported: {' '.join(sorted(FORMATS))}"
