"""Table of the parsers by format, which import their libraries at their first call."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from raptor_core.documents.base import FOLDER, MetadataValue, Skipped
from raptor_core.documents.formats.docx import parse_docx
from raptor_core.documents.formats.encoding import as_utf8, decode
from raptor_core.documents.formats.epub import parse_epub
from raptor_core.documents.formats.html import parse_html
from raptor_core.documents.formats.mail import parse_eml, read_mailbox
from raptor_core.documents.formats.markdown import parse_markdown
from raptor_core.documents.formats.odt import parse_odt
from raptor_core.documents.formats.outlook import parse_msg
from raptor_core.documents.formats.parsed import EmptyFileError, Parsed, UnreadableError, clean_text
from raptor_core.documents.formats.parser_process import PARSER
from raptor_core.documents.formats.pptx import parse_pptx
from raptor_core.documents.formats.records import Named, TableOrigin, read_json_lines, read_parquet
from raptor_core.documents.formats.rows import parse_csv
from raptor_core.documents.formats.rst import parse_rst
from raptor_core.documents.formats.rtf import parse_rtf
from raptor_core.documents.formats.subtitles import parse_subtitles
from raptor_core.documents.formats.values import (
    parse_json,
    parse_notebook,
    parse_python,
    parse_yaml,
)
from raptor_core.documents.formats.xlsx import parse_xlsx
from raptor_core.documents.sources.base import FORMATS, Content, SourceFile
from raptor_core.documents.sources.own_files import refuse_file
from raptor_core.settings import SourceSettings

_TABLES = {"jsonl": read_json_lines, "mbox": read_mailbox, "parquet": read_parquet}
_IN_TEXT = frozenset(
    "text markdown mdx rst html csv jsonl python json yaml subtitles".split()  # noqa: SIM905
)
_PARSERS: Mapping[str, Callable[[bytes, SourceSettings], Parsed]] = {
    "text": lambda data, _: Parsed(clean_text(decode(data))),
    "markdown": lambda data, _: parse_markdown(data),
    "mdx": lambda data, _: parse_markdown(data, is_mdx=True),
    "rst": lambda data, _: parse_rst(data),
    "html": lambda data, settings: parse_html(data, is_whole=settings.whole_pages),
    "pdf": lambda data, settings: PARSER.parse(data, settings.parse_seconds, settings.ocr),
    "docx": lambda data, settings: parse_docx(data, settings.max_file_mb),
    "pptx": lambda data, settings: parse_pptx(data, settings.max_file_mb),
    "xlsx": lambda data, settings: parse_xlsx(data, settings.max_file_mb),
    **dict.fromkeys(
        ("odt", "ods", "odp"), lambda data, settings: parse_odt(data, settings.max_file_mb)
    ),
    "rtf": lambda data, _: parse_rtf(data),
    "python": lambda data, _: parse_python(data),
    "notebook": lambda data, _: parse_notebook(data),
    "json": lambda data, _: parse_json(data),
    "yaml": lambda data, _: parse_yaml(data),
    "subtitles": lambda data, _: parse_subtitles(data),
    "epub": lambda data, settings: parse_epub(data, settings.max_file_mb),
    "csv": lambda data, _: parse_csv(data),
    "eml": lambda data, settings: parse_eml(data, settings.encoding),
    "msg": lambda data, settings: parse_msg(data, settings.encoding),
}


def load_files(
    files: Iterable[SourceFile], read: Callable[[SourceFile], bytes], settings: SourceSettings
) -> Iterator[Content]:
    """Load files one after the other by the function ``read``; see ``Source.load``."""
    for file in files:
        try:
            data = read(file)
        except UnreadableError as error:
            problem = Skipped(file.id, str(error))
            yield Content("", partial(list[Named | Skipped], (problem,)))
        else:
            digest = hashlib.sha256(data).hexdigest()[:32]
            yield Content(digest, partial(_parse, file, data, settings))


def _parse(file: SourceFile, data: bytes, settings: SourceSettings) -> list[Named | Skipped]:
    """Return the documents of a file by name, or none of a damaged table.

    A table without a row may be truncated, so its documents are unknown.
    """
    kind = FORMATS[file.extension]
    if not file.is_named and (reason := refuse_file(kind, data)):
        return [Skipped(file.id, reason, is_empty=True)]
    try:
        items = list(parse_file(file, data, settings))
    except UnreadableError as error:
        is_empty = isinstance(error, EmptyFileError) and file.only_id is not None
        return [Skipped(file.id, str(error), is_empty)]
    return items or [Skipped(file.id, "holds no row")]


def parse_file(
    file: SourceFile, data: bytes, settings: SourceSettings
) -> Iterable[Named | Skipped]:
    """Return the named document of a file, or those of a table, or raise UnreadableError."""
    if not data.strip():
        raise EmptyFileError("is empty")
    kind = FORMATS[file.extension]
    folder = file.id.rpartition("/")[0] or "."
    shared: dict[str, MetadataValue] = {FOLDER: folder, "format": kind}
    if kind in _IN_TEXT:
        data, encoding = as_utf8(data, settings.encoding)
        shared |= encoding
    if kind in _TABLES:
        return _TABLES[kind](data, TableOrigin(file.id, file.source, shared), settings)
    parsed = _PARSERS[kind](data, settings)
    if not parsed.list_blocks():
        raise EmptyFileError("holds no text")
    document = parsed.document(file.id, file.source, {**shared, **parsed.metadata})
    return ((file.id, document),)
