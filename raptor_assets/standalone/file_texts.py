"""Texts in the files of a home or an export, with packed values and free space.

``forgetting`` searches them. Files are only read.
"""

from __future__ import annotations

import gzip
import io
import re
import sqlite3
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from raptor_assets.project.event_text import unpack

MAX_DEPTH = 3
"""Archives inside archives that are opened."""

_BLOCK_BYTES = 128  # alignment of values in a page of the embedded engine
_MAX_VALUE_BYTES = 1 << 26
_ZEROS = re.compile(rb"\0{4,}")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def file_texts(path: Path, data: bytes) -> Iterator[tuple[str, str]]:
    """Yield each part of a file and its text: rows, archive members, pages, raw bytes."""
    yield from _texts(data, "", 0)
    if data.startswith(b"SQLite format 3\0"):
        yield from _rows(path)
    if path.name.startswith("page_") and path.suffix == ".dat":
        yield "payloads", "\n".join(_blocks(data))


def _texts(data: bytes, part: str, depth: int) -> Iterator[tuple[str, str]]:
    dense = _ZEROS.sub(b"\0", data)  # pages of the engine are mostly empty
    yield part or "bytes", dense.decode("utf-16" if data[:2] in _UTF16 else "utf-8", "replace")
    if depth == MAX_DEPTH:
        return
    if data[:4] == b"PAR1":
        yield from _columns(data, part)
    with suppress(OSError, EOFError, zlib.error, zipfile.BadZipFile, tarfile.TarError):
        for name, member in _members(data):
            yield from _texts(member, f"{part}/{name}".lstrip("/"), depth + 1)


def _members(data: bytes) -> Iterator[tuple[str, bytes]]:
    if data[:2] == b"\x1f\x8b":
        yield "gzip", gzip.decompress(data)
    elif data[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                yield name, archive.read(name)
    elif data[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                file = archive.extractfile(member)
                yield member.name, file.read() if file else b""


def _columns(data: bytes, part: str) -> Iterator[tuple[str, str]]:
    """Yield the columns of a Parquet file that may hold text, and its footer."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(io.BytesIO(data))
    except (OSError, pa.ArrowException):
        return
    yield f"{part} footer".strip(), str(table.schema.metadata)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_nested(column.type) or pa.types.is_string(column.type):
            yield f"{part} column {name}".strip(), "\n".join(map(str, column.to_pylist()))


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
            yield f"table {name}", "\n".join(_value(value) for row in rows for value in row)


def delete_rows(path: Path, is_gone: Callable[[str], bool]) -> None:
    """Delete events and check results of a home's Dagster log by their text, with their bytes."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("pragma secure_delete=on")
        for table in ("event_logs", "asset_check_executions"):
            rows = database.execute(f"select rowid, * from {table}").fetchall()  # noqa: S608
            gone = [row[:1] for row in rows if is_gone("\n".join(map(_value, row)))]
            database.executemany(f"delete from {table} where rowid = ?", gone)  # noqa: S608
        database.commit()
        database.execute("vacuum")
        database.execute("pragma wal_checkpoint(truncate)")


def _value(value: object) -> str:
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
