"""How well retrieval answers a golden set: hit rate, reciprocal rank, recall of the evidence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from statistics import mean

import numpy as np

from raptor_core.evaluation.golden import GoldenCase
from raptor_core.evaluation.runs import Runs, held, runs
from raptor_core.models.embedding.base import Embedder
from raptor_core.nodes import Node
from raptor_core.retrieval import Query, Retrieval, Retriever
from raptor_core.store.store import VectorStore

OpenStore = Callable[[], AbstractContextManager[VectorStore]]
"""Opens what is published, to read."""

RANKS = (1, 3, 5, 10)
MIN_HELD = 0.5
"""Share of a passage's runs of words that a node must hold to count as finding it."""


@dataclass(frozen=True, slots=True)
class GoldenHit:
    """What was retrieved for one case.

    Attributes:
        case: the question, and what answers it.
        rank: of the first node that answers it, from 1; 0 where none does.
        evidence: share of the passages' words found in the context, in runs of four; None where
            the case names no passage.
        documents_found: share of the expected documents that the context has text of; None where
            the case names none.
        retrieved: what was retrieved.
    """

    case: GoldenCase
    rank: int
    evidence: float | None
    documents_found: float | None
    retrieved: Retrieval


@dataclass(frozen=True, slots=True)
class GoldenReport:
    """All cases of a golden set, in its order; the means are 0 without any."""

    hits: tuple[GoldenHit, ...]

    @property
    def hit_rate(self) -> float:
        """Share of the questions whose answer is in the context."""
        return self.hit_rate_at(None)

    def hit_rate_at(self, rank: int | None) -> float:
        """The same among the first ``rank`` nodes of the context; None for all of it."""
        return _mean([0 < hit.rank <= (rank or hit.rank) for hit in self.hits])

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank of the first node that answers; 0 where none does."""
        return _mean([1 / hit.rank if hit.rank else 0.0 for hit in self.hits])

    @property
    def missed(self) -> list[GoldenHit]:
        """Cases without a hit."""
        return [hit for hit in self.hits if not hit.rank]

    def numbers(self) -> dict[str, float]:
        """The figures by stable names; what no case asks for is left out."""
        evidence = [hit.evidence for hit in self.hits if hit.evidence is not None]
        documents = [h.documents_found for h in self.hits if h.documents_found is not None]
        found = {"questions": float(len(self.hits)), "missed": float(len(self.missed))}
        if self.hits:
            found["hit_rate"] = self.hit_rate
            found |= {f"hit_rate_at_{rank}": self.hit_rate_at(rank) for rank in RANKS}
            found["mrr"] = self.mrr
            found["context_tokens_mean"] = _mean([hit.retrieved.n_tokens for hit in self.hits])
        if evidence:
            found["evidence_recall"] = _mean(evidence)
        if documents:
            found["document_recall"] = _mean(documents)
        return {name: round(value, 4) for name, value in found.items()}


def measure_golden(
    cases: Sequence[GoldenCase], embedder: Embedder, open_store: OpenStore, query: Query
) -> GoldenReport:
    """Retrieve for every case, those of one tree together, and compare.

    All questions are embedded while the store is closed, so that others need not wait.

    Raises:
        SettingsError: the query contradicts itself.
        StoreError: the store cannot be opened, or is another embedder's.
    """
    vectors = embedder.embed_queries([case.question for case in cases])
    by_tree: dict[str, list[int]] = {}
    for at, case in enumerate(cases):
        by_tree.setdefault(case.tree, []).append(at)
    found: dict[int, GoldenHit] = {}
    with open_store() as store:
        retriever = Retriever(store, embedder)
        for tree, places in by_tree.items():
            where = replace(query.where, trees=(tree,)) if tree else query.where
            questions = [cases[at].question for at in places]
            narrowed = replace(query, where=where)
            retrieved = retriever.search_vectors(questions, vectors[np.array(places)], narrowed)
            for at, retrieval in zip(places, retrieved, strict=True):
                found[at] = judge_case(cases[at], retrieval)
    return GoldenReport(tuple(found[at] for at in range(len(cases))))


def without_nodes(report: GoldenReport, ids: Collection[str]) -> GoldenReport:
    """The same contexts without some nodes, with nothing put in their place, compared again."""

    def without(found: Retrieval) -> Retrieval:
        kept = tuple(hit for hit in found.hits if hit.node.id not in ids)
        n_out = sum(hit.node.n_tokens for hit in found.hits if hit.node.id in ids)
        return replace(found, hits=kept, n_tokens=found.n_tokens - n_out)

    return GoldenReport(tuple(judge_case(h.case, without(h.retrieved)) for h in report.hits))


def judge_case(case: GoldenCase, retrieval: Retrieval) -> GoldenHit:
    """Compare what was retrieved with what answers the question.

    A node answers it when its text is of expected documents alone (a summary over others too says
    little of them), or holds half of an expected passage. Ranks are by score, whatever the order
    of the context.
    """
    nodes = [hit.node for hit in retrieval.ranked]
    spans = [runs(span) for span in case.spans]
    answers = (at for at, node in enumerate(nodes, 1) if _answers(node, case, spans))
    wanted: Runs = frozenset().union(*spans)
    found: Runs = frozenset().union(*(held(wanted, node.text) for node in nodes))
    there = {name for node in nodes if _is_of(node, case) for name in node.documents}
    expected = set(case.documents)
    return GoldenHit(
        case=case,
        rank=next(answers, 0),
        evidence=len(found) / len(wanted) if wanted else None,
        documents_found=len(there & expected) / len(expected) if expected else None,
        retrieved=retrieval,
    )


def golden_values(report: GoldenReport) -> Mapping[str, object]:
    """The report as plain values."""
    return {
        **report.numbers(),
        "cases": [
            {
                "line": hit.case.line,
                "question": hit.case.question,
                "expected": list(hit.case.documents),
                "rank": hit.rank,
                "evidence": hit.evidence,
                "documents_found": hit.documents_found,
                "n_tokens": hit.retrieved.n_tokens,
            }
            for hit in report.hits
        ],
    }


def _answers(node: Node, case: GoldenCase, spans: Sequence[Runs]) -> bool:
    if _is_of(node, case):
        return True
    return any(len(held(span, node.text)) >= MIN_HELD * len(span) for span in spans if span)


def _is_of(node: Node, case: GoldenCase) -> bool:
    return bool(case.documents) and set(node.documents) <= set(case.documents)


def _mean(values: Sequence[float]) -> float:
    return mean(map(float, values)) if values else 0.0
