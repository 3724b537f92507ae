"""One parser for each format; the libraries that they need are imported when they run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from raptor_core.documents.base import Document, MetadataValue, Skipped
from raptor_core.documents.docx import parse_docx
from raptor_core.documents.html import parse_html
from raptor_core.documents.markdown import parse_markdown
from raptor_core.documents.parquet import read_parquet
from raptor_core.documents.parsed import EmptyFileError, Parsed, readable_stem
from raptor_core.documents.pdf import parse_pdf
from raptor_core.documents.records import Named, Table, read_json_lines
from raptor_core.documents.rst import parse_rst
from raptor_core.documents.source import FORMATS, SourceFile
from raptor_core.documents.text import parse_text
from raptor_core.settings import SourceSettings

_TABLES: Mapping[str, Callable[[bytes, Table, SourceSettings], Iterable[Named | Skipped]]] = {
    "jsonl": read_json_lines,
    "parquet": read_parquet,
}
_PARSERS: Mapping[str, Callable[[bytes, SourceSettings], Parsed]] = {
    "text": lambda data, _: parse_text(data),
    "markdown": lambda data, _: parse_markdown(data),
    "rst": lambda data, _: parse_rst(data),
    "html": lambda data, _: parse_html(data),
    "pdf": lambda data, _: parse_pdf(data),
    "docx": lambda data, settings: parse_docx(data, settings.max_file_mb),
}


def parse_file(
    file: SourceFile, data: bytes, settings: SourceSettings
) -> Iterable[Named | Skipped]:
    """The documents in one file by name: one, or for a table one for each row.

    Raises:
        UnreadableError: the file as a whole cannot be read, or holds no text.
        MissingExtraError: its format needs an extra.
    """
    if not data.strip():
        raise EmptyFileError("is empty")
    kind = FORMATS[file.extension]
    shared: dict[str, MetadataValue] = {
        "folder": file.id.rpartition("/")[0] or ".",
        "format": kind,
    }
    if kind in _TABLES:
        return _TABLES[kind](data, Table(file.id, file.path, shared), settings)
    parsed = _PARSERS[kind](data, settings)
    if not parsed.text.strip():
        raise EmptyFileError("holds no text")
    document = Document(
        id=file.id,
        text=parsed.text,
        title=parsed.title or readable_stem(file.id),
        source=file.path,
        sections=parsed.sections,
        metadata={**shared, **parsed.metadata},
    )
    return ((file.id, document),)
