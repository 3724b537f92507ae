"""Batches cut into requests that a server takes."""

from __future__ import annotations

import json
from collections.abc import Iterator

from raptor_core.store.engine import Batch, Point

PART_BYTES = 16 * 2**20
"""Largest request that is sent, as estimated: half of what a server takes by default."""

_NUMBER_BYTES = 24
_ID_BYTES = 40


def split(batch: Batch, limit_bytes: int | None = None) -> Iterator[Batch]:
    """The batch in parts, to be applied in this order.

    First comes all that is written, then what is deleted. A point over the limit has a part of its
    own.
    """
    limit = limit_bytes or PART_BYTES
    upserts: list[Point] = []
    size = 0
    for point in batch.upserts:
        n_bytes = point_bytes(point)
        if upserts and size + n_bytes > limit:
            yield Batch(tuple(upserts))
            upserts, size = [], 0
        upserts.append(point)
        size += n_bytes
    if upserts:
        yield Batch(tuple(upserts))
    n_ids = max(1, limit // _ID_BYTES)
    for at in range(0, len(batch.deletes), n_ids):
        yield Batch(deletes=batch.deletes[at : at + n_ids])


def point_bytes(point: Point) -> int:
    """Bytes of a point as JSON, at the most."""
    n_numbers = 0 if point.dense is None else len(point.dense)
    if point.lexical is not None:
        n_numbers += 2 * len(point.lexical.indices)
    return n_numbers * _NUMBER_BYTES + len(json.dumps(point.payload)) + 2 * _ID_BYTES
