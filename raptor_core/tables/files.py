"""Parquet files by asset key and partition, on any fsspec path.

Each holds a digest of all its bytes in its own footer. Parquet's own checks cover neither footer
nor, as they are written by default, pages: most single changed bytes give other rows without an
error.
"""

from __future__ import annotations

import hashlib
import io
import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from raptor_core.errors import DamagedTableError, SettingsError, TableError
from raptor_core.identity import safe_name
from raptor_core.layout import FOOTER_PREFIX
from raptor_core.places import Folder

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Properties = Mapping[str, str]
T = TypeVar("T")
_PROPERTY_PREFIX = "raptor."
_EXTENSION = ".parquet"
_MARK = b"raptor-sha256:"
_N_HEX = 64

SEAL = f"{FOOTER_PREFIX}seal"
"""Name of the entry in the footer that holds the digest, behind ``_MARK``."""

EMPTY = _MARK.decode() + "0" * _N_HEX
"""What stands there until ``seal`` writes the digest."""

_SMALL_BYTES = 100_000
"""Up to here a table is packed by Snappy: Zstandard's own start is what its files would cost."""


class TableStore:
    """Tables under one folder: ``<url>/<key>/<partition>.parquet``; see ``Folder``.

    ``properties`` are short texts kept in the file's footer.

    A file that a disk or a copy changed is never read as something else; where a write is refused,
    what stood there is as it was.

    Args:
        url: a folder, or any fsspec URL such as ``s3://bucket/tables``; credentials come from the
            environment.

    Raises:
        MissingExtraError: the URL needs an extra that is not installed.
        SettingsError: it is no URL that fsspec knows.
        TableError: by each method, where the place does not answer, or refuses.
        DamagedTableError: by those that read, for bytes that are not those that were written.
    """

    def __init__(self, url: str) -> None:
        self._folder = Folder(url, TableError, SettingsError, "the address under [tables]")

    def path(self, key: Sequence[str], partition: str) -> str:
        """Path of one table."""
        return self._folder.path(table_name(key, partition))

    def exists(self, key: Sequence[str], partition: str) -> bool:
        """Whether the table is there."""
        return self._folder.exists(table_name(key, partition))

    def write(
        self,
        key: Sequence[str],
        partition: str,
        table: pa.Table | pd.DataFrame,
        properties: Properties | None = None,
    ) -> str:
        """Write one table and return its path.

        Of an Arrow table Parquet's own types are kept. Of a data frame Arrow infers the types; a
        column without any value becomes one of text.
        """
        notes = {f"{_PROPERTY_PREFIX}{name}": text for name, text in (properties or {}).items()}
        data = _encode(table, {**notes, SEAL: EMPTY})
        self._folder.write(table_name(key, partition), data)
        return self.path(key, partition)

    def read(self, key: Sequence[str], partition: str) -> pa.Table:
        """One table; ``table_properties`` gives its properties.

        Raises:
            TableError: it is missing.
        """
        table = self.find(key, partition)
        if table is None:
            path = self.path(key, partition)
            told = f"no table at {path}; materialize its asset for this partition first"
            raise TableError(told)
        return table

    def find(
        self, key: Sequence[str], partition: str, columns: Sequence[str] | None = None
    ) -> pa.Table | None:
        """One table, or some columns of it, by one get; None where there is none."""
        name = table_name(key, partition)
        return self._take(name, lambda file: file.read(columns, use_threads=False))

    def properties(self, key: Sequence[str], partition: str) -> dict[str, str] | None:
        """The properties of a table that is whole, without decoding its rows; None without one."""
        schema = self._take(table_name(key, partition), lambda file: file.schema_arrow)
        return None if schema is None else table_properties(schema)

    def names(self, key: Sequence[str]) -> list[str]:
        """Return the sorted partitions of a key; a partition whose file ends in a digest is absent.

        Only the keys whose partitions have lower case and short names are listed so.
        """
        files = self._folder.names(posixpath.join(*map(safe_name, key)))
        names = (unquote(f.removesuffix(_EXTENSION)) for f in files if f.endswith(_EXTENSION))
        return [name for name in names if f"{safe_name(name)}{_EXTENSION}" in files]

    def delete(self, key: Sequence[str], partition: str) -> bool:
        """Delete one table; whether it was there."""
        return self._folder.delete(table_name(key, partition))

    def _take(self, name: str, take: Callable[[Any], T]) -> T | None:
        """What is wanted of a Parquet file; None where there is none."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        data = self._folder.find(name)
        if data is None:
            return None
        path = self._folder.shown(name)
        _check_seal(data, path)
        try:
            return take(pq.ParquetFile(pa.BufferReader(data)))
        except (pa.ArrowException, OSError) as error:
            raise _damaged(path, error) from error


def table_name(key: Sequence[str], partition: str) -> str:
    """Return the path of a table below its folder; see ``safe_name`` for the names in it."""
    return posixpath.join(*map(safe_name, key), f"{safe_name(partition)}{_EXTENSION}")


def table_properties(schema: pa.Schema) -> dict[str, str]:
    """The properties with which a table of this schema, as it was read, had been written."""
    notes = {name.decode(): text.decode() for name, text in (schema.metadata or {}).items()}
    return {
        name.removeprefix(_PROPERTY_PREFIX): text
        for name, text in notes.items()
        if name.startswith(_PROPERTY_PREFIX)
    }


def _encode(table: pa.Table | pd.DataFrame, notes: Mapping[str, str]) -> bytes:
    """A sealed Parquet file.

    Of our own tables the types follow from Parquet's, every column is read whole, and most have
    few rows: dictionaries, statistics and a copy of the schema would be most of the file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    if not isinstance(table, pa.Table):
        pq.write_table(_from_frame(table).replace_schema_metadata(notes), file, compression="zstd")
        return seal(file.getvalue())
    with pq.ParquetWriter(
        file,
        table.schema,
        compression="snappy" if table.nbytes <= _SMALL_BYTES else "zstd",
        use_dictionary=False,
        write_statistics=False,
        store_schema=False,
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(notes)
    return seal(file.getvalue())


def _from_frame(frame: pd.DataFrame) -> pa.Table:
    import pyarrow as pa

    table = pa.Table.from_pandas(frame, preserve_index=False)
    fields = [f.with_type(pa.string()) if pa.types.is_null(f.type) else f for f in table.schema]
    return table.cast(pa.schema(fields))


def seal(data: bytes) -> bytes:
    """A file whose footer holds ``EMPTY``, with the digest of its other bytes in that place."""
    at = _place(data)
    if at is None:
        raise AssertionError("the footer has a place for the digest")
    return data[:at] + _digest(data, at) + data[at + _N_HEX :]


def _check_seal(data: bytes, path: str) -> None:
    """Refuse a file that is not as it was written; one without a digest passes."""
    at = _place(data)
    if at is not None and data[at : at + _N_HEX] != _digest(data, at):
        raise _damaged(path, "its bytes are not those that were written")


def _damaged(path: str, reason: object) -> DamagedTableError:
    return DamagedTableError(
        f"the table {path} is damaged: {reason}. Materialize its asset again (`raptor build "
        "--force` does): finished summaries and vectors are taken from the vector store"
    )


def _place(data: bytes) -> int | None:
    """Where the digest stands: after the last mark, which is in the footer."""
    mark_at = data.rfind(_MARK)
    at = mark_at + len(_MARK)
    return at if mark_at >= 0 and at + _N_HEX <= len(data) else None


def _digest(data: bytes, at: int) -> bytes:
    view = memoryview(data)
    hashed = hashlib.sha256(view[:at])
    hashed.update(view[at + _N_HEX :])
    return hashed.hexdigest().encode()
