"""What a context is worth without a reader, one figure per question and measure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from raptor_core.evaluation.contexts import Context, Measured
from raptor_core.evaluation.datasets.base import Question
from raptor_core.evaluation.index import Index
from raptor_core.identity import normalize_text
from raptor_core.models.summarizing.sentence import STOPWORDS
from raptor_core.nodes import Node
from raptor_core.vectors import Vectors

MEASURES: Mapping[str, str] = {
    "evidence_recall": "share of the evidence's runs of four words that the context holds",
    "document_hit": "whether a document that answers is in the context",
    "document_recall": "share of the documents that answer that are in the context",
    "option_stand_in": (
        "whether the right option is the one most similar to a passage of the context; a weak "
        "stand-in for a reader's accuracy"
    ),
    "option_stand_in_hard": "the same on the HARD subset",
    "answer_stand_in": (
        "share of a reference answer's words, without common ones and the question's, that "
        "the context holds; a weak stand-in for a reader's answers"
    ),
}
"""Measures by stable names, and what each means."""


@dataclass(frozen=True, eq=False)
class ContextMeasurer:
    """Measures contexts of one data set without a reader.

    ``pooled`` questions are asked of all documents; ``options`` are vectors by question id, shape
    ``(n_options, n_dims)``; where there is evidence, answers need not stand in for it.
    """

    index: Index
    pooled: bool
    options: Mapping[str, Vectors]
    has_evidence: bool

    @property
    def meanings(self) -> Mapping[str, str]:
        """See ``Measurer.meanings``."""
        return MEASURES

    @classmethod
    def of(cls, index: Index, *, pooled: bool) -> ContextMeasurer:
        """All options are embedded at once, each after its question."""
        asked = [q for q in index.dataset.questions if q.gold is not None]
        texts = [f"{q.text} {option}" for q in asked for option in q.options]
        vectors = index.components.embedder.embed_queries(texts)
        ends = np.cumsum([len(q.options) for q in asked])[:-1]
        parts = np.split(vectors, ends) if asked else []
        options = {q.id: part for q, part in zip(asked, parts, strict=True)}
        has_evidence = any(question.evidence for question in index.dataset.questions)
        return cls(index, pooled, options, has_evidence)

    def measure(self, questions: Sequence[Question], contexts: Sequence[Context]) -> list[Measured]:
        """See ``Measurer.measure``."""
        passages = self._passages(contexts) if self.options else {}
        return [
            Measured(self._measure(question, context, passages))
            for question, context in zip(questions, contexts, strict=True)
        ]

    def _measure(
        self, question: Question, context: Context, passages: Mapping[str, Vectors]
    ) -> dict[str, float]:
        values: dict[str, float] = {}
        if question.evidence:
            values["evidence_recall"] = evidence_recall(question.evidence, context.text)
        if question.sources and (self.pooled or question.document is None):
            values |= document_measures(question.sources, context.nodes)
        if question.id in self.options:
            rows = [passages[key] for key in _passage_texts(context)]
            right = float(nearest_option(self.options[question.id], rows) == question.gold)
            values["option_stand_in"] = right
            if question.hard:
                values["option_stand_in_hard"] = right
        elif question.answers and not self.has_evidence:
            share = answer_words(question, context.text)
            values |= {} if share is None else {"answer_stand_in": share}
        return values

    def _passages(self, contexts: Sequence[Context]) -> dict[str, Vectors]:
        """Their vectors; nodes that a system without a tree made are in no store."""
        texts = {key: text for c in contexts for key, text in _passage_texts(c).items()}
        vectors = self.index.store.vectors(sorted(texts))
        missing = sorted(texts.keys() - vectors.keys())
        made = self.index.components.embedder.embed([texts[key] for key in missing])
        return vectors | dict(zip(missing, made, strict=True))


RUN_WORDS = 4
_WORD = re.compile(r"\w+")

Runs = frozenset[tuple[str, ...]]


def words(text: str) -> list[str]:
    """The words of a text in order, case folded."""
    return _WORD.findall(normalize_text(text).casefold())


def runs(text: str, n_words: int = RUN_WORDS) -> Runs:
    """Runs of ``n_words`` words of a text; all of it as one run where it is shorter."""
    all_words = words(text)
    if len(all_words) <= n_words:
        return frozenset({tuple(all_words)} if all_words else ())
    return frozenset(zip(*(all_words[start:] for start in range(n_words)), strict=False))


def held(wanted: Runs, text: str) -> Runs:
    """Those of the wanted runs, of any length, that stand in a text."""
    lengths = {len(run) for run in wanted}
    there: Runs = frozenset().union(*(runs(text, length) for length in lengths))
    return wanted & there


def evidence_recall(evidence: Sequence[str], context: str) -> float:
    """Share of the passages' runs of four words that stand in the context.

    Words of adjoining passages make runs too, as a reader would read them.
    """
    wanted: Runs = frozenset().union(*map(runs, evidence))
    return len(held(wanted, context)) / len(wanted) if wanted else 0.0


def document_measures(sources: Sequence[str], nodes: Sequence[Node]) -> dict[str, float]:
    """Whether one, and what share, of the documents that answer is in the context.

    A document is in it with a node that is of documents that answer alone: a summary over others
    too says little of them.
    """
    wanted = set(sources)
    there = {name for node in nodes if set(node.documents) <= wanted for name in node.documents}
    hit = {"document_hit": float(bool(there))}
    return hit if len(wanted) == 1 else hit | {"document_recall": len(there) / len(wanted)}


def nearest_option(options: Vectors, passages: Sequence[Vectors]) -> int:
    """The option that is most similar to any passage, the first of equals; -1 without passages."""
    if not passages:
        return -1
    return int((options @ np.stack(list(passages)).T).max(axis=1).argmax())


def answer_words(question: Question, context: str) -> float | None:
    """The largest share of an answer's telling words that the context holds.

    None where every answer consists of common words and words of the question.
    """
    asked = STOPWORDS.union(words(question.text))
    telling = [set(words(answer)) - asked for answer in question.answers]
    there = set(words(context))
    shares = [len(answer & there) / len(answer) for answer in telling if answer]
    return max(shares, default=None)


def _passage_texts(context: Context) -> dict[str, str]:
    """What an embedder reads of a context, by embedding key; without nodes it is one passage."""
    if context.text and not context.nodes:
        return {context.text: context.text}
    return {node.embedding_key: node.embedding_text for node in context.nodes}
