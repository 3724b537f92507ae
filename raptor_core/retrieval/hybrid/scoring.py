"""The score of a chunk from its own text, its parents, its surroundings and its document."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from raptor_core.retrieval.hybrid.groups import Numbers, Scores, best_means, numbered
from raptor_core.retrieval.hybrid.pool import BEST_OF_DOCUMENT
from raptor_core.settings.retrieval import HybridSettings
from raptor_core.store.outlines import Outlines, Rows

BEST_OF_SECTION = 2
"""Chunks that speak for a section."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """Nodes and a score for each, shape ``(len(outlines.nodes),)``."""

    outlines: Outlines
    scores: Scores


def leaf_scores(leaves: Ranked, summaries: Ranked, weights: HybridSettings) -> Scores:
    """Scores of the chunks with all that surrounds them, in standard deviations.

    Args:
        leaves, summaries: with the score of each by its own text.
        weights: of what is added.
    """
    nodes, own = leaves.outlines.nodes, leaves.scores
    if not len(own):
        return own
    if weights.parents and len(summaries.scores):
        own = own + weights.parents * _parents(nodes, summaries)
    found = own.copy()
    places = _places(nodes, len(weights.neighbours))
    for at, weight in enumerate(weights.neighbours, 1):
        found += weight * _neighbours(places, own, at)
    if weights.section:
        sections = numbered(nodes["section"])
        found += weights.section * best_means(sections, own, BEST_OF_SECTION)[sections]
    documents = numbered(nodes["document"])
    if weights.document and documents.any():
        found += weights.document * best_means(documents, own, BEST_OF_DOCUMENT)[documents]
    return found


def _parents(leaves: Rows, summaries: Ranked) -> Scores:
    """The best parent's score; the lowest of all for a chunk whose parents were not found."""
    nodes, children = summaries.outlines
    best = np.full(len(leaves), summaries.scores.min())
    order = np.argsort(leaves["high"])
    row = np.searchsorted(leaves["high"], children[:, 0], sorter=order)
    row = order[np.minimum(row, len(leaves) - 1)]
    there = leaves["high"][row] == children[:, 0]
    np.maximum.at(best, row[there], np.repeat(summaries.scores, nodes["n_children"])[there])
    return best


def _places(leaves: Rows, apart: int) -> Numbers:
    """Numbers that differ by the distance of chunks of one document, by over ``apart`` else."""
    positions = leaves["position"].astype(np.int64)
    places: Numbers = numbered(leaves["place"]) * (positions.max() + 1 + apart) + positions
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
