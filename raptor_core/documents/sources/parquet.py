"""Parquet tables; the columns are those of JSON Lines rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from raptor_core.documents.base import MEGABYTE, Skipped
from raptor_core.documents.formats.parsed import UnreadableError
from raptor_core.documents.formats.records import Named, Table, row_document
from raptor_core.settings import SourceSettings

MAX_EXPANSION = 20
"""Times ``max_file_mb`` that a table may hold uncompressed, and its texts together."""

_ROWS_PER_BATCH = 1024
_NESTED_FIELDS = ("metadata", "sections")


def read_parquet(data: bytes, table: Table, settings: SourceSettings) -> Iterator[Named | Skipped]:
    """Documents of a Parquet file, named by their rows ("papers.parquet:7"), from 1.

    Raises:
        UnreadableError: the file is damaged, too large uncompressed, or lacks the text column.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        known = pq.ParquetFile(pa.BufferReader(data))
        columns = _columns(known.schema_arrow, settings)
        _check_size(_uncompressed(known.metadata), settings.max_file_mb)
        # A text that many rows share is stored once, and so it stays until its size is known.
        texts = [c for c in columns if _is_text(known.schema_arrow.field(c).type)]
        file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=texts)
        n_bytes = 0
        for batch in file.iter_batches(batch_size=_ROWS_PER_BATCH, columns=columns):
            n_bytes += sum(_text_bytes(column) for column in batch.columns)
            _check_size(n_bytes, settings.max_file_mb)
            for row in batch.to_pylist():
                number += 1
                name = f"{table.name}:{number}"
                try:
                    yield name, row_document(row, table, settings)
                except UnreadableError as error:
                    yield Skipped(name, str(error))
    except (pa.ArrowException, OSError, OverflowError, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise UnreadableError(f"is damaged, or no Parquet file: {reason}") from error


def _columns(schema: Any, settings: SourceSettings) -> list[str]:
    """Columns worth reading: single values, and the nested fields that rows may have."""
    if settings.text_field not in schema.names:
        raise UnreadableError(
            f"has no column {settings.text_field!r} (source.text_field); "
            f"its columns: {', '.join(schema.names)}"
        )
    from pyarrow import types

    return [
        field.name
        for field in schema
        if field.name in _NESTED_FIELDS
        or not (types.is_nested(field.type) or types.is_binary(field.type))
    ]


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def _text_bytes(column: Any) -> int:
    """Bytes that the texts of a column take one by one; 0 for other columns."""
    import pyarrow.compute as pc
    from pyarrow import types

    if not types.is_dictionary(column.type):
        return 0
    lengths = pc.binary_length(column.dictionary).take(column.indices)
    return int(pc.sum(lengths).as_py() or 0)


def _uncompressed(metadata: Any) -> int:
    groups = range(metadata.num_row_groups)
    return sum(metadata.row_group(group).total_byte_size for group in groups)


def _check_size(n_bytes: int, max_file_mb: float) -> None:
    if n_bytes > max_file_mb * MEGABYTE * MAX_EXPANSION:
        raise UnreadableError(
            f"{n_bytes / MEGABYTE:.0f} MB uncompressed is over the limit of "
            f"{MAX_EXPANSION * max_file_mb:g} MB ({MAX_EXPANSION} x source.max_file_mb)"
        )
