"""Candidates of a question, and their scores by text, surroundings and document.

Forming passages of chunks is in ``passages``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raptor_core.retrieval.base import Query, Questions
from raptor_core.settings.retrieval import HybridSettings
from raptor_core.store.outlines import Candidates, Keys, Outlines, Rows, full_id
from raptor_core.store.store import VectorStore

Scores = NDArray[np.float64]
Numbers = NDArray[np.int64]

CandidatePair = tuple[Candidates, Candidates]
"""Candidates of a dense search and of a lexical search."""

MAX_INSIDE = 512
"""Maximum number of nodes read of the best documents; a longer book gives its best ones."""

LEADING_SUMMARIES = 8
"""Number of the best summaries whose children become candidates, in any document."""

BEST_OF_DOCUMENT = 3
"""Number of the best chunks whose mean score ranks a document."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Candidates of a question and their scores, row for row.

    A node that only one of the searches returned gets the lowest score of the other search. Its
    lexical score is 0 if that search returned every node with a word of the question.

    Attributes:
        outlines: the nodes.
        dense: cosine similarities, shape ``(len(outlines.nodes),)``.
        lexical: BM25 scores, of the same shape.
    """

    outlines: Outlines
    dense: Scores
    lexical: Scores

    @property
    def leaves(self) -> "Pool":
        """Chunks of the pool."""
        return self._select(self.outlines.nodes["layer"] == 0)

    @property
    def summaries(self) -> "Pool":
        """Summaries of the pool."""
        return self._select(self.outlines.nodes["layer"] != 0)

    def _select(self, mask: NDArray[np.bool_]) -> "Pool":
        return Pool(self.outlines.take(mask), self.dense[mask], self.lexical[mask])


def gather(questions: Questions, query: Query, store: VectorStore) -> list[Pool]:
    """Search for the candidates of each question, first in all nodes, then in the best documents.

    There is no second search if the first one returned every node that the filter allows.
    """
    limit = query.hybrid.candidates
    pairs = store.candidates(questions.vectors, questions.texts, limit, query.where)
    return [
        _complete_pool(questions.select(row), query, pair, store) for row, pair in enumerate(pairs)
    ]


def _complete_pool(
    question: Questions, query: Query, first: CandidatePair, store: VectorStore
) -> Pool:
    """Add nodes of the best documents and children of the best summaries to the first search."""
    dense, lexical = first
    is_cut = len(dense.scores) == query.hybrid.candidates
    pool = _merge([first], is_cut=is_cut)
    if not is_cut:
        return pool
    known = np.intersect1d(dense.outlines.nodes["high"], lexical.outlines.nodes["high"])
    filters = []
    if documents := _best_documents(pool.leaves, query):
        filters.append(query.where.narrowed(covers=documents))
    children = _leading_children(pool.summaries, query)
    unknown = children[~np.isin(children[:, 0], known)]
    if len(unknown):
        filters.append(query.where.narrowed(ids=[full_id(*pair) for pair in unknown.tolist()]))
    vectors = np.repeat(question.vectors, len(filters), axis=0)
    pairs = store.candidates(vectors, question.texts * len(filters), MAX_INSIDE, filters)
    return _merge([first, *pairs], is_cut=True)


def _best_documents(leaves: Pool, query: Query) -> tuple[str, ...]:
    """Return the names of the documents whose best chunks score highest; ties by name."""
    _, first, groups = np.unique(
        leaves.outlines.nodes["document"], return_index=True, return_inverse=True
    )
    if not len(first):
        return ()
    scores = Ranked.from_pool(leaves, query.hybrid.lexical).scores
    means = best_means(groups, scores, BEST_OF_DOCUMENT)
    least = np.sort(means)[::-1][: query.hybrid.documents].min()
    is_best = means >= least
    names = leaves.outlines.nodes["name"][first[is_best]]
    order = sorted(zip((-means[is_best]).tolist(), names.tolist(), strict=True))
    return tuple(sorted(name for _, name in order[: query.hybrid.documents]))


def _leading_children(summaries: Pool, query: Query) -> Keys:
    """Return both halves of the ids of the best summaries' children, without duplicates."""
    scores = Ranked.from_pool(summaries, query.hybrid.lexical).scores
    best = np.argsort(-scores, kind="stable")[:LEADING_SUMMARIES]
    return np.unique(summaries.outlines.take(best).children, axis=0)


