"""The order of hits: best first, ties by node id, however many there are."""

from __future__ import annotations

from collections.abc import Callable

from raptor_core.store.base import Hit
from raptor_core.store.engine import Scored
from raptor_core.store.payload import payload_to_node


def ranked(query: Callable[[int], list[list[Scored]]], limit: int) -> list[list[Hit]]:
    """The best ``limit`` of each query.

    ``query`` takes a number of points and returns that many per query, best first. One more than
    asked is fetched: when it ties with the last, more are, until the tie is whole.
    """
    ask = limit + 1
    found = query(ask)
    while any(len(row) == ask and row[limit - 1].score == row[-1].score for row in found):
        ask *= 2
        found = query(ask)
    ordered = (sorted(row, key=lambda point: (-point.score, point.id)) for row in found)
    return [
        [Hit(payload_to_node(point.payload), point.score) for point in row[:limit]]
        for row in ordered
    ]
