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
class CandidatePool:
    """The candidates of a question and their scores.

    A node that only one of the searches returned gets the lowest score of the other search, or the
    lexical score 0 if that search returned every node with a word of the question.

    Attributes:
        outlines: the nodes.
        dense: cosine similarities, shape ``(len(outlines.nodes),)``.
        lexical: BM25 scores.
        hop_scores: BM25 scores of rare names in the best chunk; see ``hop``.
        name_scores: 1 in a document that the question names, negative in other editions, else 0.
    """

    outlines: Outlines
    dense: Scores
    lexical: Scores
    hop_scores: Scores
    name_scores: Scores

    @property
    def leaves(self) -> "CandidatePool":
        """Chunks of the pool."""
        return self._select_rows(self.outlines.nodes["layer"] == 0)

    @property
    def summaries(self) -> "CandidatePool":
        """Summaries of the pool."""
        return self._select_rows(self.outlines.nodes["layer"] != 0)

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

    def _select_rows(self, mask: NDArray[np.bool_]) -> "CandidatePool":
        scores = (self.dense, self.lexical, self.hop_scores, self.name_scores)
        return CandidatePool(self.outlines.select_rows(mask), *(each[mask] for each in scores))


@dataclass(frozen=True, eq=False)
class RankedNodes:
    """Nodes with their scores, as parts that are added up.

    Attributes:
        outlines: the nodes.
        score_parts: scores by name of the signal, each of shape ``(len(outlines.nodes),)``.
    """

    outlines: Outlines
    score_parts: Mapping[str, Scores]

    @classmethod
    def from_pool(cls, pool: CandidatePool, lexical: float) -> "RankedNodes":
        """Score the nodes of a pool by their texts; ``lexical`` is the weight of BM25, 0 to 1."""
        dense, words = standardize(pool.dense), standardize(pool.lexical)
        return cls(pool.outlines, {"dense": (1 - lexical) * dense, "lexical": lexical * words})

    @property
    def scores(self) -> Scores:
        """Sums of all parts."""
        return sum(self.score_parts.values(), np.zeros(len(self.outlines.nodes)))

    @property
    def is_supported(self) -> NDArray[np.bool_]:
        """Whether any part of a node's score is positive, or the sum is above ``UNSUPPORTED``.

        Shared names count only in the sum. A node is also supported if all parts are 0, which is
        the case for a single node.
        """
        parts = np.array([part for name, part in self.score_parts.items() if name != HOP])
        supported: NDArray[np.bool_] = (parts > 0).any(axis=0) | (parts == 0).all(axis=0)
        return supported | (self.scores > UNSUPPORTED)

    def add_part(self, part: str, scores: Scores) -> "RankedNodes":
        """Return the nodes with another part added to their scores."""
        return RankedNodes(self.outlines, {**self.score_parts, part: scores})

    def with_paragraphs(self, parts: Mapping[int, Sequence[tuple[int, int]]]) -> "RankedNodes":
        """Return the nodes with the paragraphs of some chunks, given by row, replaced."""
        return RankedNodes(self.outlines.with_children(parts), self.score_parts) if parts else self

    def node_id(self, row: int) -> str:
        """Return the id of the node in a row."""
        node = self.outlines.nodes[row]
        return join_id(int(node["high"]), int(node["low"]))


def add_surroundings(leaves: RankedNodes, weights: HybridSettings) -> RankedNodes:
    """Add parts for neighbours and documents to the scores of chunks."""
    nodes, text_scores = leaves.outlines.nodes, leaves.scores
    neighbours = np.zeros(len(text_scores))
    places = _chunk_positions(nodes, len(weights.neighbours))
    for distance, weight in enumerate(weights.neighbours, 1):
        neighbours += weight * _neighbour_scores(places, text_scores, distance)
    parts = {**leaves.score_parts, "neighbours": neighbours}
    documents = group_numbers(nodes["document"])
    if weights.document and documents.any():
        means = best_means(documents, text_scores, BEST_OF_DOCUMENT)[documents]
        parts["document"] = weights.document * means
    return RankedNodes(leaves.outlines, parts)


def add_second_hop(leaves: RankedNodes, names: Scores, weight: float) -> RankedNodes:
    """Add a part for names that chunks share with the best chunk.

    It has the same scale as the scores so far, whatever their weights are.

    Args:
        leaves: the chunks.
        names: ``CandidatePool.hop_scores`` of the chunks, whose square roots are standardized.
        weight: weight of this part.
    """
    spread = leaves.scores.std()
    return leaves.add_part(
        HOP, weight * spread * np.clip(standardize(np.sqrt(names)), 0, MAX_NAME_SCORE)
    )


def _chunk_positions(leaves: Rows, max_distance: int) -> Numbers:
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
