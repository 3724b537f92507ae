"""Measures of a context that need no model, one figure for each question and measure.

Scores of answers are in ``raptor_lab.answer_scores``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from raptor_core.evaluation.golden import Runs, find_word_runs, word_runs
from raptor_core.evaluation.golden_file import Question
from raptor_core.nodes import Node
from raptor_core.text.vocabulary import STOPWORDS
from raptor_core.text.words import folded_words
from raptor_lab.comparison.contexts import Context, ContextScores
from raptor_lab.datasets.base import GENERAL, Dataset

FIRST_DOCUMENTS = (2, 5, 10)
"""Numbers of best documents among which answering documents are counted."""

MEASURES: Mapping[str, str] = {
    "evidence_recall": "share of the evidence's runs of four words that the context contains",
    "document_hit": "whether a document that answers is in the context",
    "document_recall": "share of the documents that answer that are in the context",
    **{
        f"document_recall_at_{n}": f"share of the documents that answer among the best {n}"
        for n in FIRST_DOCUMENTS
    },
    "content_recall": (
        "share of a reference answer's words, without common ones and the question's, that "
        "the context contains; for general questions, and where a data set names no evidence"
    ),
}
"""Meaning of each measure, by its stable name."""


@dataclass(frozen=True, slots=True)
class ContextMeasurer:
    """Measurer of the contexts of one data set that needs no answering model.

    Attributes:
        pooled: questions are asked of all documents.
        has_evidence: the data set names evidence, so only general questions count words of answers.
    """

    pooled: bool
    has_evidence: bool

    @property
    def measure_meanings(self) -> Mapping[str, str]:
        """See ``Measurer.measure_meanings``."""
        return MEASURES

    @classmethod
    def of(cls, dataset: Dataset, *, pooled: bool) -> "ContextMeasurer":
        """Choose the measures that a data set allows."""
        return cls(pooled, any(question.evidence for question in dataset.questions))

    def measure(
        self, questions: Sequence[Question], contexts: Sequence[Context]
    ) -> list[ContextScores]:
        """See ``Measurer.measure``."""
        pairs = zip(questions, contexts, strict=True)
        return [
            ContextScores(self._measure_context(question, context)) for question, context in pairs
        ]

    def _measure_context(self, question: Question, context: Context) -> dict[str, float]:
        values: dict[str, float] = {}
        if question.evidence:
            values["evidence_recall"] = evidence_recall(question.evidence, context.text)
        if question.sources and (self.pooled or question.document is None):
            values |= measure_answering_documents(question.sources, context.nodes)
            values |= document_recall_of_first(question.sources, context.documents)
        if question.answers and (GENERAL in question.kinds or not self.has_evidence):
            share = content_recall(question, context.text)
            values |= {} if share is None else {"content_recall": share}
        return values


def evidence_recall(evidence: Sequence[str], context: str) -> float:
    """Compute the share of the evidence's runs of four words that the context contains."""
    sought: Runs = frozenset().union(*map(word_runs, evidence))
    return len(find_word_runs(sought, context)) / len(sought) if sought else 0.0


def measure_answering_documents(sources: Sequence[str], nodes: Sequence[Node]) -> dict[str, float]:
    """Compute whether an answering document is in the context, and what share of them is.

    A summary counts only if all its documents answer the question.
    """
    answering = set(sources)
    hits = {name for node in nodes if set(node.documents) <= answering for name in node.documents}
    hit = {"document_hit": float(bool(hits))}
    return hit if len(answering) == 1 else hit | {"document_recall": len(hits) / len(answering)}


def document_recall_of_first(sources: Sequence[str], ranked: Sequence[str]) -> dict[str, float]:
    """Compute the share of the answering documents among the first of ``ranked``, if several."""
    if len(sources) == 1:
        return {}
    return {
        f"document_recall_at_{n}": len({*sources}.intersection(ranked[:n])) / len(sources)
        for n in FIRST_DOCUMENTS
    }


def content_recall(question: Question, context: str) -> float | None:
    """Compute the best share of an answer's content words in the context; None if it has none."""
    common = STOPWORDS.union(folded_words(question.text))
    content = [set(folded_words(answer)) - common for answer in question.answers]
    present = set(folded_words(context))
    shares = [len(answer & present) / len(answer) for answer in content if answer]
    return max(shares, default=None)
