"""Whole publications on embedded engines, through crashes.

An engine may die between the steps of a batch. So the batch is first written to a journal file
(durably, by rename), then applied, made durable, and the journal removed. Whoever opens the store
next finds the journal, applies it again and only then reads; applying twice is the same as once.
No reader gets in between, because an embedded engine has one process at a time, and a store
object whose commit failed refuses further calls.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from raptor_core.errors import StoreError
from raptor_core.store.engine import Batch, Engine, Point
from raptor_core.store.files import check_space, disk_errors, sync_directory, write_durably
from raptor_core.store.lexical import Sparse
from raptor_core.vectors import Vectors

MAGIC = b"RAPTORJ3"
_N_DIGEST = 32
_ENGINE_BYTES_PER_BYTE = 3  # log, segment and index of the engine, over what the journal holds


class Journal:
    """The journal of one embedded collection."""

    def __init__(self, path: Path, engine: Engine) -> None:
        self._path = path
        self._engine = engine

    def commit(self, batch: Batch) -> None:
        """Apply a batch so that it survives a crash at any point.

        Raises:
            StoreError: no space, or the disk refuses the journal: nothing was changed. When the
                engine fails, the journal stays and is applied by whoever opens the store next.
        """
        data = encode(batch)
        check_space(self._path.parent, len(data) * (1 + _ENGINE_BYTES_PER_BYTE))
        write_durably(self._path, data)
        self._apply(batch)

    def recover(self) -> bool:
        """Apply the batch that a dead process left; whether there was one.

        Raises:
            StoreError: the journal is damaged, or the engine fails.
        """
        with disk_errors(self._path):
            data = self._path.read_bytes() if self._path.exists() else None
        if data is None:
            return False
        self._apply(decode(data, self._path))
        return True

    def _apply(self, batch: Batch) -> None:
        self._engine.apply(batch)
        self._engine.flush()
        with disk_errors(self._path):
            self._path.unlink()
            sync_directory(self._path.parent)


def encode(batch: Batch) -> bytes:
    """A batch as bytes: magic, SHA-256 of the rest, length of the JSON header, header, arrays.

    The arrays, little-endian: dense vectors as f4; indices as u4, then values as f8, of all
    lexical vectors.
    """
    rows = [p.dense for p in batch.upserts if p.dense is not None]
    sparse = [p.lexical for p in batch.upserts if p.lexical is not None]
    header = json.dumps(
        {
            "points": [_encode_point(point) for point in batch.upserts],
            "deletes": batch.deletes,
            "shape": [len(rows), len(rows[0]) if rows else 0],
        }
    ).encode()
    arrays = (
        np.asarray(rows, dtype="<f4"),
        np.array([index for one in sparse for index in one.indices], dtype="<u4"),
        np.array([value for one in sparse for value in one.values], dtype="<f8"),
    )
    size = len(header).to_bytes(8, "little")
    rest = b"".join([size, header, *(array.tobytes() for array in arrays)])
    return b"".join([MAGIC, hashlib.sha256(rest).digest(), rest])


def _encode_point(point: Point) -> dict[str, Any]:
    return {
        "id": point.id,
        "payload": point.payload,
        "dense": point.dense is not None,
        "n_lexical": None if point.lexical is None else len(point.lexical.indices),
    }


def decode(data: bytes, path: Path | str) -> Batch:
    """The batch of ``encode``; ``path`` is for the message.

    Raises:
        StoreError: the bytes are not those of a whole journal.
    """
    at = len(MAGIC) + _N_DIGEST
    if data[:at] != MAGIC + hashlib.sha256(data[at:]).digest():
        raise _damaged(path)
    start = at + 8
    end = start + int.from_bytes(data[at:start], "little")
    header = json.loads(data[start:end])
    stored = header["points"]
    n_rows, n_dims = header["shape"]
    dense, lexical = _decode_dense(data, end, n_rows, n_dims), _decode_lexical(data, stored)
    points = tuple(
        Point(
            point["id"],
            point["payload"],
            next(dense) if point["dense"] else None,
            None if point["n_lexical"] is None else next(lexical),
        )
        for point in stored
    )
    return Batch(points, tuple(header["deletes"]))


def _decode_dense(data: bytes, at: int, n_rows: int, n_dims: int) -> Iterator[Vectors]:
    rows = np.frombuffer(data, dtype="<f4", offset=at, count=n_rows * n_dims)
    return iter(rows.reshape(n_rows, n_dims).astype(np.float32))


def _decode_lexical(data: bytes, stored: Sequence[dict[str, Any]]) -> Iterator[Sparse]:
    sizes = [point["n_lexical"] for point in stored if point["n_lexical"] is not None]
    n = sum(sizes)
    indices = np.frombuffer(data, dtype="<u4", offset=len(data) - 12 * n, count=n).tolist()
    values = np.frombuffer(data, dtype="<f8", offset=len(data) - 8 * n, count=n).tolist()
    at = 0
    for size in sizes:
        yield Sparse(tuple(indices[at : at + size]), tuple(values[at : at + size]))
        at += size


def _damaged(path: Path | str) -> StoreError:
    return StoreError(
        f"{path}: not a whole journal of a publication. Move it away to open the store as it is, "
        "then build the tree again"
    )
