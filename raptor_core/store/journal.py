"""Journal that makes a publication on an embedded engine atomic, also through crashes.

An engine may die between the steps of a batch. So the batch is first written to a journal file
(durably, by rename), then applied, made durable, and the journal removed. The next process that
opens the store finds the journal, applies it again and only then reads; applying it twice is the
same as once. No reader gets in between, because an embedded engine has one process at a time, and
a store object whose commit failed refuses further calls.
"""

import hashlib
import json
from base64 import b64decode, b64encode
from pathlib import Path

import numpy as np

from raptor_core.disk import check_space, disk_errors, sync_directory, write_durably
from raptor_core.errors import StoreError
from raptor_core.store.engines.base import Batch, Engine, Point, is_id
from raptor_core.store.lexical import passage_vector
from raptor_core.store.payload import Payload

MAGIC = b"RAPTORJ4"
_N_DIGEST = 32
_REMEDY = (
    "move the file away, which opens the store as it is, then build with --force or import its "
    "trees again"
)
_ENGINE_BYTES_PER_BYTE = 3  # log, segment and index of the engine, over what the journal holds


class Journal:
    """The journal of one embedded collection."""

    def __init__(self, path: Path, engine: Engine) -> None:
        self._path = path
        self._engine = engine

    def commit(self, batch: Batch) -> None:
        """Apply a batch so that it survives a crash at any point.

        Raises:
            StoreError: nothing was changed. Or the engine failed: the journal stays and is applied
                by the next process that opens the store.
        """
        if not batch.upserts and not batch.deletes:
            return
        if wrong := _find_wrong_id(batch):
            raise StoreError(
                f"{wrong} cannot be the id of a point: expected a UUID, such as "
                "raptor_core.identity makes. Nothing was changed"
            )
        data = encode(batch)
        check_space(self._path.parent, len(data) * (1 + _ENGINE_BYTES_PER_BYTE))
        write_durably(self._path, data)
        self._apply(batch)

    def recover(self) -> None:
        """Apply the batch of a dead process, if there is one."""
        with disk_errors(self._path):
            data = self._path.read_bytes() if self._path.exists() else None
        if data is not None:
            batch = decode(data, self._path)
            check_space(self._path.parent, len(data) * _ENGINE_BYTES_PER_BYTE)
            try:
                self._apply(batch)
            except (StoreError, LookupError, TypeError, ValueError, AttributeError) as error:
                raise StoreError(
                    f"{self._path}: this publication was broken off, and the engine refuses to "
                    f"complete it ({error}). Mend what it names, and repeat. Else {_REMEDY}"
                ) from error

    def _apply(self, batch: Batch) -> None:
        self._engine.apply(batch)
        self._engine.flush()
        with disk_errors(self._path):
            self._path.unlink()
            sync_directory(self._path.parent)


def encode(batch: Batch) -> bytes:
    """Return a batch as bytes: magic, SHA-256 of the rest, JSON.

    A point has its id, payload and vector (little-endian float32 in base64). Its words are not
    kept, because they follow from its text.
    """
    points = [(p.id, p.payload, _encoded(p)) for p in batch.upserts]
    body = json.dumps([points, batch.deletes]).encode()
    return MAGIC + hashlib.sha256(body).digest() + body


def _encoded(point: Point) -> str | None:
    dense = point.dense
    return None if dense is None else b64encode(dense.astype("<f4").tobytes()).decode()


def decode(data: bytes, path: Path | str) -> Batch:
    """Return the batch that ``encode`` encoded; ``path`` is for the message."""
    at = len(MAGIC) + _N_DIGEST
    if data[:at] != MAGIC + hashlib.sha256(data[at:]).digest():
        raise StoreError(
            f"{path}: not a complete journal of a publication by this version. If another version "
            f"was broken off, open the store once with that one (raptor status). Else {_REMEDY}"
        )
    try:
        points, deletes = json.loads(data[at:])
        batch = Batch(tuple(_point(*point) for point in points), tuple(deletes))
        for point in batch.upserts:
            point.payload["state"]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"{path}: no batch of points ({error!r}); {_REMEDY}") from error
    if wrong := _find_wrong_id(batch):
        raise StoreError(f"{path}: {wrong} is no id of a point, which is a UUID; {_REMEDY}")
    return batch


def _find_wrong_id(batch: Batch) -> str:
    """Return the first id that no point can have, for a message; "" where all are UUIDs."""
    ids = (*(point.id for point in batch.upserts), *batch.deletes)
    return next((repr(point_id) for point_id in ids if not is_id(point_id)), "")


def _point(point_id: str, payload: Payload, stored: str | None) -> Point:
    if stored is None:
        return Point(point_id, payload)
    dense = np.frombuffer(b64decode(stored), dtype="<f4").astype(np.float32)
    return Point(point_id, payload, dense, passage_vector(payload["text"]))
