"""Parsing of a file into documents: one, or one for each row of a table.

``process`` calls this module in a process of its own for formats that bear risks.
"""

from collections.abc import Iterable

from raptor_core.documents.base import FOLDER, Skipped
from raptor_core.documents.own_files import explain_file_refusal
from raptor_core.documents.parsing.convert import convert_to_markdown
from raptor_core.documents.parsing.mailbox import read_mailbox
from raptor_core.documents.parsing.names import FileName, Named, TableOrigin, to_document
from raptor_core.documents.parsing.records import read_json_lines, read_parquet
from raptor_core.settings import SourceSettings
from raptor_formats.base import EmptyFileError, MetadataValue, ParserOptions, UnreadableError
from raptor_formats.encoding.decoding import convert_to_utf8
from raptor_formats.markup.markdown import parse_markdown
from raptor_formats.table import MANY_DOCUMENTS, parse_by_extension

_TABLES = {"jsonl": read_json_lines, "mbox": read_mailbox, "parquet": read_parquet}


def read_file(name: FileName, data: bytes, settings: SourceSettings) -> list[Named | Skipped]:
    """Return the documents of a file, or the reason why it is skipped.

    A table without rows may be truncated, so its documents are unknown.
    """
    if not name.is_named and (reason := explain_file_refusal(name.kind, data)):
        return [Skipped(name.id, reason, is_empty=True)]
    try:
        items = list(parse_file(name, data, settings))
    except UnreadableError as error:
        is_empty = isinstance(error, EmptyFileError) and name.kind not in MANY_DOCUMENTS
        return [Skipped(name.id, str(error), is_empty, readers=error.readers)]
    except RecursionError:
        reason = "is nested too deeply to be parsed; flatten it, or exclude it with source.exclude"
        return [Skipped(name.id, reason)]
    return items or [Skipped(name.id, "contains no rows")]


def parse_file(name: FileName, data: bytes, settings: SourceSettings) -> Iterable[Named | Skipped]:
    """Parse a file; return its document, or those of a table.

    Raises:
        UnreadableError: the file cannot be parsed.
    """
    if not data.strip():
        raise EmptyFileError("is empty")
    kind = name.kind
    folder = name.id.rpartition("/")[0] or "."
    shared: dict[str, MetadataValue] = {FOLDER: folder, "format": kind}
    if name.extension in settings.convert:
        parsed = parse_markdown(convert_to_markdown(name, data, settings))
        if not parsed.list_blocks():
            raise EmptyFileError("contains no text", parsed.readers)
    elif kind in _TABLES:
        if kind == "jsonl":
            data, encoding = convert_to_utf8(data, settings.encoding)
            shared |= encoding
        return _TABLES[kind](data, TableOrigin(name.id, name.source, shared), settings)
    else:
        options = ParserOptions(settings.max_file_mb, settings.encoding)
        parsed = parse_by_extension(data, name.extension, options)
    document = to_document(parsed, name.id, name.source, {**shared, **parsed.metadata})
    return ((name.id, document),)
