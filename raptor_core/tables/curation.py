"""The record of what people decided: a table for each act, which is written once and never changed.

So writers never wait for each other, on any place that tables can be at, and a writer that dies has
written its act or not. A place that refuses is a TableError, an act that is damaged, and named, a
DamagedTableError.
"""

from __future__ import annotations

import uuid
from dataclasses import astuple, replace
from datetime import UTC, datetime

from raptor_core.curation import Curation, Decision, Kind
from raptor_core.errors import CurationError
from raptor_core.tables.files import TableStore
from raptor_core.tables.schema import Schema

KEY = ("curation",)
_UNDO = "undo"
_ACTS = Schema(
    ("id", "string", "of the act; sorts by time"),
    ("kind", "string", "document, chunk, summary, pin, finding, or undo"),
    ("tree", "string", "name of the tree"),
    ("subject", "string", "what it is about; of an undo, the act taken back"),
    ("value", "string", "text of a summary; right or wrong"),
    ("about", "string", "the subject in words"),
    ("who", "string", "who decided"),
    ("when", "string", "ISO time, UTC"),
    ("why", "string", "the reason given"),
)


def read_decisions(tables: TableStore) -> list[Decision]:
    """All decisions ever made, oldest first, those that were taken back among them."""
    decisions: dict[str, Decision] = {}
    acts = [row for name in tables.names(KEY) for row in _ACTS.rows(tables.read(KEY, name))]
    for act in sorted(acts):
        decision = Decision(*act)
        if act[1] != _UNDO:
            decisions[decision.id] = decision
        elif decision.subject in decisions:
            why = f": {decision.why}" if decision.why else ""
            told = f"by {decision.who} on {decision.when}{why}"
            decisions[decision.subject] = replace(decisions[decision.subject], undone=told)
    return list(decisions.values())


def read_curation(tables: TableStore) -> Curation:
    """The decisions in force."""
    return Curation(read_decisions(tables))


def decide(
    tables: TableStore,
    kind: Kind,
    tree: str,
    subject: str,
    *,
    who: str,
    value: str = "",
    about: str = "",
    why: str = "",
) -> Decision:
    """Record a decision; it is on disk when this returns."""
    decision = Decision(_new_id(), kind, tree, subject, value, about, who, _now(), why)
    tables.write(KEY, decision.id, _ACTS.table([astuple(decision)[:-1]]))
    return decision


def take_back(tables: TableStore, decision_id: str, *, who: str, why: str = "") -> Decision:
    """Take a decision back; what it was about is then as if it had never been made.

    Raises:
        CurationError: there is no such decision in force.
    """
    in_force = {d.id: d for d in read_decisions(tables) if not d.undone}
    if decision_id not in in_force:
        raise CurationError(
            f"no decision {decision_id!r} is in force; `raptor curate list` shows them all"
        )
    act = (_new_id(), _UNDO, in_force[decision_id].tree, decision_id, "", "", who, _now(), why)
    tables.write(KEY, act[0], _ACTS.table([act]))
    return in_force[decision_id]


def tree_of_act(tables: TableStore, act: str) -> str:
    """Name of the tree that an act is about."""
    (row,) = _ACTS.rows(tables.read(KEY, act))
    return str(row[2])


def _new_id() -> str:
    return f"{datetime.now(UTC):%Y%m%dt%H%M%S%f}-{uuid.uuid4().hex[:8]}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
