"""Payloads as Edge stores them: few fields.

Every value costs time to hand over to the engine, and every index time to write and to open. So
``keys`` holds what is filtered, as "field=value" under one index; ``rest`` is the whole payload as
JSON; and the fields that are read alone stand beside it (``ALONE``).

``outline`` is what ranks a live node (``Candidate``), with a checksum of its own: a search reads
that of hundreds of nodes, and the whole of those that it returns. Points of earlier versions have
none, and are read whole.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from zlib import crc32

from raptor_core.nodes import Node
from raptor_core.store.candidates import Candidate, candidate_of
from raptor_core.store.damage import CHECK
from raptor_core.store.engine import KEYWORD_FIELDS, Match, Payload
from raptor_core.store.payload import damaged, payload_to_node

KEYS = "keys"
REST = "rest"
OUTLINE = "outline"
ALONE = ("state", "digest", "embedded", "embedding_key", "mark", CHECK)
_OUTLINED = (
    "node_id",
    "tree",
    "layer",
    "position",
    "n_tokens",
    "documents",
    "children",
    "section",
)
_CHECK_CHARS = 8
_FILTERED = (*KEYWORD_FIELDS, "layer")
_decoded = json.JSONDecoder().raw_decode
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def pack(payload: Payload) -> Payload:
    """The fields that are stored for a payload."""
    packed: Payload = {name: payload[name] for name in ALONE if name in payload}
    packed[KEYS] = [key for name in _FILTERED for key in _payload_keys(payload, name)]
    packed[REST] = _ENCODER.encode(payload)
    if payload["state"] == "live":
        packed[OUTLINE] = _outline(payload)
    return packed


def _outline(payload: Payload) -> str:
    encoded = _ENCODER.encode([payload[name] for name in _OUTLINED])
    return _check(encoded) + encoded


def _check(encoded: str) -> str:
    return f"{crc32(encoded.encode()):0{_CHECK_CHARS}x}"


def _payload_keys(payload: Payload, field: str) -> list[str]:
    if field not in payload:
        return []
    value = payload[field]
    return [f"{field}={v}" for v in (value if isinstance(value, list) else (value,))]


def match_keys(match: Match) -> list[str]:
    """Keys of which a point that matches has one."""
    return [f"{match.field}={value}" for value in match.values]


def stored_fields(fields: Sequence[str] | None) -> list[str]:
    """Stored fields that hold the given fields of a payload, None for all of it."""
    return list(fields) if fields is not None and set(fields) <= set(ALONE) else [REST]


def unpack_candidate(stored: Payload) -> Candidate:
    """What ranks a live point that was read whole.

    Raises:
        DamagedTreeError: it is not what was written.
    """
    outline = stored.get(OUTLINE)
    if outline is None:
        return candidate_of(payload_to_node(_whole(stored)))
    if not isinstance(outline, str) or outline[:_CHECK_CHARS] != _check(outline[_CHECK_CHARS:]):
        raise damaged(_whole(stored))
    name, tree, layer, position, n_tokens, documents, children, section = _decoded(
        outline, _CHECK_CHARS
    )[0]
    return Candidate(
        name,
        tree,
        layer,
        position,
        n_tokens,
        tuple(documents),
        tuple(children),
        tuple(section),
        _Unread(stored).node,
    )


class _Unread:
    """A live point as it is stored, until its node is asked for."""

    __slots__ = ("_node", "_rest")

    def __init__(self, stored: Payload) -> None:
        self._rest: Any = stored.get(REST)
        self._node: Node | None = None

    def node(self) -> Node:
        """The node, which is kept.

        Raises:
            DamagedTreeError: it is not what was written.
        """
        if self._node is None:
            self._node = payload_to_node(_whole({REST: self._rest}))
            self._rest = None
        return self._node


def unpack(stored: Payload) -> Payload:
    """The payload, or of it what was read alone."""
    return _whole(stored) if REST in stored else stored


def unpack_agreed(stored: Payload) -> Payload:
    """The payload; nothing where what stands beside it is not what it says."""
    payload = _whole(stored)
    if "state" not in payload:
        return {}
    try:
        packed = pack(payload)
    except (KeyError, TypeError, ValueError):
        return {}
    if OUTLINE not in stored:
        packed.pop(OUTLINE, None)
    return payload if packed == stored else {}


def _whole(stored: Payload) -> Payload:
    """The payload; of one that is damaged nothing, which whoever needs its fields refuses."""
    try:
        payload = json.loads(stored[REST])
    except (KeyError, TypeError, ValueError):
        return {}
    return payload if isinstance(payload, dict) else {}
