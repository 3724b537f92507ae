"""The interface of a judge, with its input and its findings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from raptor_core.chunking.sentences import find_sentence_spans
from raptor_core.nodes import Node

Judgement = Literal["supported", "unsupported", "not judged"]


@dataclass(frozen=True, slots=True)
class SentenceFinding:
    """A judge's finding on a sentence of a summary, compared with the children.

    Attributes:
        node_id: id of the summary.
        sentence: the sentence, stripped.
        judgement: "not judged" if the model gave no usable answer.
        score: support in [0, 1] on the judge's scale; 0 if it was not judged.
        missing: words of the sentence that no child contains.
        evidence_child: id of the child that supports it best, or None.
        evidence: passage of that child, verbatim; "" if the judge names none.
        reason: why it is not supported or not judged, in words; may be "".
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
    """A text that is not a node, for audits outside of trees."""

    id: str
    text: str


Text = Node | NamedText


@dataclass(frozen=True, slots=True)
class SummaryToAudit:
    """A summary with its children in document order.

    ``leaf_texts`` are the texts of the leaves below; empty if the children are leaves themselves.
    """

    node: Text
    children: tuple[Text, ...]
    leaf_texts: tuple[str, ...] = ()


class Judge(Protocol):
    """Interface of a judge, which decides whether each sentence follows from the children."""

    @property
    def name(self) -> str:
        """Name of the judge in the settings."""

    @property
    def version(self) -> str:
        """Version of the judge; it changes if the same summary may be judged differently."""

    def judge(self, summaries: Sequence[SummaryToAudit]) -> list[list[SentenceFinding]]:
        """Return for each summary a finding on every sentence of its text, in order.

        A blank text has no findings. If there are no children, no sentence is supported.
        """


def sentence_texts(text: str) -> list[str]:
    """Split a text into stripped sentences, without blank ones."""
    stripped = (text[start:end].strip() for start, end in find_sentence_spans(text))
    return [sentence for sentence in stripped if sentence]
