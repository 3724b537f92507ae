"""What an engine's graph over vectors misses, measured against comparing every vector."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from raptor_core.nodes import Node
from raptor_core.store.base import Hit, Where
from raptor_core.store.store import VectorStore
from raptor_core.vectors import Vectors

NOISE = 0.6
"""Length of the random vector that is added to a node's: the cosine to that is .86 then."""

TIED = 2e-6
"""Scores that differ by less are equal: texts that occur twice have one vector."""

SEED = 7


@dataclass(frozen=True, slots=True)
class SearchRecall:
    """Share of the true nearest that searches found, and the median time of a search."""

    recall: float
    milliseconds: float
    exact_milliseconds: float


@dataclass(frozen=True, slots=True)
class StoreRecall:
    """Recall of searches over all trees, and of searches within one."""

    n_samples: int
    all_trees: SearchRecall
    one_tree: SearchRecall


def search_recall(store: VectorStore, n_samples: int, top: int) -> StoreRecall:
    """Search as usual and exactly for disturbed vectors of nodes, drawn with a fixed seed.

    At most ``n_samples`` are drawn, of trees by their number of nodes; a search gives ``top`` hits.
    """
    nodes = _drawn(store, n_samples)
    vectors = store.vectors(node.embedding_key for node in nodes)
    nodes = [node for node in nodes if node.embedding_key in vectors]
    asked = _disturbed(np.stack([vectors[node.embedding_key] for node in nodes]))
    return StoreRecall(
        len(nodes),
        _measured(store, asked, [Where()] * len(nodes), top),
        _measured(store, asked, [Where(trees=(node.tree,)) for node in nodes], top),
    )


def _drawn(store: VectorStore, n_samples: int) -> list[Node]:
    """Nodes of trees that are drawn by size; few trees are read."""
    rng = np.random.default_rng(SEED)
    marks = store.marks()
    sizes = np.array([mark.n_nodes for mark in marks], dtype=float)
    wanted = rng.choice(len(marks), n_samples, p=sizes / sizes.sum())
    drawn: list[Node] = []
    for at, n_wanted in zip(*np.unique(wanted, return_counts=True), strict=True):
        nodes = store.nodes(Where(trees=(marks[at].tree,)))
        chosen = rng.choice(len(nodes), min(n_wanted, len(nodes)), replace=False)
        drawn += [nodes[row] for row in sorted(chosen)]
    return drawn


def _disturbed(vectors: Vectors) -> Vectors:
    noise = np.random.default_rng(SEED).standard_normal(vectors.shape)
    noise *= NOISE / np.linalg.norm(noise, axis=1, keepdims=True)
    moved = vectors + noise
    units: Vectors = (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)
    return units


def _measured(
    store: VectorStore, asked: Vectors, filters: Sequence[Where], top: int
) -> SearchRecall:
    shares, usual, exact = [], [], []
    for row, where in enumerate(filters):
        vector = asked[row : row + 1]
        true, seconds = _timed(partial(store.search, vector, top, where, exact=True))
        exact.append(seconds)
        hits, seconds = _timed(partial(store.search, vector, top, where))
        usual.append(seconds)
        least = true[0][-1].score - TIED
        shares.append(sum(hit.score >= least for hit in hits[0]) / len(true[0]))
    to_ms = 1e3
    return SearchRecall(
        float(np.mean(shares)), to_ms * float(np.median(usual)), to_ms * float(np.median(exact))
    )


def _timed(search: Callable[[], list[list[Hit]]]) -> tuple[list[list[Hit]], float]:
    start = time.perf_counter()
    hits = search()
    return hits, time.perf_counter() - start
