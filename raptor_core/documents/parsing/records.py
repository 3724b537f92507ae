"""Conversion of table rows to documents, and parsing of JSON Lines and Parquet files."""

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from raptor_core.documents.base import CHUNK_ID, MAX_METADATA_CHARS, Document, Skipped
from raptor_core.documents.parsing.names import Named, TableOrigin
from raptor_core.identity import digest, to_nfc
from raptor_core.settings import SourceSettings
from raptor_formats.base import READERS, EmptyFileError, UnreadableError, check_size
from raptor_formats.blocks import Block, pack_blocks
from raptor_formats.declared import (
    CHUNKS,
    METADATA,
    declared_readers,
    object_from_pairs,
    parse_nested_fields,
    refuse_repeated_readers,
    resembles_readers_key,
)
from raptor_formats.encoding.decoding import decode
from raptor_formats.metadata import to_metadata_values
from raptor_formats.office.archive import damage_as_unreadable
from raptor_formats.text import clean_text, one_line, parse_exact_number


def read_json_lines(
    data: bytes, table: TableOrigin, settings: SourceSettings
) -> Iterator[Named | Skipped]:
    """Yield documents of a JSON Lines file, named by line number ("papers.jsonl:7")."""
    for number, line in enumerate(decode(data).removeprefix("\ufeff").split("\n"), start=1):
        if not line.strip():
            continue
        name = f"{table.name}:{number}"
        try:
            row = _load_json_line(line)
        except UnreadableError as error:
            yield Skipped(name, str(error), place=table.name, readers=error.readers)
        else:
            yield read_row(row, name, table, settings)


def _load_json_line(line: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line, parse_float=parse_exact_number)
        # The hook, which refuses repeated keys, doubles the time; other lines cannot have any.
        n_seen = int(isinstance(row, dict) and READERS in row)
        if "\\u" in line or line.lower().count(READERS) > n_seen:
            row = json.loads(
                line, parse_float=parse_exact_number, object_pairs_hook=object_from_pairs
            )
    except json.JSONDecodeError as error:
        problem = f"is not valid JSON: {error.msg} at column {error.colno}"
        raise UnreadableError(problem, readers=()) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"cannot be read as JSON: {error}", readers=()) from error
    if not isinstance(row, dict):
        raise UnreadableError(
            f"is a JSON {describe_json_type(row)}, expected an object", readers=()
        )
    return row


def describe_json_type(value: object) -> str:
    """Return the JSON type of a value, in words for people."""
    kinds = ((bool, "truth value"), (dict, "object"), (list, "array"), (str, "text"))
    number = "null" if value is None else "number"
    return next((name for kind, name in kinds if isinstance(value, kind)), number)


def read_row(
    row: Mapping[str, Any], name: str, table: TableOrigin, settings: SourceSettings
) -> Named | Skipped:
    """Return the document of a row, or the reason why the row is skipped.

    If an unreadable row has no id, all documents of its table are unknown.
    """
    try:
        return name, row_document(row, table, settings)
    except UnreadableError as error:
        try:
            row_id = _find_id_field_and_id(row, settings.id_field)[1]
        except UnreadableError:
            row_id = ""
        is_empty = isinstance(error, EmptyFileError)
        return Skipped(name, str(error), is_empty, row_id or table.name, readers=error.readers)


def row_document(row: Mapping[str, Any], table: TableOrigin, settings: SourceSettings) -> Document:
    """Return the document of a row.

    Its id is in the field ``settings.id_field``. For "auto" it is ``id``, else the first field
    whose name ends in ``_id``, else a digest of the text. Remaining fields with values or lists of
    values become metadata, which the fields of an object ``metadata`` override. A row without a
    text may have chunks instead; see ``_join_chunks``.

    Raises:
        EmptyFileError: the text is blank, or the list of chunks is empty.
        UnreadableError: the text or the id in a named field is missing, or chunks or readers are
            malformed. Its ``readers`` are those of the row.
    """
    readers = declared_readers(row)
    try:
        return _make_document(row, table, settings, readers)
    except UnreadableError as error:
        error.readers = readers if error.readers is None else error.readers
        raise


