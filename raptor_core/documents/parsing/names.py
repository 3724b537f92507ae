"""Names of files and rows, what becomes of their content, and files that are not read."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from raptor_core.documents.base import Document
from raptor_formats.base import MetadataValue, Parsed
from raptor_formats.blocks import pack
from raptor_formats.table import FORMATS

SIMPLE = frozenset({"markdown", "rst", "text"})
"""Formats that are parsed in this process; files of others can take all memory, or run on."""


class FileName(NamedTuple):
    """Name of a file to parse: its id, its ``SourceFile.source``, and whether a person named it."""

    id: str
    source: str
    is_named: bool = False

    @property
    def extension(self) -> str:
        """Extension of the id with its dot, lower case; empty if there is none."""
        return posixpath.splitext(self.id)[1].lower()

    @property
    def kind(self) -> str:
        """Format of the file; its extension for one that a command converts."""
        return FORMATS.get(self.extension, self.extension[1:])


Named = tuple[str, Document]
"""Document with the name of its place, for people."""


@dataclass(frozen=True, slots=True)
class TableOrigin:
    """Origin of rows: its name for people, their source, and metadata of all its documents."""

    name: str
    source: str
    metadata: Mapping[str, MetadataValue]


def to_document(
    parsed: Parsed, name: str, source: str, metadata: Mapping[str, MetadataValue]
) -> Document:
    """Return the document of the content of a file; ``metadata`` takes the place of its own."""
    return Document(
        id=name,
        text=parsed.text,
        title=parsed.title,
        source=source,
        sections=parsed.sections,
        metadata=metadata,
        pages=parsed.pages,
        blocks=parsed.blocks or pack(parsed.list_blocks()),
        readers=parsed.readers,
    )


_COMMANDS = {
    **dict.fromkeys((".rtf", ".org", ".tex", ".textile", ".mediawiki"), "pandoc -t gfm {}"),
    **dict.fromkeys((".doc", ".dot", ".wps", ".wpd", ".sxw"), "soffice --headless --cat {}"),
    **dict.fromkeys((".adoc", ".asciidoc"), "pandoc -s -f asciidoc -t gfm"),
    ".ipynb": "jupyter nbconvert --to markdown --stdout {}",
    ".msg": "markitdown {}",
}
"""Command for ``source.convert`` by extension of files that are not read without one."""

_OFFICE = {
    **dict.fromkeys((".xls", ".xlsb", ".xlt"), "xlsx"),
    **dict.fromkeys((".ppt", ".pps", ".pot"), "pptx"),
    ".pages": "odt",
}
"""Format to which LibreOffice converts files of a type that is not read."""


def explain_unsupported(kind: str) -> str:
    """Return why files with an extension, such as ".doc" or "", are not read, and a remedy."""
    remedy = ""
    if command := _COMMANDS.get(kind):
        remedy = f'; name a command for them: source.convert = {{"{kind}" = "{command}"}}'
    elif new := _OFFICE.get(kind):
        remedy = f"; convert it: soffice --headless --convert-to {new} FILE{kind}"
    elif kind == ".xml":
        remedy = "; convert its text to .html, .md or .txt, for example by XSLT"
    name = f"files of type {kind}" if kind else "files without an extension"
    return f"{name} are not supported{remedy}"


def describe_formats() -> str:
    """Return the types of files that are read, for people."""
    return f"supported: {' '.join(sorted(FORMATS))}"
