"""Filters of the contract as conditions on payloads."""

from __future__ import annotations

import uuid

from raptor_core.store.base import Where
from raptor_core.store.engine import Condition, Match
from raptor_core.store.payload import fact

EVERYWHERE = Where()
"""The filter that every live node passes."""

LIVE = Match("state", ("live",))
MANIFEST = Match("state", ("manifest",))


def live_condition(where: Where) -> Condition | None:
    """Condition for live nodes that match; None when nothing can.

    An id that is no UUID in canonical form belongs to no node.
    """
    ids = None if where.ids is None else tuple(i for i in dict.fromkeys(where.ids) if _is_id(i))
    given = (where.trees, where.documents, where.layers, ids)
    if any(values is not None and not values for values in given):
        return None
    matches = [LIVE]
    if where.trees is not None:
        matches.append(Match("tree", tuple(dict.fromkeys(where.trees))))
    if where.documents is not None:
        matches.append(Match("documents", tuple(dict.fromkeys(where.documents))))
    if where.layers is not None:
        matches.append(Match("layer", tuple(dict.fromkeys(where.layers))))
    for key, value in where.metadata.items():
        values = value if isinstance(value, tuple) else (value,)
        matches.append(Match("facts", tuple(dict.fromkeys(fact(key, one) for one in values))))
    return Condition(tuple(matches), ids)


def _is_id(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False
