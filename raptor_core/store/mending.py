"""Every published point read and held against what was written: what ``VectorStore.mend`` finds."""

from __future__ import annotations

from raptor_core.store.conditions import PUBLISHED
from raptor_core.store.damage import is_damaged
from raptor_core.store.engine import Condition, Engine

READ_POINTS = 1000
"""Points that are read at once."""


def damaged_points(engine: Engine) -> list[str]:
    """Ids of published points that are not what was written, sorted."""
    ids = [record.id for record in engine.scroll(Condition((PUBLISHED,)), ("state",))]
    parts = (ids[at : at + READ_POINTS] for at in range(0, len(ids), READ_POINTS))
    read = (record for part in parts for record in engine.inspect(part))
    return sorted(record.id for record in read if is_damaged(record))
