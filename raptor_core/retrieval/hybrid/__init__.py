"""The default strategy: chunks found by every signal of the tree, framed by summaries.

``docs/retrieval.md`` tells how it was tuned.
"""

from __future__ import annotations

from raptor_core.retrieval.base import Query, Questions, Retrieval
from raptor_core.retrieval.hybrid.context_packing import Packing
from raptor_core.retrieval.hybrid.passages import Passages
from raptor_core.retrieval.hybrid.pool import Pool, Ranked, gather, surrounded, theme
from raptor_core.retrieval.hybrid.reranking import SENTENCES, reranked, reread
from raptor_core.store.protocols import Searcher


class Hybrid:
    """Whole paragraphs by dense and lexical score, neighbours and document.

    A share of the budget goes to summaries, the more thematic the question is. The rest is filled
    with paragraphs, best first; what does not fit is passed over. Chunks take their place where
    paragraphs are not known, or are over the budget, and where ``top_k`` or ``max_per_document``
    count them. The context is in document order.
    """

    def retrieve(self, questions: Questions, query: Query, store: Searcher) -> list[Retrieval]:
        """See ``Strategy.retrieve``."""
        pools = gather(questions, query, store)
        return [
            _retrieval(questions.one(row), pool, query, store) for row, pool in enumerate(pools)
        ]


def _retrieval(question: Questions, pool: Pool, query: Query, store: Searcher) -> Retrieval:
    weights = query.hybrid
    leaves, summaries = (Ranked.of(part, weights.lexical) for part in (pool.leaves, pool.summaries))
    own = leaves.scores
    packing = Packing(query.budget_tokens, query.top_k)
    share = weights.summaries * theme(own) if len(own) else 1.0
    packing.add_summaries(summaries, share)
    if len(own):
        found = surrounded(leaves, weights)
        if query.reranker not in ("", SENTENCES):
            found = reranked(question.texts[0], found, query, store)
        whole = query.top_k is None and query.max_per_document is None
        passages = Passages.of(leaves.outlines, query.budget_tokens, whole=whole)
        scores = passages.scores(own, found.scores, weights.paragraph)
        added = None
        if query.reranker == SENTENCES:
            added = reread(question, found, passages, scores, query, store)
        how = weights.diversity, query.max_per_document
        packing.add_leaves(found, passages, scores, *how, reread=added)
    hits = packing.hits(store)
    return Retrieval(
        question=question.texts[0],
        query=query,
        hits=tuple(hits),
        n_tokens=sum(hit.node.n_tokens for hit in hits),
        n_candidates=len(pool.dense),
        n_passed_over=packing.n_passed_over,
        n_paragraphs=packing.n_paragraphs,
    )
