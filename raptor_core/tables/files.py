"""Parquet files by asset key and partition, anywhere that fsspec supports.

Each page of a file has a checksum; without it, most changed bytes would give wrong rows without an
error. The columns of the tables are in ``schema.py`` and ``values.py``.
"""

from __future__ import annotations

import io
import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from raptor_core.errors import DamagedTableError, SettingsError, TableError
from raptor_core.file_names import FOOTER_PREFIX
from raptor_core.filesystems import Folder
from raptor_core.identity import safe_name

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Properties = Mapping[str, str]
T = TypeVar("T")
_PROPERTY_PREFIX = "raptor."
_EXTENSION = ".parquet"
_NOTE = {f"{FOOTER_PREFIX}table": "1"}
"""Entry in the footer by which sources recognize a home's own table."""
_SMALL_BYTES = 100_000
"""Largest table that is packed with Snappy; for small ones, Zstandard's start takes longer."""


class TableStore:
    """Tables under one folder: ``<url>/<key>/<partition>.parquet``; see ``Folder``.

    ``properties`` are short texts in the file's footer. A file that changed on disk is rejected,
    and a failed write leaves the old file unchanged.

    Args:
        url: a folder, or any fsspec URL such as ``s3://bucket/tables``; credentials come from the
            environment.

    Raises:
        MissingExtraError: the URL needs an extra that is not installed.
        SettingsError: fsspec does not support the URL.
        TableError: raised by every method if the location does not respond or denies access.
        DamagedTableError: raised by reading methods for a file that changed on disk.
    """

    def __init__(self, url: str) -> None:
        self._folder = Folder(url, TableError, SettingsError, "the address under [tables]")

    def path(self, key: Sequence[str], partition: str) -> str:
        """Return the path of one table."""
        return self._folder.path(table_path(key, partition))

    def exists(self, key: Sequence[str], partition: str) -> bool:
        """Return whether the table exists."""
        return self._folder.exists(table_path(key, partition))

    def write(
        self,
        key: Sequence[str],
        partition: str,
        table: pa.Table | pd.DataFrame,
        properties: Properties | None = None,
    ) -> str:
        """Write one table and return its path; Arrow infers the types of a data frame."""
        notes = {f"{_PROPERTY_PREFIX}{name}": text for name, text in (properties or {}).items()}
        self._folder.write(table_path(key, partition), _encode_parquet(table, {**notes, **_NOTE}))
        return self.path(key, partition)

    def read(self, key: Sequence[str], partition: str) -> pa.Table:
        """Return one table, or raise TableError; ``table_properties`` gives its properties."""
        table = self.read_if_exists(key, partition)
        if table is None:
            path = self.path(key, partition)
            raise TableError(f"no table at {path}; materialize its asset for this partition first")
        return table

    def read_if_exists(
        self, key: Sequence[str], partition: str, columns: Sequence[str] | None = None
    ) -> pa.Table | None:
        """Return one table, or some of its columns, in one request; None if it does not exist."""
        name = table_path(key, partition)
        return self._read_file_with(name, lambda file: file.read(columns, use_threads=False))

    def properties(self, key: Sequence[str], partition: str) -> dict[str, str] | None:
        """Return the properties of a table without decoding its rows; None if it does not exist."""
        schema = self._read_file_with(table_path(key, partition), lambda file: file.schema_arrow)
        return None if schema is None else table_properties(schema)

    def partitions(self, key: Sequence[str]) -> list[str]:
        """Return the sorted partitions of a key, except those whose file name ends in a digest.

        Use it only for keys whose partitions have short names in lower case ASCII.
        """
        files = self._folder.file_names(posixpath.join(*map(safe_name, key)))
        names = (unquote(f.removesuffix(_EXTENSION)) for f in files if f.endswith(_EXTENSION))
        return [name for name in names if f"{safe_name(name)}{_EXTENSION}" in files]

    def existing_partitions(self, key: Sequence[str], partitions: Iterable[str]) -> list[str]:
        """Return which of these partitions have a table, in one request."""
        files = set(self._folder.file_names(posixpath.join(*map(safe_name, key))))
        names = partitions if files else ()
        return [name for name in names if f"{safe_name(name)}{_EXTENSION}" in files]

    def has_any_table(self, key: Sequence[str]) -> bool:
        """Return whether a key has a table for any partition."""
        return bool(self._folder.file_names(posixpath.join(*map(safe_name, key))))

    def delete(self, key: Sequence[str], partition: str) -> bool:
        """Delete one table, and return whether it existed."""
        return self._folder.delete(table_path(key, partition))

    def _read_file_with(self, name: str, take: Callable[[Any], T]) -> T | None:
        """Apply ``take`` to a Parquet file; None if the file does not exist."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        data = self._folder.read_if_exists(name)
        if data is None:
            return None
        path = self._folder.shown_path(name)
        try:
            file = pa.BufferReader(data)
            return take(pq.ParquetFile(file, page_checksum_verification=True))
        except (pa.ArrowException, OSError) as error:
            raise _damaged_table_error(path, error) from error


def table_path(key: Sequence[str], partition: str) -> str:
    """Return the path of a table below its folder; see ``safe_name`` for the names in it."""
    return posixpath.join(*map(safe_name, key), f"{safe_name(partition)}{_EXTENSION}")


def table_properties(schema: pa.Schema) -> dict[str, str]:
    """Return the properties that a table was written with, from the schema that was read."""
    notes = {name.decode(): text.decode() for name, text in (schema.metadata or {}).items()}
    return {
        name.removeprefix(_PROPERTY_PREFIX): text
        for name, text in notes.items()
        if name.startswith(_PROPERTY_PREFIX)
    }


def _encode_parquet(table: pa.Table | pd.DataFrame, notes: Mapping[str, str]) -> bytes:
    """Encode a Parquet file with checksums.

    Most tables have few rows, and their columns are read completely, so dictionaries, statistics
    and a copy of the schema would be most of the file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    if not isinstance(table, pa.Table):
        inferred = pa.Table.from_pandas(table, preserve_index=False)
        fields = [
            f.with_type(pa.string()) if pa.types.is_null(f.type) else f for f in inferred.schema
        ]
        typed = inferred.cast(pa.schema(fields)).replace_schema_metadata(notes)
        pq.write_table(typed, file, compression="zstd", write_page_checksum=True)
        return file.getvalue()
    with pq.ParquetWriter(
        file,
        table.schema,
        compression="snappy" if table.nbytes <= _SMALL_BYTES else "zstd",
        use_dictionary=False,
        write_statistics=False,
        store_schema=False,
        write_page_checksum=True,
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(notes)
    return file.getvalue()


def _damaged_table_error(path: str, reason: object) -> DamagedTableError:
    return DamagedTableError(
        f"the table {path} is damaged: {reason}. Remove it, and materialize its asset again "
        "(`raptor build --force` does): finished summaries and vectors come from the vector "
        "store"
    )
