"""What people decided: texts set aside, summaries corrected or pinned, findings marked.

A decision names its subject by content, never by a place: its subject may vanish and come back, and
it is then in force again. It is an input of a build like the documents: a tree whose decisions
changed is due, and so is all that stands above a changed text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from raptor_core.identity import digest, summary_content_key
from raptor_core.vectors import Vectors

Kind = Literal["document", "chunk", "summary", "pin", "finding"]
"""What it does: sets a document or a chunk aside, corrects a summary, pins one, marks a finding."""

RIGHT, WRONG = "right", "wrong"
"""Values of a marked finding: the sentence is unsupported, as the judge says; or it is not."""

CURATED = "curated"
"""Stands in the quality of a summary whose text people gave."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of a person.

    Attributes:
        id: orders decisions by time, and is unique.
        kind: what it does.
        tree: name of the tree that it concerns.
        subject: what it is about; see ``subject_of_summary`` and ``subject_of_finding``; the id of
            a document or of a leaf; the slot of a pinned summary.
        value: the summary's text, or "right" or "wrong"; empty for what is set aside.
        about: the subject in words, for people.
        who: who decided.
        when: ISO time, UTC.
        why: the reason given.
        undone: who took it back, and when; empty while it is in force.
    """

    id: str
    kind: Kind
    tree: str
    subject: str
    value: str
    about: str
    who: str
    when: str
    why: str
    undone: str = ""

    @property
    def content_key(self) -> str:
        """Content key of the summary that it corrects or pins, with the text that it gives."""
        return digest("curated", self.kind, self.tree, self.subject, self.value)


class Curation:
    """The ``decisions`` in force; of several on one subject the last one counts.

    Args:
        decisions: in the order of their making; those that were taken back are passed over.
    """

    def __init__(self, decisions: Iterable[Decision] = ()) -> None:
        self._by_subject: dict[tuple[str, str, str], Decision] = {
            (d.kind, d.tree, d.subject): d for d in decisions if not d.undone
        }
        self.decisions = tuple(self._by_subject.values())

    @cached_property
    def documents(self) -> frozenset[str]:
        """Ids of the documents that are set aside."""
        return frozenset(d.subject for d in self.decisions if d.kind == "document")

    @cached_property
    def chunks(self) -> frozenset[str]:
        """Ids of the leaves that are set aside."""
        return frozenset(d.subject for d in self.decisions if d.kind == "chunk")

    def summary(self, tree: str, child_keys: Sequence[str], slot: str) -> Decision | None:
        """The decision that gives a summary its text; a correction goes before a pin."""
        corrected = self._by_subject.get(("summary", tree, subject_of_summary(child_keys)))
        return corrected or self._by_subject.get(("pin", tree, slot))

    def mark(self, node_id: str, sentence: str) -> Decision | None:
        """The decision on a finding."""
        return self._marks.get(subject_of_finding(node_id, sentence)) if self._marks else None

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """Texts of corrected and pinned summaries, see ``raptor_core.tree.cache.Known``."""
        return {key: self._texts[key] for key in content_keys if key in self._texts}

    def vectors(self, _embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """None: people give texts."""
        return {}

    def digest(self, tree: str) -> str:
        """Digest of all decisions on a tree; empty where there is none."""
        rows = sorted(
            (d.kind, d.subject, d.value)
            for d in self.decisions
            if d.tree == tree and d.kind != "document"
        )
        return digest("curation", json.dumps(rows)) if rows else ""

    @cached_property
    def _marks(self) -> dict[str, Decision]:
        return {d.subject: d for d in self.decisions if d.kind == "finding"}

    @cached_property
    def _texts(self) -> dict[str, str]:
        kinds = ("summary", "pin")
        return {d.content_key: d.value for d in self.decisions if d.kind in kinds}


def subject_of_summary(child_keys: Iterable[str]) -> str:
    """Subject of a correction: the content keys of the summary's children, as a set.

    What wrote the text that was corrected is no part of it: another model's text is corrected too.
    """
    return summary_content_key(child_keys, "curated")


def subject_of_finding(node_id: str, sentence: str) -> str:
    """Subject of a mark: a sentence of a summary."""
    return digest("finding", node_id, sentence)
