"""Searches on a server for hundreds of points to rank, with their outlines kept in this process.

Half of the time of a search was to read and send payloads. A point never changes (``versions.py``),
so a search returns ids and scores, and outlines are read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import intern

from raptor_core.store.engines.base import Point
from raptor_core.store.engines.qdrant import ClientEngine, Row, Search
from raptor_core.store.outlines import OUTLINED, Outline
from raptor_core.store.payload import Payload

MAX_OUTLINES = 100_000
"""Number of outlines to keep, some 70 MB; beyond it the cache is emptied."""

MAX_SEARCHES = 10
"""How often a search is repeated whose points were deleted before their outlines were read."""

_FIELDS = (*OUTLINED, "birth")


class OutlineCache:
    """Outlines of one collection's points. Threads may share it."""

    def __init__(self, points: ClientEngine) -> None:
        self._points = points
        self._payloads: dict[str, Payload] = {}

    def query(self, searches: Sequence[Search]) -> list[list[Row]]:
        """Return the best points of each search, with tree, birth, node id and outline.

        A server leaves out points that are deleted before it reads their payloads, so a search
        returns ids alone. It is repeated where a point is deleted before its outline is read.
        """
        for _ in range(MAX_SEARCHES):
            answers = self._points.query(searches, ())
            ids = {point_id for answer in answers for point_id, _, _ in answer}
            payloads = {name: kept for name in ids if (kept := self._payloads.get(name))}
            missing = sorted(ids - payloads.keys())
            payloads |= self._keep(self._points.fetch(missing, _FIELDS, dense=False))
            if len(payloads) == len(ids):
                break
        return [
            [(p, score, payloads[p]) for p, score, _ in row if p in payloads] for row in answers
        ]

    def _keep(self, points: Sequence[Point]) -> dict[str, Payload]:
        new = {point.id: _brief(point.payload) for point in points}
        if len(self._payloads) > MAX_OUTLINES:
            self._payloads = {}
        self._payloads.update(new)
        return new


def _brief(payload: Payload) -> Payload:
    names = {name: intern(payload[name]) for name in ("tree", "birth")}
    return {**names, "node_id": payload["node_id"], "outline": Outline.of(payload)}
