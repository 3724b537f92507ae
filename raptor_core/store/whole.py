"""Whole publications for readers of a server, which applies a batch point by point.

A publisher first writes a marker for its publication, then the batch, then a new *epoch* and the
marker's removal. A read looks at markers and epoch before and after itself: without a marker and
with one epoch no publication was under way, so what was read is of one state; else it is read
again. A marker also says until when it counts, so that a publisher that died holds nobody up for
long: the server applies its batch, or none of it, without it.

Every call sees one state; two calls may see two. Clocks that differ by more than the seconds of a
marker, and replicas that lag behind (``consistency`` of the server), weaken this.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from typing import TypeVar

from raptor_core.errors import StoreError
from raptor_core.identity import NODE_NAMESPACE
from raptor_core.store.engine import Batch, Condition, Engine, Match, Point, Record, Scored
from raptor_core.store.lexical import Sparse
from raptor_core.vectors import Vectors

MARKER_SECONDS = 30.0
"""How long a marker counts: longer than a server takes for the largest request."""

READ_SECONDS = 60.0
"""How long a read goes on trying."""

_POLL_SECONDS = 0.02
_EPOCH_ID = str(uuid.uuid5(NODE_NAMESPACE, "epoch"))
_MARKS = Condition((Match("state", ("publishing", "epoch")),))

Read = TypeVar("Read")


class WholeEngine:
    """An engine whose reads see a publication whole or not at all."""

    def __init__(self, engine: Engine, where: str) -> None:
        self._engine = engine
        self._where = where

    def apply(self, batch: Batch) -> None:
        """Write and delete; what is only staged concerns no reader and takes one request."""
        if not batch.deletes and all(p.payload["state"] == "staged" for p in batch.upserts):
            self._engine.apply(batch)
            return
        marker = {"state": "publishing", "until": time.time() + MARKER_SECONDS}
        marker_id, epoch = str(uuid.uuid4()), {"state": "epoch", "value": str(uuid.uuid4())}
        self._engine.apply(Batch((Point(marker_id, marker),)))
        self._engine.apply(batch)
        self._engine.apply(Batch((Point(_EPOCH_ID, epoch),), (marker_id, *self._outdated())))

    def _outdated(self) -> list[str]:
        marks = self._engine.scroll(_MARKS, ("until",))
        return [m.id for m in marks if m.payload.get("until", float("inf")) < time.time()]

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
        for mark in self._engine.scroll(_MARKS, ("until", "value")):
            if mark.payload.get("until", 0.0) > now:
                return None
            epoch = mark.payload.get("value", epoch)
        return epoch

    def fetch(self, ids: Sequence[str], fields: Sequence[str], *, dense: bool) -> list[Record]:
        """The points that exist among ``ids``; only writers ask."""
        return self._engine.fetch(ids, fields, dense=dense)

    def scroll(
        self, condition: Condition, fields: Sequence[str] | None, *, dense: bool = False
    ) -> list[Record]:
        """All points that match."""
        return self._whole(lambda: self._engine.scroll(condition, fields, dense=dense))

    def search(self, vectors: Vectors, limit: int, condition: Condition) -> list[list[Scored]]:
        """Best points for each row."""
        return self._whole(lambda: self._engine.search(vectors, limit, condition))

    def search_lexical(
        self, queries: Sequence[Sparse], limit: int, condition: Condition
    ) -> list[list[Scored]]:
        """Best points for each sparse query."""
        return self._whole(lambda: self._engine.search_lexical(queries, limit, condition))

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
