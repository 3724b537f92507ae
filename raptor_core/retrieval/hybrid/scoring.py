"""Scoring of a question's candidates: by text, neighbours, document, and names.

``gathering`` searches for candidates; ``passages`` joins chunks to passages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raptor_core.settings.retrieval import HybridSettings
from raptor_core.store.outlines import Outlines, Rows, join_id

Scores = NDArray[np.float64]
Numbers = NDArray[np.int64]

BEST_OF_DOCUMENT = 3
"""Number of the best chunks whose mean score ranks their document."""

SHORT_DOCUMENT = 4
"""Number of chunks below which documents are short, such as paragraphs of an encyclopedia."""

HOP = "hop"
"""Name of the part of a score that comes from shared names."""

UNSUPPORTED = -2.0
"""Score, in standard deviations, up to which a node is omitted if no part of its score supports it.

With 0, a budget of 20,000 tokens stays half empty (recall in meetings .971, instead of .996).
"""

MAX_NAME_SCORE = 8.0
"""Maximum score by shared names, in standard deviations."""


@dataclass(frozen=True, eq=False)
class Pool:
    """The candidates of a question and their scores.

    A node that only one of the searches returned gets the lowest score of the other search, or the
    lexical score 0 if that search returned every node with a word of the question.

    Attributes:
        outlines: the nodes.
        dense: cosine similarities, shape ``(len(outlines.nodes),)``.
        lexical: BM25 scores.
        names: BM25 scores of rare names in the best chunk; see ``hop``.
        named: 1 in a document that the question names, negative in other editions, else 0.
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
        """Median of the last chunk positions of the documents; None if there is only one."""
        nodes = self.leaves.outlines.nodes
        documents = group_numbers(nodes["document"])
        if not documents.any():
            return None
        last = np.zeros(documents.max() + 1, dtype=np.int64)
        np.maximum.at(last, documents, nodes["position"])
        return float(np.median(last))

    def _select(self, mask: NDArray[np.bool_]) -> "Pool":
        scores = (self.dense, self.lexical, self.names, self.named)
        return Pool(self.outlines.select_rows(mask), *(each[mask] for each in scores))


@dataclass(frozen=True, eq=False)
class Ranked:
    """Nodes with their scores, as parts that are added up.

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
        """Sums of all parts."""
        return sum(self.parts.values(), np.zeros(len(self.outlines.nodes)))

    @property
    def is_supported(self) -> NDArray[np.bool_]:
        """Whether any part of a node's score is positive, or the sum is above ``UNSUPPORTED``.

        Shared names count only in the sum. A node is also supported if all parts are 0, which is
        the case for a single node.
        """
        parts = np.array([part for name, part in self.parts.items() if name != HOP])
        supported: NDArray[np.bool_] = (parts > 0).any(axis=0) | (parts == 0).all(axis=0)
        return supported | (self.scores > UNSUPPORTED)

    def plus(self, part: str, scores: Scores) -> "Ranked":
        """Return the nodes with another part added to their scores."""
        return Ranked(self.outlines, {**self.parts, part: scores})

    def with_parts(self, parts: Mapping[int, Sequence[tuple[int, int]]]) -> "Ranked":
        """Return the nodes with the paragraphs of some chunks, given by row, replaced."""
        return Ranked(self.outlines.with_children(parts), self.parts) if parts else self

    def id(self, row: int) -> str:
        """Return the id of the node in a row."""
        node = self.outlines.nodes[row]
        return join_id(int(node["high"]), int(node["low"]))


def add_surroundings(leaves: Ranked, weights: HybridSettings) -> Ranked:
    """Add parts for neighbours and documents to the scores of chunks."""
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
    """Add a part for names that chunks share with the best chunk.

    It has the same scale as the scores so far, whatever their weights are.

    Args:
        leaves: the chunks.
        names: ``Pool.names`` of the chunks, whose square roots are standardized.
        weight: weight of this part.
    """
    spread = leaves.scores.std()
    return leaves.plus(
        HOP, weight * spread * np.clip(standardize(np.sqrt(names)), 0, MAX_NAME_SCORE)
    )


def _places(leaves: Rows, max_distance: int) -> Numbers:
    """Return positions of chunks on a common line; documents are over ``max_distance`` apart."""
    positions = leaves["position"].astype(np.int64)
    stride = positions.max() + 1 + max_distance
    places: Numbers = group_numbers(leaves["place"]) * stride + positions
    return places


def _neighbour_scores(places: Numbers, scores: Scores, distance: int) -> Scores:
    """Return the better score of the chunks at a distance, or a chunk's own if there is none."""
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
        n_best: number of scores of each group that are used.

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
