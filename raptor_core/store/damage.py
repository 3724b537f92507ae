"""What tells that a stored point is not what was written: no engine says so of every changed byte.

A node is held against its digest, a vector against its length and its check value, the words of a
node against its text.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from raptor_core.errors import DamagedTreeError
from raptor_core.nodes import Node
from raptor_core.store.engine import Record
from raptor_core.store.lexical import Sparse, passage_vector
from raptor_core.store.payload import Payload, node_digest, payload_to_manifest, payload_to_node
from raptor_core.vectors import Vectors

UNIT_TOLERANCE = 1.001e-3
"""What is let in (``publication.UNIT_TOLERANCE``), and rounding. Edge stores a vector with length 1
within 5e-7, local mode just as it came."""

CHECK = "vector_check"
"""Payload field of a vector's check value; points of earlier versions have none."""

_CHECKS_PER_UNIT = 1e6
_CHECK_TOLERANCE = 5
"""Of the check value. Storing a vector changes it by 0.1 at the most, and rounding by 1."""

_WEIGHT_TOLERANCE = 1e-6
"""Of the weight of a word, which is stored with 32 bits."""


def vector_check(vector: Vectors) -> int:
    """Check value of a vector, shape ``(n_dims,)``: its components added up with fixed signs.

    In millionths of its length, so that an engine may divide by that. A component that changes by
    more than a few millionths changes it; so do several, unless they cancel out under signs that
    are as good as random.
    """
    exact = vector.astype(np.float64)
    return round(_CHECKS_PER_UNIT * float(exact @ _signs(len(exact)) / np.linalg.norm(exact)))


@lru_cache(maxsize=8)
def _signs(n_dims: int) -> NDArray[np.float64]:
    drawn = hashlib.shake_256(b"signs of a check value").digest(-(-n_dims // 8))
    bits = np.unpackbits(np.frombuffer(drawn, dtype=np.uint8))[:n_dims]
    return np.where(bits, -1.0, 1.0)


def checked_payload(payload: Payload, dense: Vectors | None) -> Payload:
    """The payload with whether the point has its vector, and with its check value."""
    if dense is None:
        return {**payload, "embedded": False}
    return {**payload, "embedded": True, CHECK: vector_check(dense)}


def is_unit(vector: Vectors) -> bool:
    """Whether a vector that was stored with length 1 still has it."""
    return bool(abs(float(np.linalg.norm(vector.astype(np.float64))) - 1) <= UNIT_TOLERANCE)


def sound_vector(record: Record) -> Vectors | None:
    """The vector of a point that was read with its check value; None where it is damaged."""
    vector, check = record.dense, record.payload.get(CHECK)
    if vector is None or not is_unit(vector):
        return None
    if check is not None and abs(vector_check(vector) - check) > _CHECK_TOLERANCE:
        return None
    return vector


def whole_node(record: Record) -> Node | None:
    """The node of a point that was read whole; None where it is damaged."""
    try:
        return payload_to_node(record.payload)
    except DamagedTreeError:
        return None


def is_damaged(record: Record) -> bool:
    """Whether a published point, read whole and with its vectors, is not what was written."""
    if record.payload.get("state") == "manifest":
        return _is_damaged_manifest(record)
    node = whole_node(record)
    if node is None or node.id != record.id:
        return True
    if not record.payload["embedded"]:
        return False
    return sound_vector(record) is None or not _has_words(record, node)


def _is_damaged_manifest(record: Record) -> bool:
    try:
        payload_to_manifest(record.payload)
    except DamagedTreeError:
        return True
    return False


def _has_words(record: Record, node: Node) -> bool:
    """Whether a node's words are stored; those of an earlier version are not looked at."""
    if _same(record.lexical, passage_vector(node.text)):
        return True
    return bool(record.payload["digest"] != node_digest(node))


def _same(stored: Sparse | None, written: Sparse | None) -> bool:
    if stored is None or written is None:
        return stored is written
    if stored.indices != written.indices:
        return False
    differences = np.subtract(stored.values, written.values)
    return bool(np.all(np.abs(differences) <= _WEIGHT_TOLERANCE))
