"""Payloads as Edge stores them: few fields.

Every value costs time to hand over to the engine, and every index time to write and to open. So
``keys`` holds what is filtered, as "field=value" under one index; ``rest`` is the whole payload as
JSON; and the fields that are read alone stand beside it (``ALONE``).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from raptor_core.store.damage import CHECK
from raptor_core.store.engine import KEYWORD_FIELDS, Match
from raptor_core.store.payload import Payload

KEYS = "keys"
REST = "rest"
ALONE = ("state", "digest", "embedded", "embedding_key", "mark", CHECK)
_OF_BEFORE = "outline"
"""A field of points that the version before wrote; ``outlines.py`` has what it held."""

_FILTERED = (*KEYWORD_FIELDS, "layer")
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def pack(payload: Payload) -> Payload:
    """The fields that are stored for a payload."""
    packed: Payload = {name: payload[name] for name in ALONE if name in payload}
    packed[KEYS] = [key for name in _FILTERED for key in _payload_keys(payload, name)]
    packed[REST] = _ENCODER.encode(payload)
    return packed


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
    kept = {name: value for name, value in stored.items() if name != _OF_BEFORE}
    return payload if packed == kept else {}


def _whole(stored: Payload) -> Payload:
    """The payload; of one that is damaged nothing, which whoever needs its fields refuses."""
    try:
        payload = json.loads(stored[REST])
    except (KeyError, TypeError, ValueError):
        return {}
    return payload if isinstance(payload, dict) else {}
