"""Parquet files by asset key and partition, on any fsspec path."""

from __future__ import annotations

import io
import os
import posixpath
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from raptor_core.errors import TableError
from raptor_core.tables.places import open_place, reached
from raptor_core.tables.sealing import EMPTY, SEAL, check_seal, damaged, seal

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Properties = Mapping[str, str]
_PROPERTY_PREFIX = "raptor."
_ROWS_PER_BATCH = 2000
_INTEGERS = frozenset({"layer", "n_tokens", "position", "start", "end", "cluster"})
_LISTS = frozenset({"documents", "children", "section", "node_ids"})


class TableStore:
    """Tables under one folder: ``<url>/<key>/<partition>.parquet``.

    A table is written whole or not at all: locally by renaming a finished file, on object
    stores by one put. There it is also read by one get, so that a table that is replaced
    meanwhile is read as it was or as it is. ``properties`` are short texts kept in the file's
    footer. A bucket must be there: none is made.

    Every file holds a digest of itself (``sealing.py``): one that a disk or a copy changed is
    never read as something else.

    Args:
        url: a folder, or any fsspec URL such as ``s3://bucket/tables``; credentials come from the
            environment.

    Raises:
        MissingExtraError: the URL needs an extra that is not installed.
        SettingsError: it is no URL that fsspec knows.
    """

    def __init__(self, url: str) -> None:
        self._files, self._root = open_place(url)
        self._is_local = "file" in _protocols(self._files)

    def path(self, key: Sequence[str], partition: str) -> str:
        """Path of one table."""
        return posixpath.join(self._root, table_name(key, partition))

    def exists(self, key: Sequence[str], partition: str) -> bool:
        """Whether the table is there.

        Raises:
            TableError: its place does not answer, or refuses.
        """
        path = self.path(key, partition)
        try:
            with reached(path):
                self._files.info(path)
        except FileNotFoundError:
            return False
        return True

    def write(
        self,
        key: Sequence[str],
        partition: str,
        frame: pd.DataFrame | pa.Table,
        properties: Properties | None = None,
    ) -> str:
        """Write one table and return its path; an Arrow table is written as it is.

        Raises:
            TableError: the path cannot be written; what stood there is as it was.
        """
        import pyarrow as pa

        path = self.path(key, partition)
        table = frame if isinstance(frame, pa.Table) else _to_table(frame)
        notes = {f"{_PROPERTY_PREFIX}{name}": text for name, text in (properties or {}).items()}
        data = _to_bytes(table.replace_schema_metadata({**notes, SEAL: EMPTY}))
        if self._is_local:
            self._replace(path, data)
        else:
            self._put(path, data)
        return path

    def _replace(self, path: str, data: bytes) -> None:
        part = f"{path}.{uuid.uuid4().hex}.part"
        try:
            self._files.makedirs(posixpath.dirname(path), exist_ok=True)
            with self._files.open(part, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)  # noqa: PTH105 - fsspec paths are plain text
        except OSError as error:
            if self._files.exists(part):
                self._files.rm_file(part)
            raise TableError(
                f"cannot write the table {path}: {error}. Free space or fix the permissions, "
                "then run again; what stood there before is unharmed"
            ) from error

    def _put(self, path: str, data: bytes) -> None:
        """One put: a file that is written in parts would be closed, half written, by an error."""
        try:
            with reached(path):
                self._files.pipe_file(path, data)
        except FileNotFoundError as error:
            raise TableError(
                f"cannot write the table {path}: {error}. Make the bucket or container, or correct "
                "the address under [tables], then run again"
            ) from error

    def read(self, key: Sequence[str], partition: str) -> pd.DataFrame:
        """One table as a data frame.

        Raises:
            TableError: it is missing.
            DamagedTableError: its bytes are not those that were written.
        """
        path = self.path(key, partition)
        with _readable(path):
            frame: pd.DataFrame = self._open(path).read().to_pandas()
        return frame

    def read_rows(
        self, key: Sequence[str], partition: str
    ) -> tuple[dict[str, str], Iterator[tuple[Any, ...]]]:
        """Properties and rows of one table, by one get; rows are decoded as they are taken.

        Raises:
            TableError, DamagedTableError: as ``read``.
        """
        path = self.path(key, partition)
        with _readable(path):
            file = self._open(path)
        return _properties(file.schema_arrow), _rows(file, path)

    def properties(self, key: Sequence[str], partition: str) -> dict[str, str]:
        """The properties of one table that is whole, without decoding its rows.

        Raises:
            TableError: it is missing.
            DamagedTableError: its bytes are not those that were written.
        """
        path = self.path(key, partition)
        with _readable(path):
            schema = self._open(path).schema_arrow
        return _properties(schema)

    def delete(self, key: Sequence[str], partition: str) -> bool:
        """Delete one table; whether it was there.

        Raises:
            TableError: its place does not answer, or refuses.
        """
        if not self.exists(key, partition):
            return False
        path = self.path(key, partition)
        with reached(path):
            self._files.rm_file(path)
        return True

    def _open(self, path: str) -> Any:
        import pyarrow.parquet as pq

        with reached(path):
            data = self._files.cat_file(path)
        check_seal(data, path)
        return pq.ParquetFile(io.BytesIO(data))


def table_name(key: Sequence[str], partition: str) -> str:
    """Path of a table in its folder; the partition is quoted, so that any name is one file name."""
    return posixpath.join(*key, f"{quote(partition, safe=' ')}.parquet")


def _rows(file: Any, path: str) -> Iterator[tuple[Any, ...]]:
    with _readable(path):
        for batch in file.iter_batches(batch_size=_ROWS_PER_BATCH, use_threads=False):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _properties(schema: Any) -> dict[str, str]:
    notes = {name.decode(): text.decode() for name, text in (schema.metadata or {}).items()}
    return {
        name.removeprefix(_PROPERTY_PREFIX): text
        for name, text in notes.items()
        if name.startswith(_PROPERTY_PREFIX)
    }


def _to_bytes(table: Any) -> bytes:
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return seal(buffer.getvalue())


def _protocols(files: Any) -> tuple[str, ...]:
    return (files.protocol,) if isinstance(files.protocol, str) else tuple(files.protocol)


def _to_table(frame: pd.DataFrame) -> Any:
    """The frame with known columns of fixed types, so that an empty table equals a full one.

    Other columns, as tables of a team's own have them, keep the types that Arrow infers.
    """
    import pyarrow as pa

    inferred = pa.Schema.from_pandas(frame, preserve_index=False)
    schema = pa.schema([_typed(field, is_empty=frame.empty) for field in inferred])
    if frame.empty:
        return schema.empty_table()
    return pa.Table.from_pandas(frame, schema=schema, preserve_index=False)


def _typed(field: Any, *, is_empty: bool) -> Any:
    """The field with its fixed type, where its values can have it."""
    import pyarrow as pa

    kind = field.type
    unknown = is_empty or pa.types.is_null(kind)
    if field.name in _LISTS and (unknown or pa.types.is_list(kind)):
        return field.with_type(pa.list_(pa.string()))
    if field.name in _INTEGERS and (unknown or pa.types.is_integer(kind)):
        return field.with_type(pa.int64())
    texts = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return field.with_type(pa.string()) if unknown or texts else field


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """A table that is missing, or is no Parquet, as an error of ours."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError as error:
        told = f"no table at {path}; materialize its asset for this partition first"
        raise TableError(told) from error
    except (pa.ArrowException, OSError) as error:
        raise damaged(path, error) from error
