"""Findings of an audit, and the interface of a judge."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from raptor_core.chunking.sentences import sentences
from raptor_core.nodes import Node

Judgement = Literal["supported", "unsupported", "not judged"]


@dataclass(frozen=True, slots=True)
class SentenceFinding:
    """Finding on one sentence of a summary, judged against the node's children.

    Attributes:
        judgement: "not judged" if the model gave no usable answer.
        score: support in [0, 1] on the judge's scale; 0 if it was not judged.
        missing: words of the sentence that no child holds.
        evidence_child: id of the child that supports it best, or None.
        evidence: passage of that child, verbatim; empty if the judge names none.
        reason: why it is not supported or not judged, in words; may be empty.
    """

    node_id: str
    sentence: str
    judgement: Judgement
    score: float
    missing: tuple[str, ...] = ()
    evidence_child: str | None = None
    evidence: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class NamedText:
    """Text that is no node, for judges."""

    id: str
    text: str


Text = Node | NamedText


@dataclass(frozen=True, slots=True)
class AuditedSummary:
    """Summary with its children in document order.

    ``leaves`` are the texts of the leaves beneath, where the children are summaries.
    """

    node: Text
    children: tuple[Text, ...]
    leaves: tuple[str, ...] = ()


class Judge(Protocol):
    """Interface of a method that decides sentence by sentence whether summaries follow."""

    @property
    def name(self) -> str:
        """Name of the method in settings."""

    @property
    def version(self) -> str:
        """Version of the method; it changes if the same summary may be judged differently."""

    def judge(self, summaries: Sequence[AuditedSummary]) -> list[list[SentenceFinding]]:
        """Return for each summary one finding for every sentence of its text, in order.

        A blank text has no findings. Without children nothing is supported.
        """


def sentence_texts(text: str) -> list[str]:
    """Return the stripped sentences of a text, without blank ones."""
    stripped = (text[start:end].strip() for start, end in sentences(text))
    return [sentence for sentence in stripped if sentence]
