"""What an audit finds, and the seam for judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from raptor_core.chunking.sentences import sentences

Judgement = Literal["supported", "unsupported", "not judged"]


@dataclass(frozen=True, slots=True)
class SentenceFinding:
    """One sentence of a summary, judged against the node's children.

    Attributes:
        node_id: the summary node.
        sentence: as it stands in the summary.
        judgement: the judge's verdict; "not judged" where its model gave no usable answer.
        score: support in [0, 1], higher is better supported; judges do not share a scale. 0 where
            it was not judged.
        missing: what the children do not hold, as it stands in the sentence.
        evidence_child: id of the child that supports it best, None when none does.
        evidence: the passage of that child, as it stands there; empty where none is told.
        reason: why it is not supported, or not judged, in words; may be empty.
    """

    node_id: str
    sentence: str
    judgement: Judgement
    score: float
    missing: tuple[str, ...] = ()
    evidence_child: str | None = None
    evidence: str = ""
    reason: str = ""

    @property
    def supported(self) -> bool:
        """Whether the judge found it in the children."""
        return self.judgement == "supported"


class Text(Protocol):
    """What judges read of a node."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def text(self) -> str:
        """Its text."""


@dataclass(frozen=True, slots=True)
class NamedText:
    """A text that is no node, for judges."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Audited:
    """A summary and what it summarizes, in document order."""

    node: Text
    children: tuple[Text, ...]


class Judge(Protocol):
    """Says sentence by sentence whether summaries follow from their children."""

    @property
    def name(self) -> str:
        """Name of the method, as a setting names it."""

    @property
    def version(self) -> str:
        """Changes whenever the same summary may be judged differently."""

    def judge(self, summaries: Sequence[Audited]) -> list[list[SentenceFinding]]:
        """For each summary one finding for every sentence of its text, in order.

        None for a blank text. Deterministic for the same texts where its model is. Without
        children nothing is supported.
        """


def sentence_texts(text: str) -> list[str]:
    """The sentences of a text, without white space around them, none of them blank."""
    stripped = (text[start:end].strip() for start, end in sentences(text))
    return [sentence for sentence in stripped if sentence]
