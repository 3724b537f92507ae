"""The score of a chunk from its own text, its parents, its surroundings and its document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from raptor_core.retrieval.hybrid.groups import Numbers, Scores, best_means, numbered
from raptor_core.retrieval.hybrid.pool import BEST_OF_DOCUMENT
from raptor_core.settings.retrieval import HybridSettings
from raptor_core.store.candidates import Candidate

BEST_OF_SECTION = 2
"""Chunks that speak for a section."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """Nodes and a score for each, shape ``(len(nodes),)``."""

    nodes: Sequence[Candidate]
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
    places = _places(nodes, len(weights.neighbours))
    for at, weight in enumerate(weights.neighbours, 1):
        found += weight * _neighbours(places, own, at)
    if weights.section:
        sections = numbered([(leaf.tree, leaf.documents[0], leaf.section) for leaf in nodes])
        found += weights.section * best_means(sections, own, BEST_OF_SECTION)[sections]
    documents = numbered([leaf.documents[0] for leaf in nodes])
    if weights.document and documents.any():
        found += weights.document * best_means(documents, own, BEST_OF_DOCUMENT)[documents]
    return found


def _parents(leaves: Sequence[Candidate], summaries: Ranked) -> Scores:
    """The best parent's score; the lowest of all for a chunk whose parents were not found."""
    row_of = {leaf.id: row for row, leaf in enumerate(leaves)}
    best = np.full(len(leaves), summaries.scores.min())
    for summary, score in zip(summaries.nodes, summaries.scores.tolist(), strict=True):
        for child in summary.children:
            if (row := row_of.get(child)) is not None and score > best[row]:
                best[row] = score
    return best


def _places(leaves: Sequence[Candidate], apart: int) -> Numbers:
    """Numbers that differ by the distance of chunks of one document, by over ``apart`` else."""
    positions = np.array([leaf.position for leaf in leaves], dtype=np.int64)
    documents = numbered([(leaf.tree, leaf.documents[0]) for leaf in leaves])
    places: Numbers = documents * (positions.max() + 1 + apart) + positions
    return places


def _neighbours(places: Numbers, own: Scores, distance: int) -> Scores:
    """The better of the chunks ``distance`` before and after; the lowest of all for none."""
    order = np.argsort(places)
    ascending = places[order]
    best = np.full(len(own), own.min())
    for wanted in (places - distance, places + distance):
        row = np.minimum(np.searchsorted(ascending, wanted), len(own) - 1)
        there = ascending[row] == wanted
        best[there] = np.maximum(best[there], own[order[row[there]]])
    return best
