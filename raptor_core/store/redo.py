"""The record of a publication on a server, from which anybody can complete it.

What ``journal.py`` does in a file is done here in points of the collection: the whole batch is
written first, in points that no reader looks at, and then applied. Who finds the record of a
publisher that died applies it again; applying twice is the same as once.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterator

from raptor_core.identity import NODE_NAMESPACE, digest
from raptor_core.store.engine import Batch, Engine, Point
from raptor_core.store.journal import decode, encode

RECORD_BYTES = 4 * 2**20
"""Bytes of a batch in one point of its record."""

_FIELDS = ("data",)


def record_points(publication: str, batch: Batch, until: float) -> list[Point]:
    """The record of a batch. It counts as left behind after ``until``, seconds of the clock."""
    data = encode(batch)
    parts = [data[at : at + RECORD_BYTES] for at in range(0, len(data), RECORD_BYTES)]
    return [
        Point(
            point_id,
            {
                "state": "record",
                "publication": publication,
                "until": until,
                "data": base64.b64encode(part).decode("ascii"),
            },
        )
        for point_id, part in zip(record_ids(publication, len(parts)), parts, strict=True)
    ]


def record_ids(publication: str, n_parts: int) -> Iterator[str]:
    """Ids of a record's points, in order."""
    for part in range(n_parts):
        yield str(uuid.uuid5(NODE_NAMESPACE, digest("record", publication, str(part))))


def read_record(engine: Engine, publication: str, n_parts: int, where: str) -> Batch | None:
    """The batch of a record; None where it is not whole, so nothing of it was applied yet.

    Raises:
        StoreError: it is damaged.
    """
    parts = []
    for point_id in record_ids(publication, n_parts):
        found = engine.fetch([point_id], _FIELDS, dense=False)
        if not found:
            return None
        parts.append(base64.b64decode(found[0].payload["data"]))
    return decode(b"".join(parts), f"{where}, publication {publication}")
