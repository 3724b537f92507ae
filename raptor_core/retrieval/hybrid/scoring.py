"""The score of a chunk from its own text, its parents, its surroundings and its document."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from raptor_core.nodes import Node
from raptor_core.retrieval.hybrid.pool import BEST_OF_DOCUMENT, Pool, Scores, best_means, mixed
from raptor_core.settings.retrieval import HybridSettings

BEST_OF_SECTION = 2
"""Chunks that speak for a section."""


def leaf_scores(leaves: Pool, summaries: Pool, weights: HybridSettings) -> Scores:
    """Scores of the chunks, in units of a standard deviation of the candidates'."""
    if not leaves.nodes:
        return leaves.dense
    own = mixed(leaves, weights.lexical)
    if weights.parents and summaries.nodes:
        own = own + weights.parents * _parents(leaves.nodes, summaries, weights)
    found = own.copy()
    for at, weight in enumerate(weights.neighbours, 1):
        found += weight * _neighbours(leaves.nodes, own, at)
    if weights.section:
        found += weights.section * _sections(leaves.nodes, own)
    names = [leaf.documents[0] for leaf in leaves.nodes]
    of_document = best_means(names, own, BEST_OF_DOCUMENT)
    if weights.document and len(of_document) > 1:
        found += weights.document * np.array([of_document[name] for name in names])
    return found


def _parents(leaves: Sequence[Node], summaries: Pool, weights: HybridSettings) -> Scores:
    """The best parent's score; the lowest of all for a chunk whose parents were not found."""
    scores = mixed(summaries, weights.lexical)
    row_of = {leaf.id: row for row, leaf in enumerate(leaves)}
    best = np.full(len(leaves), scores.min())
    for summary, score in zip(summaries.nodes, scores.tolist(), strict=True):
        for child in summary.children:
            if (row := row_of.get(child)) is not None and score > best[row]:
                best[row] = score
    return best


def _neighbours(leaves: Sequence[Node], own: Scores, distance: int) -> Scores:
    """The better of the chunks ``distance`` before and after; the lowest of all for none."""
    places = [(leaf.tree, leaf.documents[0], leaf.position) for leaf in leaves]
    score_at = dict(zip(places, own.tolist(), strict=True))
    lowest = float(own.min())
    return np.array(
        [
            max(
                score_at.get((tree, document, position - distance), lowest),
                score_at.get((tree, document, position + distance), lowest),
            )
            for tree, document, position in places
        ]
    )


def _sections(leaves: Sequence[Node], own: Scores) -> Scores:
    """The mean of the best chunks of each chunk's section."""
    names = [(leaf.tree, leaf.documents[0], leaf.section) for leaf in leaves]
    best = best_means(names, own, BEST_OF_SECTION)
    return np.array([best[name] for name in names])
