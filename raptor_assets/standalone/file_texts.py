"""Texts in the files of a home or an export, with packed values and free space.

``forgetting`` searches them. Files are only read, and packed ones are unpacked up to a bound.
"""

import bz2
import gzip
import io
import lzma
import re
import sqlite3
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from raptor_assets.project.event_text import unpack

MAX_DEPTH = 3
"""Archives inside archives that are opened."""

MAX_UNPACKED_BYTES = 1 << 26
MAX_RATIO = 20
"""A file is unpacked up to these bytes, or to this multiple of its size if that is more."""

_STREAMS: Mapping[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
_DAMAGE = (
    *(OSError, EOFError, KeyError, RuntimeError, zlib.error, lzma.LZMAError),
    *(zipfile.BadZipFile, tarfile.TarError),
)
_BLOCK_ROWS = 1000
_BLOCK_BYTES = 128  # alignment of values in a page of the embedded engine
_MAX_VALUE_BYTES = 1 << 26
_ZEROS = re.compile(rb"\0{4,}")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def file_texts(path: Path, data: bytes, limits: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each part of a file and its text: rows, archive members, pages, raw bytes.

    Reasons why parts are not read are added to ``limits``.
    """
    unpacking = _Unpacking(max(MAX_UNPACKED_BYTES, MAX_RATIO * len(data)))
    yield from unpacking.texts(data, "", 0)
    limits += [f"{path} is not searched to its end: {reason}" for reason in unpacking.reasons]
    if data.startswith(b"SQLite format 3\0"):
        yield from _rows(path)
    if path.name.startswith("page_") and path.suffix == ".dat":
        yield "payloads", "\n".join(_blocks(data))


@dataclass(slots=True)
class _Unpacking:
    """Unpacking of one file, with the bytes that may still come out of it."""

    bytes_left: int
    reasons: dict[str, None] = field(default_factory=dict)

    def texts(self, data: bytes, part: str, depth: int) -> Iterator[tuple[str, str]]:
        dense = _ZEROS.sub(b"\0", data)  # pages of the engine are mostly empty
        yield part or "bytes", dense.decode("utf-16" if data[:2] in _UTF16 else "utf-8", "replace")
        try:
            if data[:4] == b"PAR1":
                yield from self._columns(data, part)
            for name, member in self._members(data):
                if depth == MAX_DEPTH:
                    self.reasons[f"an archive in {MAX_DEPTH} others is not opened"] = None
                    return
                yield from self.texts(member, f"{part}/{name}".lstrip("/"), depth + 1)
        except _DAMAGE as error:
            self.reasons[f"{part or 'it'} cannot be unpacked ({error})"] = None

    def _members(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        if opener := next((_STREAMS[mark] for mark in _STREAMS if data.startswith(mark)), None):
            with opener(io.BytesIO(data)) as stream:
                yield "unpacked", self._read(stream)
        elif data[:4] == b"PK\x03\x04":
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                for name in archive.namelist():
                    with archive.open(name) as member:
                        yield name, self._read(member)
        elif data[257:262] == b"ustar":
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                for entry in archive:
                    file = archive.extractfile(entry)
                    yield entry.name, self._read(file) if file else b""

    def _read(self, stream: IO[bytes]) -> bytes:
        data = stream.read(self.bytes_left + 1)
        self._count(len(data))
        return data

    def _count(self, n_bytes: int) -> None:
        self.bytes_left = max(0, self.bytes_left - n_bytes)
        if not self.bytes_left:
            self.reasons["far more comes out of it than its size; unpack it with care"] = None

    def _columns(self, data: bytes, part: str) -> Iterator[tuple[str, str]]:
        """Yield the columns of a Parquet file that may hold text, by rows, and its footer."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            file = pq.ParquetFile(io.BytesIO(data))
            schema, groups = file.schema_arrow, range(file.metadata.num_row_groups)
            yield f"{part} footer".strip(), str(schema.metadata)
            names = [field.name for field in schema if not pa.types.is_primitive(field.type)]
            size = max((file.metadata.row_group(at).total_byte_size for at in groups), default=0)
            n_rows = max(1, min(_BLOCK_ROWS, self.bytes_left // (size + 1)))  # values may repeat
            for rows in file.iter_batches(n_rows, columns=names):
                self._count(rows.nbytes)
                for name, column in zip(rows.schema.names, rows.columns, strict=True):
                    yield f"{part} column {name}".strip(), row_text(column.to_pylist())
                if not self.bytes_left:
                    return
        except pa.ArrowException as error:
            self.reasons[f"{part or 'it'} cannot be read as Parquet ({error})"] = None


def _rows(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the tables of an SQLite file, with the events that Dagster's log packs."""
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as database,
    ):
        tables = database.execute("select name from sqlite_master where type = 'table'").fetchall()
        for (name,) in tables:
            quoted = name.replace('"', '""')
            rows = database.execute(f'select * from "{quoted}"')  # noqa: S608 - names of its tables
            while block := rows.fetchmany(_BLOCK_ROWS):
                yield f"table {name}", row_text(value for row in block for value in row)


def row_text(values: Iterable[object]) -> str:
    """Return the values of database rows as one text, with unpacked events."""
    return "\n".join(map(_value, values))


def _value(value: object) -> str:
    value = bytes(value) if isinstance(value, memoryview) else value
    if not isinstance(value, bytes):
        return str(value)
    with suppress(zlib.error, UnicodeDecodeError):
        return unpack(value)
    return value.decode("utf-8", "replace")


def _blocks(data: bytes) -> Iterator[str]:
    """Yield the values of a page, also of deleted points, which LZ4 packs behind their size."""
    for start in range(0, len(data), _BLOCK_BYTES):
        size = int.from_bytes(data[start : start + 4], "little")
        if 0 < size <= _MAX_VALUE_BYTES:
            yield _unpack_lz4(data, start + 4, size).decode("utf-8", "replace")


def _unpack_lz4(data: bytes, at: int, size: int) -> bytes:
    """Return the beginning of an LZ4 block that can be read; the end may be overwritten."""
    out = bytearray()
    with suppress(IndexError):
        while len(out) < size:
            token = data[at]
            n_literals, at = _length(data, at + 1, token >> 4)
            out += data[at : at + n_literals]
            at += n_literals
            if len(out) >= size:
                break
            distance = data[at] | data[at + 1] << 8
            n_copied, at = _length(data, at + 2, token & 15)
            if not 0 < distance <= len(out) or n_copied > size:
                break
            source = out[-distance:]
            n_copied += 4
            out += (source * (n_copied // distance + 1))[:n_copied]
    return bytes(out[:size])


def _length(data: bytes, at: int, length: int) -> tuple[int, int]:
    if length == 15:
        while data[at] == 255:
            length, at = length + 255, at + 1
        length, at = length + data[at], at + 1
    return length, at
