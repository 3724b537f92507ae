"""The score of a chunk from its own text, its surroundings and its document; what scores tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from raptor_core.retrieval.hybrid.pool import (
    BEST_OF_DOCUMENT,
    Numbers,
    Pool,
    Scores,
    best_means,
    numbered,
    standardized,
)
from raptor_core.settings.retrieval import HybridSettings
from raptor_core.store.outlines import Outlines, Rows, full_id

N_FOLLOWING = 9
LOCAL_LEAD = 0.9
THEMATIC_LEAD = 0.4
"""Leads of the best chunk over the next nine, in standard deviations, of questions about one fact
and about a theme: over the handbook's questions the medians are 1.4 and 0.8."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """Nodes, and the parts of their scores by name, each of shape ``(len(outlines.nodes),)``."""

    outlines: Outlines
    parts: Mapping[str, Scores]

    @classmethod
    def of(cls, pool: Pool, lexical: float) -> Ranked:
        """Nodes by their own text; ``lexical`` is the weight of the lexical score."""
        dense, words = standardized(pool.dense), standardized(pool.lexical)
        return cls(pool.outlines, {"dense": (1 - lexical) * dense, "lexical": lexical * words})

    @property
    def scores(self) -> Scores:
        """All parts together."""
        return sum(self.parts.values(), np.zeros(len(self.outlines.nodes)))

    def id(self, row: int) -> str:
        """Id of a node."""
        node = self.outlines.nodes[row]
        return full_id(int(node["high"]), int(node["low"]))


def surrounded(leaves: Ranked, weights: HybridSettings) -> Ranked:
    """Chunks with what surrounds them added to their own scores, in standard deviations."""
    nodes, own = leaves.outlines.nodes, leaves.scores
    near = np.zeros(len(own))
    places = _places(nodes, len(weights.neighbours))
    for at, weight in enumerate(weights.neighbours, 1):
        near += weight * _neighbours(places, own, at)
    parts = {**leaves.parts, "neighbours": near}
    documents = numbered(nodes["document"])
    if weights.document and documents.any():
        means = best_means(documents, own, BEST_OF_DOCUMENT)[documents]
        parts["document"] = weights.document * means
    return Ranked(leaves.outlines, parts)


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


def theme(own: Scores) -> float:
    """From 0 for a question about one fact to 1 for one about a theme.

    A fact stands in one chunk, which leads; what a theme asks for stands in many, near in score.

    Args:
        own: standardized scores of the chunks by their own text, in any order.
    """
    if len(own) < 2:
        return 0.0
    best = np.sort(own)[::-1][: N_FOLLOWING + 1]
    lead = float(best[0] - best[1:].mean())
    return float(np.clip((LOCAL_LEAD - lead) / (LOCAL_LEAD - THEMATIC_LEAD), 0.0, 1.0))
