"""What tells that a stored point is not what was written: no engine says so of every changed byte.

A node is held against its digest, and a vector against its length.
"""

from __future__ import annotations

import numpy as np

from raptor_core.errors import DamagedTreeError
from raptor_core.nodes import Node
from raptor_core.store.engine import LIVE, MANIFEST, Condition, Engine, Record
from raptor_core.store.payload import payload_to_manifest, payload_to_node
from raptor_core.vectors import Vectors

UNIT_TOLERANCE = 1e-3
"""How far from 1 the length of a vector may be that is let in."""

_STORED_TOLERANCE = UNIT_TOLERANCE + 1e-6
"""With rounding: Edge stores a vector with length 1 within 5e-7, local mode just as it came."""

READ_POINTS = 1000
"""Points that are read at once."""


def sound_vector(record: Record) -> Vectors | None:
    """The vector of a point that was read with it; None where it is damaged."""
    if record.dense is None:
        return None
    length = float(np.linalg.norm(record.dense.astype(np.float64)))
    return record.dense if abs(length - 1) <= _STORED_TOLERANCE else None


def whole_node(record: Record) -> Node | None:
    """The node of a point that was read whole; None where it is damaged."""
    try:
        return payload_to_node(record.payload)
    except DamagedTreeError:
        return None


def damaged_points(engine: Engine) -> list[str]:
    """Ids of published points that are not what was written, sorted; every one is read."""
    found = [r.id for r in engine.scroll(Condition((MANIFEST,)), None) if not _is_manifest(r)]
    ids = [record.id for record in engine.scroll(Condition((LIVE,)), ("state",))]
    for at in range(0, len(ids), READ_POINTS):
        part = Condition((LIVE,), tuple(ids[at : at + READ_POINTS]))
        found += [r.id for r in engine.scroll(part, None, dense=True) if not _is_node(r)]
    return sorted(found)


def _is_node(record: Record) -> bool:
    node = whole_node(record)
    if node is None or node.id != record.id:
        return False
    return not record.payload.get("embedded", True) or sound_vector(record) is not None


def _is_manifest(record: Record) -> bool:
    try:
        payload_to_manifest(record.payload)
    except DamagedTreeError:
        return False
    return True
