"""Table of the parsers by format, which import their libraries at their first call."""

from collections.abc import Callable, Iterable, Mapping

from raptor_core.documents.base import FOLDER, MetadataValue, Skipped
from raptor_core.documents.formats.convert import convert
from raptor_core.documents.formats.docx import parse_docx
from raptor_core.documents.formats.encoding import as_utf8, decode
from raptor_core.documents.formats.epub import parse_epub
from raptor_core.documents.formats.front_matter import HEAD_CHARS, refuse_declaration
from raptor_core.documents.formats.html import parse_html
from raptor_core.documents.formats.kinds import MANY_DOCUMENTS, OPTIONAL, FileName
from raptor_core.documents.formats.mail import parse_eml, read_mailbox
from raptor_core.documents.formats.markdown import parse_markdown
from raptor_core.documents.formats.odt import parse_odt
from raptor_core.documents.formats.parsed import EmptyFileError, Parsed, UnreadableError, clean_text
from raptor_core.documents.formats.pdf import parse_pdf
from raptor_core.documents.formats.pptx import parse_pptx
from raptor_core.documents.formats.records import Named, TableOrigin, read_json_lines, read_parquet
from raptor_core.documents.formats.rows import parse_csv
from raptor_core.documents.formats.rst import parse_rst
from raptor_core.documents.formats.subtitles import parse_subtitles
from raptor_core.documents.formats.xlsx import parse_xlsx
from raptor_core.documents.own_files import refuse_file
from raptor_core.settings import SourceSettings

_WITHOUT_FRONT_MATTER = frozenset({"text", "rst", "html"})
_TABLES = {"jsonl": read_json_lines, "mbox": read_mailbox, "parquet": read_parquet}
_IN_TEXT = frozenset({"text", "markdown", "rst", "html", "csv", "jsonl", "subtitles"})
_PARSERS: Mapping[str, Callable[[bytes, SourceSettings], Parsed]] = {
    "text": lambda data, _: Parsed(clean_text(decode(data))),
    "markdown": lambda data, _: parse_markdown(data),
    "rst": lambda data, _: parse_rst(data),
    "html": lambda data, _: parse_html(data),
    "pdf": lambda data, _: parse_pdf(data),
    "docx": lambda data, settings: parse_docx(data, settings.max_file_mb),
    "pptx": lambda data, settings: parse_pptx(data, settings.max_file_mb),
    "xlsx": lambda data, settings: parse_xlsx(data, settings.max_file_mb),
    **dict.fromkeys(
        ("odt", "ods", "odp"), lambda data, settings: parse_odt(data, settings.max_file_mb)
    ),
    "subtitles": lambda data, _: parse_subtitles(data),
    "epub": lambda data, settings: parse_epub(data, settings.max_file_mb),
    "csv": lambda data, _: parse_csv(data),
    "eml": lambda data, settings: parse_eml(data, settings.encoding),
}


def read_file(name: FileName, data: bytes, settings: SourceSettings) -> list[Named | Skipped]:
    """Return the documents of a file with their names, or the reason why it is skipped.

    A table without a row may be truncated, so its documents are unknown.
    """
    if not name.is_named and (reason := refuse_file(name.kind, data)):
        return [Skipped(name.id, reason, is_empty=True)]
    try:
        items = list(parse_file(name, data, settings))
    except UnreadableError as error:
        is_empty = isinstance(error, EmptyFileError) and name.kind not in MANY_DOCUMENTS
        return [Skipped(name.id, str(error), is_empty, readers=error.readers)]
    return items or [Skipped(name.id, "holds no row")]


def parse_file(name: FileName, data: bytes, settings: SourceSettings) -> Iterable[Named | Skipped]:
    """Return the named document of a file, or those of a table, or raise UnreadableError."""
    if not data.strip():
        raise EmptyFileError("is empty")
    kind = name.kind
    folder = name.id.rpartition("/")[0] or "."
    shared: dict[str, MetadataValue] = {FOLDER: folder, "format": kind}
    if kind in _IN_TEXT and name.extension not in settings.convert:
        data, encoding = as_utf8(data, settings.encoding)
        shared |= encoding
        if kind in _WITHOUT_FRONT_MATTER and name.extension not in OPTIONAL:
            refuse_declaration(data[:HEAD_CHARS].decode("utf-8-sig", "replace"))
    if name.extension in settings.convert:
        parsed = parse_markdown(convert(name, data, settings))
    elif kind in _TABLES:
        return _TABLES[kind](data, TableOrigin(name.id, name.source, shared), settings)
    else:
        parsed = _PARSERS[kind](data, settings)
    if not parsed.list_blocks():
        raise EmptyFileError("holds no text", parsed.readers)
    document = parsed.document(name.id, name.source, {**shared, **parsed.metadata})
    return ((name.id, document),)