def _merge(pairs: Sequence[CandidatePair], *, is_cut: bool) -> Pool:
    """Merge the candidates of several searches, without duplicates, by first appearance.

    Args:
        pairs: the candidates.
        is_cut: whether a limit cut the searches, so that more nodes match.
    """
    searches = [candidates for pair in pairs for candidates in pair]
    every = Outlines.joined([candidates.outlines for candidates in searches])
    _, first, numbers = np.unique(every.nodes["high"], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rows = np.argsort(order)[numbers]
    ends = np.cumsum([len(candidates.scores) for candidates in searches])
    rows_by_search = np.split(rows, ends[:-1])

    def scores(kind: int) -> Scores:
        merged = np.full(len(first), np.nan)
        for at, candidates in list(zip(rows_by_search, searches, strict=True))[kind::2]:
            merged[at] = candidates.scores
        return merged

    dense, lexical = scores(0), scores(1)
    least_dense = np.nanmin(dense) if np.isfinite(dense).any() else 0.0
    least_lexical = np.nanmin(lexical) if is_cut and np.isfinite(lexical).any() else 0.0
    return Pool(
        every.take(first[order]),
        np.where(np.isnan(dense), least_dense, dense),
        np.where(np.isnan(lexical), least_lexical, lexical),
    )


@dataclass(frozen=True, eq=False)
class Ranked:
    """Nodes with the parts of their scores.

    Attributes:
        outlines: the nodes.
        parts: scores by name of the signal, each of shape ``(len(outlines.nodes),)``.
    """

    outlines: Outlines
    parts: Mapping[str, Scores]

    @classmethod
    def from_pool(cls, pool: Pool, lexical: float) -> "Ranked":
        """Score the nodes of a pool by their texts; ``lexical`` is the weight of BM25, 0 to 1."""
        dense, words = standardize(pool.dense), standardize(pool.lexical)
        return cls(pool.outlines, {"dense": (1 - lexical) * dense, "lexical": lexical * words})

    @property
    def scores(self) -> Scores:
        """Sums of the parts."""
        return sum(self.parts.values(), np.zeros(len(self.outlines.nodes)))

    def id(self, row: int) -> str:
        """Return the id of the node in a row."""
        node = self.outlines.nodes[row]
        return full_id(int(node["high"]), int(node["low"]))


def add_surroundings(leaves: Ranked, weights: HybridSettings) -> Ranked:
    """Add the scores of neighbours and documents to those of chunks, in standard deviations."""
    nodes, text_scores = leaves.outlines.nodes, leaves.scores
    neighbours = np.zeros(len(text_scores))
    places = _places(nodes, len(weights.neighbours))
    for distance, weight in enumerate(weights.neighbours, 1):
        neighbours += weight * _neighbour_scores(places, text_scores, distance)
    parts = {**leaves.parts, "neighbours": neighbours}
    documents = group_numbers(nodes["document"])
    if weights.document and documents.any():
        means = best_means(documents, text_scores, BEST_OF_DOCUMENT)[documents]
        parts["document"] = weights.document * means
    return Ranked(leaves.outlines, parts)


def _places(leaves: Rows, max_distance: int) -> Numbers:
    """Return places of chunks on one line; documents are over ``max_distance`` apart."""
    positions = leaves["position"].astype(np.int64)
    stride = positions.max() + 1 + max_distance
    places: Numbers = group_numbers(leaves["place"]) * stride + positions
    return places


def _neighbour_scores(places: Numbers, scores: Scores, distance: int) -> Scores:
    """Return the better score of the chunks ``distance`` away; a chunk's own score if none is."""
    order = np.argsort(places)
    ascending = places[order]
    best = np.full(len(scores), -np.inf)
    for targets in (places - distance, places + distance):
        row = np.minimum(np.searchsorted(ascending, targets), len(scores) - 1)
        exists = ascending[row] == targets
        best[exists] = np.maximum(best[exists], scores[order[row[exists]]])
    return np.where(np.isfinite(best), best, scores)


def standardize(scores: Scores) -> Scores:
    """Subtract the mean and divide by the standard deviation; equal scores become 0."""
    if not len(scores):
        return scores
    spread = float(scores.std())
    centred: Scores = scores - scores.mean()
    return centred / spread if spread > 0 else centred


def group_numbers(keys: NDArray[Any]) -> Numbers:
    """Return a number for each key, from 0 without a gap; equal keys have equal numbers."""
    numbers: Numbers = np.unique(keys, return_inverse=True)[1]
    return numbers


def best_means(groups: Numbers, scores: Scores, n_best: int) -> Scores:
    """Return the mean of the ``n_best`` highest scores of each group.

    Args:
        groups: number of the group of each score, from 0 without a gap.
        scores: the scores.
        n_best: how many scores of a group count.

    Returns:
        Means by group, shape ``(groups.max() + 1,)``.
    """
    if not len(groups):
        return np.zeros(0)
    order = np.lexsort((-scores, groups))
    sizes = np.bincount(groups)
    starts = np.cumsum(sizes) - sizes
    rank = np.arange(len(order)) - np.repeat(starts, sizes)
    best = order[rank < n_best]
    sums = np.bincount(groups[best], weights=scores[best])
    means: Scores = sums / np.minimum(sizes, n_best)
    return means
