"""Payloads as Edge stores them: few fields.

Every value costs time to hand over to the engine, and every index time to write and to open. So
``keys`` holds what is filtered, as "field=value" under one index; ``rest`` is the whole payload as
JSON; and the fields that are read alone stand beside it (``ALONE``).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from raptor_core.store.engine import KEYWORD_FIELDS, Match
from raptor_core.store.payload import Payload

KEYS = "keys"
REST = "rest"
ALONE = ("state", "digest", "embedded", "embedding_key", "mark")
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
    """The payload, or of it what was read alone.

    Of one that is damaged it is empty, which whoever needs its fields refuses.
    """
    if REST not in stored:
        return stored
    try:
        payload = json.loads(stored[REST])
    except (TypeError, ValueError):
        return {}
    return payload if isinstance(payload, dict) else {}
