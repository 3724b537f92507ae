"""Searches on a server for hundreds of points to be ranked, of which a process keeps the outlines.

To read their payloads and to send them took half of a search. A point never changes
(``versions.py``), so ids and scores are enough of those that were seen before.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import intern

from raptor_core.store.engines.qdrant import ClientEngine, Row, Search
from raptor_core.store.outlines import OUTLINED, Outline
from raptor_core.store.payload import Payload

KEPT = 100_000
"""Points whose outlines are kept, in some 70 MB; with more it begins anew."""

KNOWN_SHARE = 0.5
"""Share of the points of a search that were known, from which on the next brings ids alone."""

TRIES = 10
"""How often a search is made again whose points went before their outlines were asked for."""

_FIELDS = (*OUTLINED, "birth")


class Glances:
    """Such searches of one collection. Threads may share it."""

    def __init__(self, points: ClientEngine) -> None:
        self._points = points
        self._kept: dict[str, Payload] = {}
        self._known_share = 0.0

    def query(self, searches: Sequence[Search]) -> list[list[Row]]:
        """The best points of each, with tree, birth, node id and outline for a payload.

        While hardly any is known, the search brings them all; else those that are not known are
        asked for. Where one of these went meanwhile, it is searched again.
        """
        for _ in range(TRIES):
            is_new = self._known_share < KNOWN_SHARE
            answers = self._points.query(searches, _FIELDS if is_new else ())
            found = {point_id: payload for answer in answers for point_id, _, payload in answer}
            known = {name: kept for name in found if (kept := self._kept.get(name))}
            self._known_share = len(known) / len(found) if found else 1.0
            lacking = [name for name in found if name not in known]
            if not is_new:
                records = self._points.fetch(lacking, _FIELDS, dense=False)
                found = {record.id: record.payload for record in records}
            known |= self._keep({name: found[name] for name in lacking if name in found})
            if all(name in known for name in lacking):
                break
        return [[(p, score, known[p]) for p, score, _ in row if p in known] for row in answers]

    def _keep(self, payloads: dict[str, Payload]) -> dict[str, Payload]:
        new = {point_id: _brief(payload) for point_id, payload in payloads.items()}
        if len(self._kept) > KEPT:
            self._kept = {}
        self._kept.update(new)
        return new


def _brief(payload: Payload) -> Payload:
    names = {name: intern(payload[name]) for name in ("tree", "birth")}
    return {**names, "node_id": payload["node_id"], "outline": Outline.of(payload)}
