"""Two publishers of one tree on a server: the second finds the first, or what it left.

Each writes its marker before it looks, so of two at the same time at least one sees the other.
"""

from __future__ import annotations

from raptor_core.store.engine import Batch, Condition, Engine, Match

_MARKERS = Condition((Match("state", ("publishing",)),))
_AT_ONCE = 1000


def is_contested(engine: Engine, publication: str, batch: Batch) -> bool:
    """Whether another publication changes a tree of the batch, or did since the batch was made.

    ``publication`` is the batch's own, whose marker is written.
    """
    own = dict(batch.replaces)
    for marker in engine.scroll(_MARKERS, ("publication", "replaces")):
        others = marker.payload.get("replaces", ())
        if marker.payload["publication"] != publication and not own.keys().isdisjoint(others):
            return True
    ids = list(own)
    for at in range(0, len(ids), _AT_ONCE):
        part = ids[at : at + _AT_ONCE]
        found = {r.id: r.payload.get("mark") for r in engine.fetch(part, ("mark",), dense=False)}
        if any(found.get(point_id) != own[point_id] for point_id in part):
            return True
    return False
