"""People's decisions: texts to set aside, corrected summaries, and judged findings.

A decision names its subject by its documents and its content, never by a tree. So it still applies
after the subject disappears and returns, or after the tree gets other readers and therefore another
name. It never applies to the same text in another document, which its author may not be allowed to
read. Decisions are inputs of a build, like documents: a changed decision makes its tree stale, with
all summaries above a changed text. ``raptor_core.tables.curation`` stores them.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from raptor_core.identity import digest, summary_content_key
from raptor_core.vectors import Vectors

Kind = Literal["document", "chunk", "summary", "finding"]
"""Effect of a decision: set a document or chunk aside, correct a summary, judge a finding."""

RIGHT, WRONG = "right", "wrong"
"""Values of a decision on a finding: "unsupported" is right or wrong."""

CURATED = "curated"
"""Mark of a summary whose text a person wrote."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision on a document, chunk, summary or finding.

    Attributes:
        id: unique id; ids sort in the order of the decisions.
        kind: effect of the decision.
        tree: name of the tree at that time, for display only.
        subject: id of a document, or a value of ``subject_of_chunk``, ``subject_of_summary`` or
            ``subject_of_finding``.
        value: corrected text, "right" or "wrong"; empty if the subject is set aside.
        about: description of the subject, for display only.
        who: person who decided.
        when: ISO 8601 time in UTC.
        why: reason.
        documents: ids of all documents under the subject. A caller sees the decision if the caller
            may read all of them; only operators see one without documents.
        undone: person who reverted it, and the time; empty while it applies.
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
    documents: tuple[str, ...]
    undone: str = ""

    @property
    def corrected_content_key(self) -> str:
        """Content key of the corrected summary with the decision's text."""
        return digest("curated", self.kind, self.subject, self.value)


class Curation:
    """The decisions that apply: the last one on each subject, without reverted ones.

    Args:
        decisions: all decisions, oldest first.
    """

    def __init__(self, decisions: Iterable[Decision] = ()) -> None:
        self._by_subject: dict[tuple[str, str], Decision] = {
            (d.kind, d.subject): d for d in decisions if not d.undone
        }
        self.decisions = tuple(self._by_subject.values())

    @cached_property
    def set_aside_documents(self) -> frozenset[str]:
        """Ids of documents that are set aside."""
        return frozenset(d.subject for d in self.decisions if d.kind == "document")

    @cached_property
    def set_aside_chunk_subjects(self) -> frozenset[str]:
        """Subjects of chunks that are set aside."""
        return frozenset(d.subject for d in self.decisions if d.kind == "chunk")

    @cached_property
    def documents_with_excluded_chunks(self) -> frozenset[str]:
        """Ids of documents with excluded chunks."""
        chunks = (d for d in self.decisions if d.kind == "chunk")
        return frozenset(name for decision in chunks for name in decision.documents)

    def excludes_chunk(self, document: str, content_key: str) -> bool:
        """Return whether a chunk is set aside."""
        return (
            bool(self.set_aside_chunk_subjects)
            and subject_of_chunk(document, content_key) in self.set_aside_chunk_subjects
        )

    def summary_decision(
        self, documents: Sequence[str], child_keys: Sequence[str]
    ) -> Decision | None:
        """Return the decision on the text of a summary over these documents and children."""
        return self._by_subject.get(("summary", subject_of_summary(documents, child_keys)))

    def finding_decision(self, node_id: str, sentence: str) -> Decision | None:
        """Return the decision on a finding."""
        return (
            self._finding_decisions.get(subject_of_finding(node_id, sentence))
            if self._finding_decisions
            else None
        )

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """Return the texts of corrected summaries by content key; see ``KnownContent.texts``."""
        return {
            key: self._corrected_texts[key] for key in content_keys if key in self._corrected_texts
        }

    def vectors(self, _embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """Return no vectors, because decisions contain only texts."""
        return {}

    def digest(self, documents: Collection[str]) -> str:
        """Return a digest of all decisions on a tree of these documents, or "" if there are none.

        A decision on a whole document is not included; it changes which documents a tree has.
        """
        ids = set(documents)
        rows = sorted(
            (d.kind, d.subject, d.value)
            for document in ids
            for d in self._part_decisions_by_document.get(document, ())
            if ids.issuperset(d.documents)
        )
        return digest("curation", json.dumps(rows)) if rows else ""

    @cached_property
    def _part_decisions_by_document(self) -> dict[str, list[Decision]]:
        """Decisions on chunks, summaries and findings, by the first of their documents."""
        decisions: dict[str, list[Decision]] = {}
        for decision in self.decisions:
            if decision.documents and decision.kind != "document":
                decisions.setdefault(decision.documents[0], []).append(decision)
        return decisions

    @cached_property
    def _finding_decisions(self) -> dict[str, Decision]:
        return {d.subject: d for d in self.decisions if d.kind == "finding"}

    @cached_property
    def _corrected_texts(self) -> dict[str, str]:
        return {d.corrected_content_key: d.value for d in self.decisions if d.kind == "summary"}


def subject_of_chunk(document: str, content_key: str) -> str:
    """Return the subject of a decision to set a chunk aside."""
    return digest("chunk", document, content_key)


def subject_of_summary(documents: Iterable[str], child_keys: Iterable[str]) -> str:
    """Return the subject of a correction: a digest of the summary's documents and children.

    The summarizer is not included, so the correction also applies to another model's text.
    """
    return digest("corrected", summary_content_key(child_keys, ""), *sorted(documents))


def subject_of_finding(node_id: str, sentence: str) -> str:
    """Return the subject of a decision on the finding for a summary's sentence."""
    return digest("finding", node_id, sentence)
