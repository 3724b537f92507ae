"""Measures of a golden set: questions with known documents or passages.

``golden_file.py`` loads a set.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from statistics import mean

import numpy as np

from raptor_core.checks.base import (
    CheckInfo,
    CheckMeasurement,
    CheckResult,
    WorstNode,
    format_percent,
)
from raptor_core.evaluation.golden_file import Question
from raptor_core.models.embedding.base import Embedder
from raptor_core.nodes import Node
from raptor_core.retrieval import Query, Retrieval, Retriever
from raptor_core.settings import CheckSettings
from raptor_core.store.store import VectorStore
from raptor_core.text.words import folded_words

OpenStore = Callable[[], AbstractContextManager[VectorStore]]
"""Function that opens the published trees for reading."""
RANKS = (1, 3, 5, 10)
RUN_WORDS = 4
MIN_RUNS = 0.5
"""Lowest share of a passage's runs of words that a node must contain to count as a hit."""

Runs = frozenset[tuple[str, ...]]


def word_runs(text: str, n_words: int = RUN_WORDS) -> Runs:
    """Return the runs of ``n_words`` words of a text; a shorter text is one run."""
    all_words = folded_words(text)
    if len(all_words) <= n_words:
        return frozenset({tuple(all_words)} if all_words else ())
    return frozenset(zip(*(all_words[start:] for start in range(n_words)), strict=False))


def find_word_runs(sought: Runs, text: str) -> Runs:
    """Return the sought runs, of any length, that a text contains."""
    lengths = {len(run) for run in sought}
    present: Runs = frozenset().union(*(word_runs(text, length) for length in lengths))
    return sought & present


@dataclass(frozen=True, slots=True)
class GoldenResult:
    """Retrieval for one question, with its measures.

    Attributes:
        rank: rank of the first node that answers, from 1; 0 if none does.
        found_evidence_share: share of the passages' runs of four words in the context; None
            without passages.
        found_document_share: share of the expected documents in the context; None without any.
    """

    question: Question
    rank: int
    found_evidence_share: float | None
    found_document_share: float | None
    retrieval: Retrieval


