"""Storage of people's decisions: one immutable table per act.

An act is a decision, or the undoing of one. Writers need no lock, and a writer that dies has either
written its act or not. Functions raise TableError if the storage cannot be accessed, and
DamagedTableError for a damaged act. The values are in ``raptor_core.curation``.
"""

import uuid
from dataclasses import astuple, replace
from datetime import UTC, datetime

from raptor_core.curation import Curation, Decision, Kind
from raptor_core.errors import CurationError
from raptor_core.tables.files import TableStore
from raptor_core.tables.schema import Schema

KEY = ("curation",)
UNDO = "undo"
ACTS = Schema(
    ("id", "string", "of the act; sorts by time"),
    ("kind", "string", "document, chunk, summary, finding, or undo"),
    ("tree", "string", "name of the tree"),
    ("subject", "string", "subject of the decision; of an undo, the id of the undone act"),
    ("value", "string", "text of a summary; right or wrong"),
    ("about", "string", "the subject in words"),
    ("who", "string", "who decided"),
    ("when", "string", "ISO time, UTC"),
    ("why", "string", "the reason given"),
    ("documents", "list[string]", "the documents under the subject"),
)
"""Columns of an act; its table has one row and is named by the act's id."""


def read_decisions(tables: TableStore) -> list[Decision]:
    """Return all decisions, oldest first, including undone ones."""
    decisions: dict[str, Decision] = {}
    acts = [row for name in tables.partitions(KEY) for row in ACTS.rows(tables.read(KEY, name))]
    for act in sorted(acts):
        decision = Decision(*act)
        if act[1] != UNDO:
            decisions[decision.id] = decision
        elif decision.subject in decisions:
            why = f": {decision.why}" if decision.why else ""
            undone = f"by {decision.who} on {decision.when}{why}"
            decisions[decision.subject] = replace(decisions[decision.subject], undone=undone)
    return list(decisions.values())


def read_curation(tables: TableStore) -> Curation:
    """Return the decisions that apply."""
    return Curation(read_decisions(tables))


def record_decision(
    tables: TableStore,
    kind: Kind,
    tree: str,
    subject: str,
    *,
    who: str,
    documents: tuple[str, ...],
    value: str = "",
    about: str = "",
    why: str = "",
) -> Decision:
    """Record a decision durably and return it."""
    decision = Decision(_new_id(), kind, tree, subject, value, about, who, _now(), why, documents)
    tables.write(KEY, decision.id, ACTS.to_table([astuple(decision)[:-1]]))
    return decision


def undo_decision(tables: TableStore, decision_id: str, *, who: str, why: str = "") -> Decision:
    """Undo a decision and return it; raise CurationError if it does not apply."""
    in_force = {d.id: d for d in read_decisions(tables) if not d.undone}
    if decision_id not in in_force:
        raise not_in_force_error(decision_id)
    tree = in_force[decision_id].tree
    act = (_new_id(), UNDO, tree, decision_id, "", "", who, _now(), why, ())
    tables.write(KEY, act[0], ACTS.to_table([act]))
    return in_force[decision_id]


def not_in_force_error(decision_id: str) -> CurationError:
    """Return the error for a decision that does not exist or was undone."""
    return CurationError(
        f"no decision {decision_id!r} is in force; `raptor curate list` shows them all"
    )


def documents_by_decision(tables: TableStore) -> dict[str, tuple[str, ...]]:
    """Return the documents of each act by its id; those of an undo are those of what it undoes."""
    acts = {
        row[0]: row for name in tables.partitions(KEY) for row in ACTS.rows(tables.read(KEY, name))
    }
    return {
        name: tuple(acts.get(row[3] if row[1] == UNDO else name, row)[-1])
        for name, row in acts.items()
    }


def _new_id() -> str:
    return f"{datetime.now(UTC):%Y%m%dt%H%M%S%f}-{uuid.uuid4().hex[:8]}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
