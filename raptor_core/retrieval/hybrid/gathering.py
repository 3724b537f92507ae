"""Search for candidates: by vectors and words, in the best documents and summaries, and by names.

Scoring is in ``scoring``; names of the best chunk are found in ``hop``, those of the question in
``naming``.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from raptor_core.retrieval.base import Query, Questions
from raptor_core.retrieval.hybrid.hop import SecondHop
from raptor_core.retrieval.hybrid.naming import question_name_searches, score_named
from raptor_core.retrieval.hybrid.scoring import (
    BEST_OF_DOCUMENT,
    SHORT_DOCUMENT,
    CandidatePool,
    RankedNodes,
    Scores,
    add_surroundings,
    best_means,
)
from raptor_core.store.base import Where
from raptor_core.store.outlines import Candidates, CandidateSearch, Keys, Outlines, join_id
from raptor_core.store.store import VectorStore

MAX_INSIDE = 512
"""Maximum number of nodes to read from the best documents; of longer ones, the best are read."""

LEADING_SUMMARIES = 8
"""Number of the best summaries whose children become candidates, in any document."""


def gather_candidates(
    questions: Questions, query: Query, store: VectorStore
) -> list[CandidatePool]:
    """Search for the candidates of each question, first in all nodes, then in the best documents.

    If the first search returned every node that the filter allows, only names are searched for, in
    the case of several short documents.
    """
    queries = (*questions.vectors, *questions.texts)
    limit = query.hybrid.candidates
    answers = store.search_candidates(
        [CandidateSearch(each, limit, query.where) for each in queries]
    )
    n_questions = len(questions.texts)
    return [
        _complete_pool(
            questions.select(row), query, answers[row], answers[n_questions + row], store
        )
        for row in range(n_questions)
    ]


def _complete_pool(
    question: Questions, query: Query, dense: Candidates, lexical: Candidates, store: VectorStore
) -> CandidatePool:
    """Search again in the best documents and for names, and add the results and scores."""
    limit = query.hybrid.candidates
    is_cut = len(lexical.scores) == limit
    pool = _merge_candidates([dense], [lexical], (), is_cut=is_cut)
    filters = _second_search_filters(pool, query) if len(dense.scores) == limit else []
    size = pool.document_size
    are_short = size is not None and size < SHORT_DOCUMENT
    may_be_named = size is not None and not are_short and query.hybrid.named > 0
    hop = _read_second_hop(question.texts[0], pool, query, store) if are_short else None
    by_names = hop.name_searches(query.where) if hop else []
    if may_be_named and filters:
        by_names = question_name_searches(question.texts[0], query.where)
    inside = [
        CandidateSearch(each, MAX_INSIDE, where)
        for each in (question.vectors[0], question.texts[0])
        for where in filters
    ]
    answers = store.search_candidates([*inside, *by_names]) if filters or by_names else []
    n_filters = len(filters)
    name_hits = answers[2 * n_filters :]
    if answers:
        pool = _merge_candidates(
            [dense, *answers[:n_filters]],
            [lexical, *answers[n_filters : 2 * n_filters]],
            name_hits if hop else (),
            is_cut=is_cut,
        )
    if hop:
        return replace(pool, hop_scores=hop.score_by_names(name_hits, pool.outlines))
    if may_be_named:
        return replace(
            pool, name_scores=score_named(question.texts[0], name_hits, pool.outlines.nodes)
        )
    return pool


def _second_search_filters(pool: CandidatePool, query: Query) -> list[Where]:
    """Return filters for the best documents, and for children of the best summaries."""
    filters = []
    if documents := _best_documents(pool.leaves, query):
        filters.append(query.where.narrow(covers=documents))
    children = _leading_children(pool.summaries, query)
    new = children[~np.isin(children[:, 0], pool.outlines.nodes["high"])]
    if len(new):
        filters.append(query.where.narrow(ids=[join_id(*pair) for pair in new.tolist()]))
    return filters


def _read_second_hop(
    question: str, pool: CandidatePool, query: Query, store: VectorStore
) -> SecondHop | None:
    """Read the best chunk for a second hop; return None if the hop is switched off."""
    if not query.hybrid.hop:
        return None
    ranked = add_surroundings(
        RankedNodes.from_pool(pool.leaves, query.hybrid.lexical), query.hybrid
    )
    best = ranked.node_id(int(np.argmax(ranked.scores)))
    nodes = store.nodes(Where(ids=(best,)))
    return (
        SecondHop.from_chunk(nodes[0], question) if nodes else None
    )  # a publication may have removed it


def _best_documents(leaves: CandidatePool, query: Query) -> tuple[str, ...]:
    """Return the documents whose best chunks have the highest scores; ties are broken by name."""
    _, first, groups = np.unique(
        leaves.outlines.nodes["document"], return_index=True, return_inverse=True
    )
    if not len(first):
        return ()
    scores = RankedNodes.from_pool(leaves, query.hybrid.lexical).scores
    means = best_means(groups, scores, BEST_OF_DOCUMENT)
    least = np.sort(means)[::-1][: query.hybrid.documents].min()
    is_best = means >= least
    names = leaves.outlines.nodes["name"][first[is_best]]
    order = sorted(zip((-means[is_best]).tolist(), names.tolist(), strict=True))
    return tuple(sorted(name for _, name in order[: query.hybrid.documents]))


def _leading_children(summaries: CandidatePool, query: Query) -> Keys:
    """Return the ids of the best summaries' children, as two integers each, without duplicates."""
    scores = RankedNodes.from_pool(summaries, query.hybrid.lexical).scores
    best = np.argsort(-scores, kind="stable")[:LEADING_SUMMARIES]
    return np.unique(summaries.outlines.select_rows(best).children, axis=0)


def _merge_candidates(
    dense: Sequence[Candidates],
    lexical: Sequence[Candidates],
    unscored: Sequence[Candidates],
    *,
    is_cut: bool,
) -> CandidatePool:
    """Merge the candidates of several searches without duplicates, in the order of appearance.

    Args:
        dense: candidates with cosine similarities.
        lexical: candidates with BM25 scores of the question.
        unscored: candidates whose scores are not used.
        is_cut: the lexical search reached its limit, so other nodes may contain words, too.
    """
    searches = [*dense, *lexical, *unscored]
    every = Outlines.concatenate([candidates.outlines for candidates in searches])
    _, first, numbers = np.unique(every.nodes["high"], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rows = np.argsort(order)[numbers]
    ends = np.cumsum([len(candidates.scores) for candidates in searches])
    rows_by_search = np.split(rows, ends[:-1])

    def scores(begin: int, end: int) -> Scores:
        merged = np.full(len(first), np.nan)
        for at, candidates in zip(rows_by_search[begin:end], searches[begin:end], strict=True):
            merged[at] = candidates.scores
        return merged

    n_dense, n_scored = len(dense), len(dense) + len(lexical)
    similarities, words = scores(0, n_dense), scores(n_dense, n_scored)
    least_dense = np.nanmin(similarities) if np.isfinite(similarities).any() else 0.0
    least_lexical = np.nanmin(words) if is_cut and np.isfinite(words).any() else 0.0
    return CandidatePool(
        every.select_rows(first[order]),
        np.where(np.isnan(similarities), least_dense, similarities),
        np.where(np.isnan(words), least_lexical, words),
        hop_scores=np.zeros(len(first)),
        name_scores=np.zeros(len(first)),
    )