@dataclass(frozen=True, slots=True)
class GoldenReport:
    """Measured questions of a golden set in its order; means are 0 without questions."""

    results: tuple[GoldenResult, ...]

    @property
    def hit_rate(self) -> float:
        """Share of the questions whose answer is in the context."""
        return self.hit_rate_at(None)

    def hit_rate_at(self, rank: int | None) -> float:
        """Compute the hit rate among the first ``rank`` nodes; None for the whole context."""
        return _mean([0 < hit.rank <= (rank or hit.rank) for hit in self.results])

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank of the first node that answers; 0 if none does."""
        return _mean([1 / hit.rank if hit.rank else 0.0 for hit in self.results])

    @property
    def recall(self) -> float:
        """Lower one of the mean recalls of passages and documents; 1 if no question has any."""
        numbers = self.figures()
        return min(numbers.get(f"{kind}_recall", 1.0) for kind in ("evidence", "document"))

    def describe_broken_bounds(
        self, hit_rate: float | None, mrr: float | None, recall: float | None
    ) -> list[str]:
        """Return a phrase for each figure below its bound; None means no bound."""
        bounds = {"hit rate": hit_rate, "mrr": mrr, "recall": recall}
        figures = (self.hit_rate, self.mrr, self.recall) if self.results else (1.0, 1.0, 1.0)
        return [
            f"the {name} is {figure:.4g}, below {bound:g}"
            for (name, bound), figure in zip(bounds.items(), figures, strict=True)
            if bound is not None and figure < bound
        ]

    @property
    def missed_results(self) -> list[GoldenResult]:
        """Cases without a hit."""
        return [hit for hit in self.results if not hit.rank]

    def figures(self) -> dict[str, float]:
        """Return the figures by stable names, without those that no question allows."""
        evidence = [
            hit.found_evidence_share for hit in self.results if hit.found_evidence_share is not None
        ]
        documents = [
            h.found_document_share for h in self.results if h.found_document_share is not None
        ]
        figures = {"questions": float(len(self.results)), "missed": float(len(self.missed_results))}
        if self.results:
            figures["hit_rate"] = self.hit_rate
            figures |= {f"hit_rate_at_{rank}": self.hit_rate_at(rank) for rank in RANKS}
            figures["mrr"] = self.mrr
            figures["context_tokens_mean"] = _mean([hit.retrieval.n_tokens for hit in self.results])
        if evidence:
            figures["evidence_recall"] = _mean(evidence)
        if documents:
            figures["document_recall"] = _mean(documents)
        return {name: round(value, 4) for name, value in figures.items()}


def measure_golden(
    cases: Sequence[Question], embedder: Embedder, open_store: OpenStore, query: Query
) -> GoldenReport:
    """Retrieve for every question and measure it; questions of one tree and readers share a search.

    Questions are embedded while the store is closed, so that no other process has to wait.

    Raises:
        SettingsError: the query is contradictory.
        StoreError: the store cannot be opened, or belongs to another embedder.
    """
    vectors = embedder.embed_queries([case.text for case in cases])
    alike: dict[tuple[str | None, tuple[str, ...]], list[int]] = {}
    for at, case in enumerate(cases):
        alike.setdefault((case.document, case.readers), []).append(at)
    retrieved: dict[int, Retrieval] = {}
    with open_store() as store:
        retriever = Retriever(store, embedder)
        for (tree, readers), places in alike.items():
            where = replace(query.where, trees=(tree,)) if tree else query.where
            where = replace(where, readers=readers) if readers else where
            questions = [cases[at].text for at in places]
            narrowed = replace(query, where=where)
            results = retriever.search_vectors(questions, vectors[np.array(places)], narrowed)
            retrieved |= zip(places, results, strict=True)
    return GoldenReport(
        tuple(measure_retrieval(case, retrieved[at]) for at, case in enumerate(cases))
    )


def measure_retrieval(case: Question, retrieval: Retrieval) -> GoldenResult:
    """Compare a retrieval with the known answers of its question.

    A node answers if all its documents are expected, or if it contains half of an expected passage.
    Ranks follow the score, not the order of the context.
    """
    nodes = [hit.node for hit in retrieval.hits_by_score]
    spans = [word_runs(span) for span in case.evidence]
    answers = (at for at, node in enumerate(nodes, 1) if _is_answer(node, case, spans))
    sought: Runs = frozenset().union(*spans)
    hits: Runs = frozenset().union(*(find_word_runs(sought, node.text) for node in nodes))
    present = {name for node in nodes if _is_from_source(node, case) for name in node.documents}
    expected = set(case.sources)
    return GoldenResult(
        question=case,
        rank=next(answers, 0),
        found_evidence_share=len(hits) / len(sought) if sought else None,
        found_document_share=len(present & expected) / len(expected) if expected else None,
        retrieval=retrieval,
    )


def golden_values(report: GoldenReport) -> Mapping[str, object]:
    """Convert the report to values for JSON."""
    return {
        **report.figures(),
        "cases": [
            {
                "line": int(hit.question.id.removeprefix("line ")),
                "question": hit.question.text,
                "expected": list(hit.question.sources),
                "rank": hit.rank,
                "evidence": hit.found_evidence_share,
                "documents_found": hit.found_document_share,
                "n_tokens": hit.retrieval.n_tokens,
            }
            for hit in report.results
        ],
    }


def _is_answer(node: Node, case: Question, spans: Sequence[Runs]) -> bool:
    if _is_from_source(node, case):
        return True
    return any(
        len(find_word_runs(span, node.text)) >= MIN_RUNS * len(span) for span in spans if span
    )


def _is_from_source(node: Node, case: Question) -> bool:
    return bool(case.sources) and set(node.documents) <= set(case.sources)


def _mean(values: Sequence[float]) -> float:
    return mean(map(float, values)) if values else 0.0


GOLDEN_RETRIEVAL = CheckInfo(
    "golden_retrieval",
    "warn",
    "Share of the golden set's questions whose answer is retrieved, against the bound set. It "
    "is of all published trees together.",
)


def evaluate_golden(report: GoldenReport, checks: CheckSettings) -> CheckResult:
    """Check the hit rate, the mean reciprocal rank and the recall against their bounds."""
    rate, bound = report.hit_rate, checks.min_golden_hit_rate
    broken = report.describe_broken_bounds(bound, checks.min_golden_mrr, checks.min_golden_recall)
    summary = (
        f"{len(report.results) - len(report.missed_results)} of {len(report.results)} questions "
        f"find their answer, {format_percent(rate)} (at least {format_percent(bound)})."
    )
    if others := [phrase for phrase in broken if not phrase.startswith("the hit rate")]:
        summary = f"{summary.rstrip('.')}; {'; '.join(others)}."
    remedy = (
        "Run `raptor eval golden` for the rank of every question; check which documents, chunking "
        "or embedder settings have changed."
    )
    worst = [_make_worst_node(hit) for hit in report.missed_results]
    measured = CheckMeasurement(not broken, summary, report.figures(), worst, remedy)
    return GOLDEN_RETRIEVAL.make_result(measured)


def _make_worst_node(hit: GoldenResult) -> WorstNode:
    """Describe a missed question by the first node of its context."""
    first = hit.retrieval.hits[0].node if hit.retrieval.hits else None
    expected = ", ".join(hit.question.sources) or f"“{hit.question.evidence[0][:60]}”"
    why = f"expected {expected}; found {', '.join(first.documents[:3]) if first else 'nothing'}"
    node_id, tree = (first.id, first.tree) if first else ("", "")
    return WorstNode(node_id, hit.question.text, 0.0, why, tree)
