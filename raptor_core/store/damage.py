"""What tells that a stored point is not what was written: no engine says so of every changed byte.

A node is held against its digest, a vector against its length: one that is still a unit vector
within ``UNIT_TOLERANCE`` changed too little to matter.
"""

from __future__ import annotations

import numpy as np

from raptor_core.errors import DamagedTreeError
from raptor_core.nodes import Node
from raptor_core.store.engine import Record
from raptor_core.store.payload import payload_to_manifest, payload_to_node
from raptor_core.vectors import Vectors

UNIT_TOLERANCE = 1e-2
"""More than what a store's number types and quantization change."""


def is_unit(vector: Vectors) -> bool:
    """Whether a vector that was stored with length 1 still has it."""
    return bool(abs(float(np.linalg.norm(vector.astype(np.float64))) - 1) <= UNIT_TOLERANCE)


def whole_node(record: Record) -> Node | None:
    """The node of a point that was read whole; None where it is damaged."""
    try:
        return payload_to_node(record.payload)
    except DamagedTreeError:
        return None


def is_damaged(record: Record) -> bool:
    """Whether a published point, read whole and with its vector, is not what was written."""
    if record.payload.get("state") == "manifest":
        return _is_damaged_manifest(record)
    if whole_node(record) is None:
        return True
    return bool(record.payload["embedded"]) and (record.dense is None or not is_unit(record.dense))


def _is_damaged_manifest(record: Record) -> bool:
    try:
        payload_to_manifest(record.payload)
    except DamagedTreeError:
        return True
    return False
