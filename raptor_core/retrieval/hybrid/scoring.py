"""The score of a chunk from its own text, its parents, its surroundings and its document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from raptor_core.nodes import Node
from raptor_core.retrieval.hybrid.pool import BEST_OF_DOCUMENT, Scores, best_means
from raptor_core.settings.retrieval import HybridSettings

BEST_OF_SECTION = 2
"""Chunks that speak for a section."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """Nodes and a score for each, shape ``(len(nodes),)``."""

    nodes: Sequence[Node]
    scores: Scores


def leaf_scores(leaves: Ranked, summaries: Ranked, weights: HybridSettings) -> Scores:
    """Scores of the chunks with all that surrounds them, in standard deviations.

    Args:
        leaves, summaries: with the score of each by its own text.
        weights: of what is added.
    """
    nodes, own = leaves.nodes, leaves.scores
    if not nodes:
        return own
    if weights.parents and summaries.nodes:
        own = own + weights.parents * _parents(nodes, summaries)
    found = own.copy()
    for at, weight in enumerate(weights.neighbours, 1):
        found += weight * _neighbours(nodes, own, at)
    if weights.section:
        found += weights.section * _sections(nodes, own)
    names = [leaf.documents[0] for leaf in nodes]
    of_document = best_means(names, own, BEST_OF_DOCUMENT)
    if weights.document and len(of_document) > 1:
        found += weights.document * np.array([of_document[name] for name in names])
    return found


def _parents(leaves: Sequence[Node], summaries: Ranked) -> Scores:
    """The best parent's score; the lowest of all for a chunk whose parents were not found."""
    row_of = {leaf.id: row for row, leaf in enumerate(leaves)}
    best = np.full(len(leaves), summaries.scores.min())
    for summary, score in zip(summaries.nodes, summaries.scores.tolist(), strict=True):
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
