"""Scores of a question's candidates: by text, neighbours, document, and names.

Searching for the candidates is in ``gathering``, forming passages of chunks in ``passages``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raptor_core.retrieval.base import HybridWeights
from raptor_core.store.outlines import Outlines, Rows, full_id

Scores = NDArray[np.float64]
Numbers = NDArray[np.int64]

BEST_OF_DOCUMENT = 3
"""Number of the best chunks whose mean score ranks a document."""

SHORT_DOCUMENT = 4
"""Number of chunks of a passage, such as a paragraph of an encyclopedia, that is a document."""

HOP = "hop"
"""Name of the part of a score by shared names."""

UNSUPPORTED = -2.0
"""Score, in standard deviations, at which a node that no part speaks for is left out.

At 0 a budget of 20,000 tokens stays half empty (evidence of meetings .971, here .996).
"""

MOST_BY_NAMES = 8.0
"""Largest score by shared names, in standard deviations."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Candidates of a question and their scores, row for row.

    A node that only one of the searches returned gets the lowest score of the other search. Its
    lexical score is 0 if that search returned every node with a word of the question.

    Attributes:
        outlines: the nodes.
        dense: cosine similarities, shape ``(len(outlines.nodes),)``.
        lexical: BM25 scores, of the same shape.
        names: BM25 scores of the rare names that the best chunk holds, of the same shape.
        named: 1 in a document that the question names, -1 in another edition of it, else 0.
    """

    outlines: Outlines
    dense: Scores
    lexical: Scores
    names: Scores
    named: Scores

    @property
    def leaves(self) -> "Pool":
        """Chunks of the pool."""
        return self._select(self.outlines.nodes["layer"] == 0)

    @property
    def summaries(self) -> "Pool":
        """Summaries of the pool."""
        return self._select(self.outlines.nodes["layer"] != 0)

    @property
    def document_size(self) -> float | None:
        """Last position of a chunk in the median document; None unless several compete."""
        nodes = self.leaves.outlines.nodes
        documents = group_numbers(nodes["document"])
        if not documents.any():
            return None
        last = np.zeros(documents.max() + 1, dtype=np.int64)
        np.maximum.at(last, documents, nodes["position"])
        return float(np.median(last))

    def _select(self, mask: NDArray[np.bool_]) -> "Pool":
        scores = (self.dense, self.lexical, self.names, self.named)
        return Pool(self.outlines.take(mask), *(each[mask] for each in scores))


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

    @property
    def is_supported(self) -> NDArray[np.bool_]:
        """Whether any part of a node's score speaks for it, or little speaks against it.

        Shared names speak for it only in the sum. Where all parts are 0, as of a single node,
        nothing speaks against it.
        """
        parts = np.array([part for name, part in self.parts.items() if name != HOP])
        supported: NDArray[np.bool_] = (parts > 0).any(axis=0) | (parts == 0).all(axis=0)
        return supported | (self.scores > UNSUPPORTED)

    def plus(self, part: str, scores: Scores) -> "Ranked":
        """Return the nodes with a further part of their scores."""
        return Ranked(self.outlines, {**self.parts, part: scores})

    def with_parts(self, parts: Mapping[int, Sequence[tuple[int, int]]]) -> "Ranked":
        """Return the nodes with other paragraphs of some chunks, by row."""
        return Ranked(self.outlines.with_children(parts), self.parts) if parts else self

    def id(self, row: int) -> str:
        """Return the id of the node in a row."""
        node = self.outlines.nodes[row]
        return full_id(int(node["high"]), int(node["low"]))


def add_surroundings(leaves: Ranked, weights: HybridWeights) -> Ranked:
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


def add_hop(leaves: Ranked, names: Scores, weight: float) -> Ranked:
    """Add the scores of chunks by the names that they share with the best chunk.

    The part has the scale of the scores so far, whatever their weights are.

    Args:
        leaves: the chunks.
        names: ``Pool.names`` of the chunks; their roots count, in standard deviations.
        weight: weight of this part.
    """
    spread = leaves.scores.std()
    return leaves.plus(
        HOP, weight * spread * np.clip(standardize(np.sqrt(names)), 0, MOST_BY_NAMES)
    )


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
