"""Hybrid retrieval over the tree; ``docs/retrieval.md`` tells how it was tuned."""

from __future__ import annotations

from raptor_core.retrieval.base import Query, Questions, Retrieval
from raptor_core.retrieval.hybrid.context_packing import Packing
from raptor_core.retrieval.hybrid.pool import Pool, gather, mixed
from raptor_core.retrieval.hybrid.reranking import reranked
from raptor_core.retrieval.hybrid.scoring import Ranked, leaf_scores
from raptor_core.retrieval.hybrid.themes import theme
from raptor_core.store.store import VectorStore


class Hybrid:
    """Chunks by dense and lexical score, parents, neighbours, section and document.

    A share of the budget goes to summaries, the more thematic the question is. The rest is filled
    with chunks, best first; what does not fit is passed over. The context is in document order.
    """

    def retrieve(self, questions: Questions, query: Query, store: VectorStore) -> list[Retrieval]:
        """See ``Strategy.retrieve``."""
        pools = gather(questions, query, store)
        pairs = zip(questions.texts, pools, strict=True)
        return [_retrieval(question, pool, query, store) for question, pool in pairs]


def _retrieval(question: str, pool: Pool, query: Query, store: VectorStore) -> Retrieval:
    weights = query.hybrid
    leaves, summaries = (
        Ranked(part.outlines, mixed(part, weights.lexical))
        for part in (pool.leaves, pool.summaries)
    )
    packing = Packing(query.budget_tokens, query.top_k)
    share = weights.summaries * theme(leaves.scores) if len(leaves.scores) else 1.0
    packing.add_summaries(summaries.outlines, summaries.scores, share)
    scores = leaf_scores(leaves, summaries, weights)
    if query.reranker:
        scores = reranked(question, leaves.outlines, scores, query, store)
    packing.add_leaves(leaves.outlines, scores, weights.diversity, query.max_per_document)
    hits = packing.hits(store)
    return Retrieval(
        question=question,
        query=query,
        hits=tuple(hits),
        n_tokens=sum(hit.node.n_tokens for hit in hits),
        n_candidates=len(pool.dense),
        n_passed_over=packing.n_passed_over,
    )