def _make_document(
    row: Mapping[str, Any],
    table: TableOrigin,
    settings: SourceSettings,
    readers: tuple[str, ...] | None,
) -> Document:
    blocks = ""
    if settings.text_field not in row and isinstance(row.get(CHUNKS), list):
        row, blocks = _join_chunks(row, settings)
    raw = row.get(settings.text_field)
    if not isinstance(raw, str):
        found = "is missing" if raw is None else f"contains a JSON {describe_json_type(raw)}"
        raise UnreadableError(
            f"its field {settings.text_field!r} {found}, expected text (source.text_field)"
        )
    text = clean_text(raw)
    if not text.strip():
        raise EmptyFileError("contains no text")
    id_field, row_id = _find_id_field_and_id(row, settings.id_field)
    title = row.get(settings.title_field)
    fields = _other_fields(row, {id_field, settings.text_field, settings.title_field})
    return Document(
        id=row_id or digest("document", text),
        text=text,
        title=one_line(title) if isinstance(title, str) else "",
        source=table.source,
        metadata={**table.metadata, **to_metadata_values(fields)},
        blocks=blocks,
        readers=readers,
    )


_GAP = "\n\n"


@dataclass(frozen=True, slots=True)
class _SuppliedChunk:
    """A chunk of a row; ``fields`` are its other fields, which those of ``metadata`` override."""

    id: str
    position: float
    text: str
    fields: Mapping[str, Any]


def _join_chunks(row: Mapping[str, Any], settings: SourceSettings) -> tuple[dict[str, Any], str]:
    """Return the row with a text in place of its chunks, and the chunks as packed blocks.

    A chunk is an object with ``id``, ``position``, the text and any other fields. The texts are
    joined in the order of the positions. A field that has the same value in all chunks is metadata
    of the document, every other field metadata of its chunk.

    Raises:
        EmptyFileError: the list of chunks is empty.
        UnreadableError: a chunk is malformed, or only some chunks declare readers.
    """
    where = f"of document {_find_id_field_and_id(row, settings.id_field)[1]!r}"
    if not row[CHUNKS]:
        raise EmptyFileError("contains no chunks")
    chunks = [
        _read_chunk(chunk, number, where, settings) for number, chunk in enumerate(row[CHUNKS], 1)
    ]
    for name in ("id", "position"):
        value, n_chunks = Counter(getattr(chunk, name) for chunk in chunks).most_common(1)[0]
        if n_chunks > 1:
            ids = ", ".join(repr(c.id) for c in chunks if getattr(c, name) == value)
            raise UnreadableError(
                f"chunks {ids:.200} {where} have the same {name} {value!r}; give each its own"
            )
    chunks.sort(key=attrgetter("position"))
    first = chunks[0].fields
    shared = {
        key: value
        for key, value in first.items()
        if all(key in chunk.fields and chunk.fields[key] == value for chunk in chunks)
    }
    blocks, start = list[Block](), 0
    for chunk in chunks:
        details = {key: value for key, value in chunk.fields.items() if key not in shared}
        label = json.dumps({**to_metadata_values(details), CHUNK_ID: chunk.id})
        blocks.append(Block("chunk", start, start + len(chunk.text), 0, label))
        start += len(chunk.text) + len(_GAP)
    text = _GAP.join(chunk.text for chunk in chunks)
    rest = {key: value for key, value in row.items() if key != CHUNKS}
    return {**shared, **rest, settings.text_field: text}, pack_blocks(blocks)


def _read_chunk(chunk: Any, number: int, where: str, settings: SourceSettings) -> _SuppliedChunk:
    """Read a chunk of a row; ``number`` is its number in the row, for error messages."""
    if not isinstance(chunk, Mapping):
        raise UnreadableError(
            f"chunk {number} {where} is a JSON {describe_json_type(chunk)}, not an object"
        )
    chunk_id, raw = _to_id(chunk.get("id")), chunk.get(settings.text_field)
    text = clean_text(raw) if isinstance(raw, str) else ""
    position = _to_position(chunk.get("position"))
    fault = ""
    if not 0 < len(chunk_id) <= MAX_METADATA_CHARS:
        fault = f"has the id {chunk.get('id')!r:.60}, expected 1 to {MAX_METADATA_CHARS} characters"
    elif not text.strip():
        fault = f"has no text in {settings.text_field!r}; remove it"
    elif math.isnan(position):
        fault = f"has the position {chunk.get('position')!r:.60}, expected a number"
    if fault:
        raise UnreadableError(f"chunk {chunk_id or number!r:.60} {where} {fault}")
    fields = _other_fields(chunk, {"id", "position", settings.text_field})
    return _SuppliedChunk(chunk_id, position, text, fields)


