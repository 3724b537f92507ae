"""Recall of the search by vectors, against a comparison with every vector.

Vectors of sampled nodes plus noise are searched for as usual and exactly, over all trees and within
their tree. A higher ``store.hnsw_ef`` raises the recall.

    python benchmarks/search_recall.py [--home .raptor] [--samples 200] [--top 20]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from raptor_assets.home.folder import Home
from raptor_core.home.published import open_published
from raptor_core.nodes import Node
from raptor_core.store.base import Where
from raptor_core.store.store import VectorStore
from raptor_core.vectors import Vectors

NOISE = 0.6  # length of the random vector that is added to a node's, for a cosine of 0.86
TIED = 2e-6  # largest difference of equal scores
SEED = 7


@dataclass(frozen=True, slots=True)
class SearchRecall:
    """Share of the exact hits that searches return, and median times."""

    recall: float
    milliseconds: float
    exact_milliseconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", type=Path, default=Path(".raptor"))
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--top", type=int, default=20)
    arguments = parser.parse_args()
    opened, settings = Home.open_with_settings(arguments.home)
    with open_published(opened, settings) as store:
        nodes = _sample(store, arguments.samples)
        vectors = store.vectors(node.embedding_key for node in nodes)
        nodes = [node for node in nodes if node.embedding_key in vectors]
        queries = _add_noise(np.stack([vectors[node.embedding_key] for node in nodes]))
        one_tree = [Where(trees=(node.tree,)) for node in nodes]
        print(f"{len(nodes)} searches for the nearest {arguments.top} nodes")
        for name, filters in (("all trees", [Where()] * len(nodes)), ("one tree", one_tree)):
            part = _measure(store, queries, filters, arguments.top)
            print(
                f"{name}: recall {part.recall:.3f}, median {part.milliseconds:.1f} ms; "
                f"comparing every vector {part.exact_milliseconds:.1f} ms"
            )


def _sample(store: VectorStore, n_samples: int) -> list[Node]:
    """Draw trees by size, then nodes in them, so that few trees are read."""
    rng = np.random.default_rng(SEED)
    manifests = store.manifests()
    sizes = np.array([sum(manifest.layer_sizes) for manifest in manifests], dtype=float)
    trees = rng.choice(len(manifests), n_samples, p=sizes / sizes.sum())
    drawn: list[Node] = []
    for at, count in zip(*np.unique(trees, return_counts=True), strict=True):
        nodes = store.nodes(Where(trees=(manifests[at].tree,)))
        rows = rng.choice(len(nodes), min(count, len(nodes)), replace=False)
        drawn += [nodes[row] for row in sorted(rows)]
    return drawn


def _add_noise(vectors: Vectors) -> Vectors:
    noise = np.random.default_rng(SEED).standard_normal(vectors.shape)
    noise *= NOISE / np.linalg.norm(noise, axis=1, keepdims=True)
    moved = vectors + noise
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), dtype=np.float32)


def _measure(
    store: VectorStore, queries: Vectors, filters: Sequence[Where], top: int
) -> SearchRecall:
    shares, seconds = [], []
    for row, where in enumerate(filters):
        search = partial(store.search, queries[row : row + 1], top, where)
        started = time.perf_counter()
        (true,) = search(exact=True)
        between = time.perf_counter()
        (hits,) = search()
        seconds.append((time.perf_counter() - between, between - started))
        least = true[-1].score - TIED
        shares.append(sum(hit.score >= least for hit in hits) / len(true))
    usual, exact = 1e3 * np.median(seconds, axis=0)
    return SearchRecall(float(np.mean(shares)), float(usual), float(exact))


if __name__ == "__main__":
    main()
