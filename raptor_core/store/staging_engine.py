"""An embedded engine and the file of what is staged (``staging.py``) as one engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from raptor_core.store.engine import Asked, Batch, Condition, Engine, Record, Scored
from raptor_core.store.lexical import Sparse
from raptor_core.store.outlines import Found
from raptor_core.store.staging import StagedPoints


class StagingEngine:
    """An engine whose staged points lie in a file of their own."""

    def __init__(self, engine: Engine, path: Path) -> None:
        self._engine = engine
        self._staged = StagedPoints(path)

    def apply(self, batch: Batch) -> None:
        """Write and delete, in this order, each point where it belongs."""
        staged = [p for p in batch.upserts if p.payload["state"] == "staged"]
        others = tuple(p for p in batch.upserts if p.payload["state"] != "staged")
        if staged:
            self._staged.write(staged)
        held = self._staged.delete(batch.deletes) if batch.deletes else set()
        deletes = tuple(point_id for point_id in batch.deletes if point_id not in held)
        if others or deletes:
            self._engine.apply(Batch(others, deletes))

    def fetch(self, ids: Sequence[str], fields: Sequence[str], *, dense: bool) -> list[Record]:
        """The points that exist among ``ids``."""
        found = self._staged.read("id", ids, fields, dense=dense)
        held = {record.id for record in found}
        rest = [point_id for point_id in ids if point_id not in held]
        return found + (self._engine.fetch(rest, fields, dense=dense) if rest else [])

    def scroll(
        self, condition: Condition, fields: Sequence[str] | None, *, dense: bool = False
    ) -> list[Record]:
        """All points that match; staged ones by one of their columns."""
        found = self._engine.scroll(condition, fields, dense=dense)
        states = [match.values for match in condition.matches if match.field == "state"]
        if any("staged" not in values for values in states):
            return found
        given = [match for match in condition.matches if match.field != "state"]
        if not given:
            return found + self._staged.read(None, (), fields, dense=dense)
        values = [str(value) for value in given[0].values]
        return found + self._staged.read(given[0].field, values, fields, dense=dense)

    def inspect(self, ids: Sequence[str]) -> list[Record]:
        """The engine's; only published points are inspected."""
        return self._engine.inspect(ids)

    def index_scores(self, query: Sparse, /) -> dict[str, float] | None:
        """The engine's."""
        return self._engine.index_scores(query)

    def search(
        self, queries: Sequence[Asked], limit: int, condition: Condition
    ) -> list[list[Scored]]:
        """The engine's; staged points are never searched."""
        return self._engine.search(queries, limit, condition)

    def outlines(self, queries: Sequence[Asked], limit: int, condition: Condition) -> list[Found]:
        """The engine's."""
        return self._engine.outlines(queries, limit, condition)

    def count(self, condition: Condition) -> int:
        """The engine's; staged points are never counted."""
        return self._engine.count(condition)

    def flush(self) -> None:
        """Make everything that was applied survive a loss of power."""
        self._staged.flush()
        self._engine.flush()

    def optimize(self) -> None:
        """As the engine does; an empty file gives its space back."""
        self._staged.compact()
        self._engine.optimize()

    def close(self) -> None:
        """Release the file and the engine."""
        try:
            self._staged.close()
        finally:
            self._engine.close()
