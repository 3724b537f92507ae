"""Searches on a server for hundreds of points to be ranked, of which a process keeps the outlines.

To read their payloads and to send them took half of a search. A point never changes
(``versions.py``), so ids and scores are enough of those that were seen before.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import intern

from raptor_core.store.engines.base import Point
from raptor_core.store.engines.qdrant import ClientEngine, Row, Search
from raptor_core.store.outlines import OUTLINED, Outline
from raptor_core.store.payload import Payload

KEPT = 100_000
"""Points whose outlines are kept, in some 70 MB; with more it begins anew."""

TRIES = 10
"""How often a search is made again whose points went before their outlines were asked for."""

_FIELDS = (*OUTLINED, "birth")


class Glances:
    """Such searches of one collection. Threads may share it."""

    def __init__(self, points: ClientEngine) -> None:
        self._points = points
        self._kept: dict[str, Payload] = {}

    def query(self, searches: Sequence[Search]) -> list[list[Row]]:
        """The best points of each, with tree, birth, node id and outline for a payload.

        A search brings ids alone: all that it finds, where a server that is to fetch payloads
        leaves out what was deleted meanwhile. Outlines that are not known are asked for; where one
        of these went by then, it is searched again.
        """
        for _ in range(TRIES):
            answers = self._points.query(searches, ())
            found = {point_id for answer in answers for point_id, _, _ in answer}
            known = {name: kept for name in found if (kept := self._kept.get(name))}
            lacking = sorted(found - known.keys())
            known |= self._keep(self._points.fetch(lacking, _FIELDS, dense=False))
            if len(known) == len(found):
                break
        return [[(p, score, known[p]) for p, score, _ in row if p in known] for row in answers]

    def _keep(self, points: Sequence[Point]) -> dict[str, Payload]:
        new = {point.id: _brief(point.payload) for point in points}
        if len(self._kept) > KEPT:
            self._kept = {}
        self._kept.update(new)
        return new


def _brief(payload: Payload) -> Payload:
    names = {name: intern(payload[name]) for name in ("tree", "birth")}
    return {**names, "node_id": payload["node_id"], "outline": Outline.of(payload)}
