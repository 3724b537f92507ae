"""Recall of the search by vectors, against a comparison with every vector."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from raptor_core.nodes import Node
from raptor_core.store.base import Where
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
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), dtype=np.float32)


def _measured(
    store: VectorStore, asked: Vectors, filters: Sequence[Where], top: int
) -> SearchRecall:
    shares, seconds = [], []
    for row, where in enumerate(filters):
        search = partial(store.search, asked[row : row + 1], top, where)
        started = time.perf_counter()
        (true,) = search(exact=True)
        between = time.perf_counter()
        (hits,) = search()
        seconds.append((time.perf_counter() - between, between - started))
        least = true[-1].score - TIED
        shares.append(sum(hit.score >= least for hit in hits) / len(true))
    usual, exact = 1e3 * np.median(seconds, axis=0)
    return SearchRecall(float(np.mean(shares)), float(usual), float(exact))
