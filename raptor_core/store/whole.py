"""Whole publications for readers of a server, which applies a batch point by point.

A publisher first writes a record of its batch (``redo.py``) and a marker, then applies the batch,
in parts that the server takes, then writes a new *epoch* and removes marker and record. A read
looks at markers and epoch before and after itself: without a marker and with one epoch no
publication was under way, so what was read is of one state; else it is read again. A marker also
says until when it counts. One that is older is of a publisher that died, and whoever finds it
applies its record and removes it, so that a publication that began comes to its end, at whatever
point publisher or server died. Where the record is not whole, nothing was applied, and it is
removed.

The new nodes of a batch that takes several requests are sent before all that, in state "coming",
so that readers wait for a short rest. Their words count in lexical scores a little early.

A publisher that finds another's marker for one of its trees, or a tree that changed since it was
compared, takes its own marker and record back (``contention.py``).

Every call sees one state; two calls may see two. Clocks that differ by more than the seconds of a
marker, and replicas that lag behind (``store.read_consistency``), weaken this.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from raptor_core.errors import StoreError, StoreRefusedError
from raptor_core.identity import NODE_NAMESPACE
from raptor_core.store.contention import is_contested
from raptor_core.store.engine import Asked, Batch, Condition, Engine, Match, Point, Record, Scored
from raptor_core.store.lexical import Sparse
from raptor_core.store.outlines import Found
from raptor_core.store.parts import split
from raptor_core.store.redo import read_record, record_ids, record_points

MARKER_SECONDS = 30.0
"""How long a marker counts, from each part of a batch on. A publisher that is slower is completed
by others meanwhile, with the same points."""

READ_SECONDS = 60.0
"""How long a read goes on trying."""

FETCH_POINTS = 10_000
"""Points whose state is asked for at once."""

_POLL_SECONDS = 0.02
_EPOCH_ID = str(uuid.uuid5(NODE_NAMESPACE, "epoch"))
_MARKS = Condition((Match("state", ("publishing", "epoch")),))
_MARK_FIELDS = ("until", "value", "publication", "n_parts")
_RECORDS = Condition((Match("state", ("record",)),))

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class _Marker:
    """The point that says that a publication is under way."""

    publication: str
    n_parts: int
    replaces: tuple[str, ...] = ()

    def point(self) -> Point:
        """The marker, to count from now on."""
        payload = {
            "state": "publishing",
            "publication": self.publication,
            "n_parts": self.n_parts,
            "replaces": list(self.replaces),
            "until": time.time() + MARKER_SECONDS,
        }
        return Point(self.publication, payload)

    def ids(self) -> Iterator[str]:
        """Ids of the marker and of its record."""
        yield self.publication
        yield from record_ids(self.publication, self.n_parts)


class WholeEngine:
    """An engine whose reads see a publication whole or not at all."""

    def __init__(self, engine: Engine, where: str) -> None:
        self._engine = engine
        self._where = where

    def apply(self, batch: Batch) -> None:
        """Write and delete; what is only staged concerns no reader."""
        if not batch.deletes and all(p.payload["state"] == "staged" for p in batch.upserts):
            for part in split(batch):
                self._engine.apply(part)
            return
        if next(islice(split(batch), 1, None), None) is not None:
            batch = self._sent_ahead(batch)
        publication = str(uuid.uuid4())
        points = record_points(publication, batch, time.time() + MARKER_SECONDS)
        marker = _Marker(publication, len(points), tuple(name for name, _ in batch.replaces))
        for part in split(Batch((*points, marker.point()))):  # the marker comes last
            self._engine.apply(part)
        if is_contested(self._engine, publication, batch):
            self._engine.apply(Batch(deletes=tuple(marker.ids())))
            raise StoreRefusedError(
                f"{self._where}: another process publishes one of the same trees, or did since "
                "they were compared. Nothing was changed; repeat it, and let one build or import "
                "at a time write a tree"
            )
        self._finish(marker, batch)

    def _sent_ahead(self, batch: Batch) -> Batch:
        """Write the new nodes of a large batch where no reader looks; what is left to be done.

        Readers wait for the rest only. What a publisher that dies here leaves behind goes with
        the next publication of the tree.
        """
        ids = [point.id for point in batch.upserts]
        seen = {
            record.id
            for at in range(0, len(ids), FETCH_POINTS)
            for record in self._engine.fetch(ids[at : at + FETCH_POINTS], ("state",), dense=False)
            if record.payload["state"] != "coming"
        }
        new = [p for p in batch.upserts if p.payload["state"] == "live" and p.id not in seen]
        coming = (replace(point, payload={**point.payload, "state": "coming"}) for point in new)
        for part in split(Batch(tuple(coming))):
            self._engine.apply(part)
        ahead = {point.id for point in new}
        rest = tuple(point for point in batch.upserts if point.id not in ahead)
        return replace(batch, upserts=rest, reveals=tuple(point.id for point in new))

    def _finish(self, marker: _Marker, batch: Batch) -> None:
        """Apply a batch whose record is written, and remove the record."""
        parts = list(split(batch))
        try:
            self._engine.apply(parts[0])
        except StoreRefusedError:  # nothing was applied, and never will be
            self._engine.apply(Batch(deletes=tuple(marker.ids())))
            raise
        for part in parts[1:]:
            self._engine.apply(Batch((marker.point(),)))
            self._engine.apply(part)
        epoch = {"state": "epoch", "value": str(uuid.uuid4())}
        gone = (*marker.ids(), *self._left_behind())
        self._engine.apply(Batch((Point(_EPOCH_ID, epoch),), tuple(dict.fromkeys(gone))))

    def _left_behind(self) -> list[str]:
        """Records that lack their marker: their publishers died before they applied anything."""
        marks = self._engine.scroll(_MARKS, _MARK_FIELDS)
        known = {mark.payload.get("publication") for mark in marks}
        now = time.time()
        records = self._engine.scroll(_RECORDS, ("publication", "until"))
        return [
            record.id
            for record in records
            if record.payload["publication"] not in known and record.payload["until"] < now
        ]

    def _complete(self, mark: Record) -> None:
        """Bring a publication to its end that its publisher did not.

        Raises:
            StoreError: this reader may not write, or the server fails.
        """
        marker = _Marker(mark.payload["publication"], mark.payload["n_parts"])
        try:
            batch = read_record(self._engine, marker.publication, marker.n_parts, self._where)
            if batch is None:
                self._engine.apply(Batch(deletes=tuple(marker.ids())))
            else:
                self._finish(marker, batch)
        except StoreError as error:
            raise StoreError(
                f"{self._where}: a publication was broken off and could not be completed; whoever "
                f"opens the corpus with a key that may write completes it. {error}"
            ) from error

    def _whole(self, read: Callable[[], Read]) -> Read:
        give_up = time.monotonic() + READ_SECONDS
        while True:
            before = self._state()
            if before is not None:
                found = read()
                if self._state() == before:
                    return found
            if time.monotonic() > give_up:
                raise StoreError(
                    f"{self._where}: something was being published all the time for "
                    f"{READ_SECONDS:g} s; ask again"
                )
            time.sleep(_POLL_SECONDS)

    def _state(self) -> str | None:
        """The epoch; None while a publication is under way."""
        epoch, now = "", time.time()
        for mark in self._engine.scroll(_MARKS, _MARK_FIELDS):
            if mark.payload.get("until", 0.0) > now:
                return None
            if "publication" in mark.payload:
                self._complete(mark)
                return None
            epoch = mark.payload.get("value", epoch)
        if not epoch and self._engine.fetch([_EPOCH_ID], (), dense=False):
            return None  # a copy that has just come back, and finds nothing by a filter
        return epoch

    def fetch(self, ids: Sequence[str], fields: Sequence[str], *, dense: bool) -> list[Record]:
        """The points that exist among ``ids``; only writers ask."""
        return self._engine.fetch(ids, fields, dense=dense)

    def scroll(
        self, condition: Condition, fields: Sequence[str] | None, *, dense: bool = False
    ) -> list[Record]:
        """All points that match."""
        return self._whole(lambda: self._engine.scroll(condition, fields, dense=dense))

    def inspect(self, ids: Sequence[str]) -> list[Record]:
        """The points that exist among ``ids``, whole."""
        return self._whole(lambda: self._engine.inspect(ids))

    def index_scores(self, query: Sparse, /) -> dict[str, float] | None:
        """As the engine does."""
        return self._engine.index_scores(query)

    def search(
        self, queries: Sequence[Asked], limit: int, condition: Condition
    ) -> list[list[Scored]]:
        """Best points for each query."""
        return self._whole(lambda: self._engine.search(queries, limit, condition))

    def outlines(self, queries: Sequence[Asked], limit: int, condition: Condition) -> list[Found]:
        """What ``search`` finds, to be ranked."""
        return self._whole(lambda: self._engine.outlines(queries, limit, condition))

    def count(self, condition: Condition) -> int:
        """Number of points that match."""
        return self._whole(lambda: self._engine.count(condition))

    def flush(self) -> None:
        """As the engine does."""
        self._engine.flush()

    def optimize(self) -> None:
        """As the engine does."""
        self._engine.optimize()

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()