def _to_position(value: object) -> float:
    """Return a position as a number, also if it is a text such as "2.10"; NaN if it is invalid."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return math.nan
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return math.nan
    if isinstance(value, int):
        return value
    return number if math.isfinite(number) else math.nan


def _other_fields(row: Mapping[str, Any], used: Collection[str]) -> dict[str, Any]:
    """Return the fields that become metadata; those of the object ``metadata`` override others."""
    fields = {key: value for key, value in row.items() if key not in used and key != METADATA}
    fields |= parse_nested_fields(row.get(METADATA)) or {}
    fields.pop(READERS, None)
    return fields


def _find_id_field_and_id(row: Mapping[str, Any], id_field: str) -> tuple[str, str]:
    """Return the name of the id field and the id; both are "" if there is none."""
    if id_field != "auto":
        row_id = _to_id(row.get(id_field))
        if not row_id:
            found = json.dumps(row.get(id_field), default=str)
            raise UnreadableError(
                f"its field {id_field!r} contains no id: {found:.60} (source.id_field)"
            )
        return id_field, row_id
    candidates = ["id", *(name for name in row if name.endswith("_id"))]
    ids = ((name, _to_id(row.get(name))) for name in candidates)
    return next((pair for pair in ids if pair[1]), ("", ""))


def _to_id(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # from an integer column with missing values
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return to_nfc(one_line(value)) if isinstance(value, str) else ""


MAX_EXPANSION = 20
"""Multiple of ``max_file_mb`` that limits an uncompressed table and the sum of its texts."""

_ROWS_PER_BATCH = 1024
_INNER_FIELD = re.compile(r"[<,]\s*([^:<>,]+):")


def read_parquet(
    data: bytes, table: TableOrigin, settings: SourceSettings
) -> Iterator[Named | Skipped]:
    """Yield documents of a Parquet file, named by row number ("papers.parquet:7")."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    with damage_as_unreadable("Parquet file"):
        footer = pq.ParquetFile(pa.BufferReader(data))
        columns = _columns_to_read(footer.schema_arrow, settings)
        groups = map(footer.metadata.row_group, range(footer.metadata.num_row_groups))
        n_bytes = sum(group.total_byte_size for group in groups)
        check_size(n_bytes, settings.max_file_mb, MAX_EXPANSION)
        # A text that many rows share is stored once. It must not be copied before its size is
        # checked, so texts are read as dictionaries.
        strings = pa.string(), pa.large_string()
        texts = [c for c in columns if footer.schema_arrow.field(c).type in strings]
        file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=texts)
        n_bytes = 0
        # No threads, because a thread of Arrow that starts during shutdown aborts the process.
        read = file.iter_batches(batch_size=_ROWS_PER_BATCH, columns=columns, use_threads=False)
        for batch in read:
            n_bytes += sum(_count_text_bytes(column) for column in batch.columns)
            check_size(n_bytes, settings.max_file_mb, MAX_EXPANSION)
            for row in batch.to_pylist():
                number += 1
                yield read_row(row, f"{table.name}:{number}", table, settings)


def _columns_to_read(schema: Any, settings: SourceSettings) -> list[str]:
    """Return the columns to read: those with values, lists of values, readers or metadata."""
    if settings.text_field not in schema.names:
        raise UnreadableError(
            f"has no column {settings.text_field!r} (source.text_field); "
            f"its columns: {', '.join(schema.names)}"
        )
    refuse_repeated_readers(schema.names)
    kept = (
        f for f in schema if f.name == METADATA or _is_readers_field(f) or _is_metadata_type(f.type)
    )
    return [field.name for field in kept]


def _is_readers_field(field: Any) -> bool:
    """Return whether a column, or a field inside it, has a name like "readers"."""
    inner = _INNER_FIELD.findall(str(field.type))  # as in "struct<readers: list<item: string>>"
    return any(map(resembles_readers_key, [field.name, *inner]))


def _is_metadata_type(type_: Any) -> bool:
    """Return whether a column type can be metadata: a plain value or a list of them."""
    from pyarrow import types

    if types.is_list(type_) or types.is_large_list(type_):
        type_ = type_.value_type
    return not (types.is_nested(type_) or types.is_binary(type_))


def _count_text_bytes(column: Any) -> int:
    """Return the bytes of all texts in a dictionary column, repeated ones too; 0 for others."""
    import pyarrow.compute as pc
    from pyarrow import types

    if not types.is_dictionary(column.type):
        return 0
    lengths = pc.binary_length(column.dictionary).take(column.indices)
    return int(pc.sum(lengths).as_py() or 0)
