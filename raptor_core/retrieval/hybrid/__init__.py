"""The default strategy, which ranks paragraphs by all signals of the tree.

For questions about details, ``gathering`` searches for candidates, ``scoring`` scores them,
``passages`` joins chunks to paragraphs, and ``context_packing`` fills the budget. General questions
are answered in ``raptor_core.retrieval.general``. docs/research.md describes how the weights were
tuned. Read ``scoring`` next.
"""

from raptor_core.retrieval.base import Query, Questions, Retrieval
from raptor_core.retrieval.general import QuestionDecision, decide_question_kind, retrieve_coverage
from raptor_core.retrieval.hybrid.context_packing import ContextPacking
from raptor_core.retrieval.hybrid.gathering import gather_candidates
from raptor_core.retrieval.hybrid.naming import OTHER_EDITION
from raptor_core.retrieval.hybrid.passages import Passages
from raptor_core.retrieval.hybrid.reading import add_word_shares, read_best_chunks
from raptor_core.retrieval.hybrid.reranking import rerank_chunks
from raptor_core.retrieval.hybrid.scoring import (
    CandidatePool,
    RankedNodes,
    add_second_hop,
    add_surroundings,
)
from raptor_core.store.store import VectorStore
from raptor_core.tracing import span


class Hybrid:
    """Strategy that ranks paragraphs by dense and lexical score, neighbours and document.

    The budget is filled with the best paragraphs that fit, or with summaries if a filter excludes
    all chunks. Chunks are used instead of paragraphs if these are unknown or long (see
    ``passages.MAX_SHARE``), and if ``top_k`` or ``max_per_document`` is set, which count chunks.
    The context is in document order. The context of a general question covers the text; see
    ``raptor_core.retrieval.general``.
    """

    def retrieve(self, questions: Questions, query: Query, store: VectorStore) -> list[Retrieval]:
        """Return a retrieval for each question; see ``Strategy.retrieve``."""
        decisions = [decide_question_kind(text, query, store) for text in questions.texts]
        details = [row for row, decision in enumerate(decisions) if not decision.is_general]
        pools = iter(gather_candidates(questions.select(*details), query, store) if details else ())
        return [
            retrieve_coverage(text, decision, query, store)
            if decision.is_general
            else _retrieve_one(questions.select(row), decision, next(pools), query, store)
            for row, (text, decision) in enumerate(zip(questions.texts, decisions, strict=True))
        ]


@span("packing")
def _retrieve_one(
    question: Questions,
    decision: QuestionDecision,
    pool: CandidatePool,
    query: Query,
    store: VectorStore,
) -> Retrieval:
    weights, note = query.hybrid, ""
    leaves = RankedNodes.from_pool(pool.leaves, weights.lexical)
    packing = ContextPacking(query.budget_tokens, query.top_k)
    if not len(leaves.outlines.nodes):
        packing.add_summaries(RankedNodes.from_pool(pool.summaries, weights.lexical))
    else:
        leaves = add_surroundings(leaves, weights)
        if (names := pool.leaves.hop_scores).any():
            leaves = add_second_hop(leaves, names, weights.hop)
        named = pool.leaves.name_scores
        if named.any():
            leaves = leaves.add_part("named", weights.named * named)
        leaves, note = rerank_chunks(question.texts[0], leaves, query, store)
        if n_last := len(set(leaves.outlines.nodes["name"][named <= OTHER_EDITION])):
            year = f"the question asks for a year's edition: {n_last} of other years come last"
            note = "; ".join(filter(None, (year, note)))
        diversity = 0.0 if n_last else weights.diversity
        by_paragraph = query.top_k is None and query.max_per_document is None
        read = read_best_chunks(leaves, query.budget_tokens, store) if by_paragraph else {}
        leaves = leaves.with_paragraphs({row: node.paragraphs for row, node in read.items()})
        passages = Passages.from_chunks(
            leaves.outlines, query.budget_tokens, by_paragraph=by_paragraph
        )
        passages = add_word_shares(question.texts[0], passages, read)
        packing.add_leaves(leaves, passages, diversity, query.max_per_document)
        packing.read_nodes = {node.id: node for node in read.values()}
    hits = packing.read_hits(store)
    return Retrieval(
        question=question.texts[0],
        query=query,
        hits=tuple(hits),
        n_tokens=sum(hit.node.n_tokens for hit in hits),
        n_candidates=len(pool.dense),
        n_passed_over=packing.n_passed_over,
        kind="detail",
        reason=decision.reason,
        note=note,
    )
