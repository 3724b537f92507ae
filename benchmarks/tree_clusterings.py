"""Trees by different clusterings: their sizes, what contexts hold, and CPU seconds.

    python benchmarks/tree_clusterings.py qmsum.jsonl --documents 12 --cache trees/
    python benchmarks/tree_clusterings.py qmsum.jsonl --documents 12 --cache trees/ \
        --methods raptor linkage:6 --strategies collapsed

The first documents of a data set with general and specific questions are built by each method.
Differences are to the first method, question by question. Seconds are of the clustering alone, of
all layers of all trees, in one more pass over the vectors.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
from general_recall import BUDGETS_TOKENS
from measuring import print_head, print_row

from raptor_core import Settings
from raptor_core.evaluation.bootstrap import interval_text
from raptor_core.evaluation.compare import Comparison, Figure, by_kind, compare, join
from raptor_core.evaluation.datasets import load_dataset
from raptor_core.evaluation.datasets.base import Dataset
from raptor_core.evaluation.index import Index, open_index, tree_statistics
from raptor_core.evaluation.systems import StrategySystem
from raptor_core.nodes import grouped
from raptor_core.tree.cache import MemoryCache
from raptor_core.tree.components import Components

METHODS = ("raptor", "gmm", "linkage", "louvain", "watershed")
STRATEGIES = ("hybrid", "collapsed", "traversal")


class KeptCache(MemoryCache):
    """Cache that all methods share, so that each text is embedded once."""

    def forget(self, trees: Collection[str]) -> None:
        """Forget nothing."""


def first_documents(dataset: Dataset, n_documents: int) -> Dataset:
    """Return the first documents of a data set with their questions."""
    documents = dataset.documents[:n_documents]
    names = {document.id for document in documents}
    questions = tuple(q for q in dataset.questions if q.document in names)
    return replace(dataset, documents=documents, questions=questions)


def components_of(name: str, cache: MemoryCache) -> Components:
    """Return the default components with another clustering, such as "linkage" or "linkage:6"."""
    settings = Settings()
    method, _, size = name.partition(":")
    changes: dict[str, object] = {"method": method} | ({"cluster_size": int(size)} if size else {})
    clustering = settings.clustering.model_copy(update=changes)
    return Components(settings.model_copy(update={"clustering": clustering}), cache=cache)


def clustering_seconds(index: Index) -> float:
    """Return the CPU seconds that the clustering of all layers takes."""
    layers = grouped(index.store.nodes(), lambda node: (node.tree, node.layer))
    clusterer = index.components.clusterer
    seconds = 0.0
    for number, nodes in enumerate([next(iter(layers.values())), *layers.values()]):
        vectors = index.store.vectors(node.embedding_key for node in nodes)
        rows = np.stack([vectors[node.embedding_key] for node in nodes])
        n_tokens = np.array([node.n_tokens for node in nodes])
        start = time.process_time()
        clusterer.cluster(rows, n_tokens)
        seconds += (time.process_time() - start) * (number > 0)  # the first call imports
    return seconds


def print_sizes(indexes: dict[str, Index]) -> None:
    """Print the sizes of the trees of each method, and the seconds of its clustering."""
    print_head("method", "nodes by layer", "per 1,000 leaves", "children", "tokens", "seconds")
    for method, index in indexes.items():
        sizes = tree_statistics(index)
        leaves, summaries = sizes.nodes_by_layer[0], sum(sizes.nodes_by_layer[1:])
        print_row(
            method,
            ", ".join(map(str, sizes.nodes_by_layer)),
            f"{1000 * summaries / leaves:.0f}",
            f"{sizes.mean_children:.2f}",
            f"{sizes.mean_summary_tokens:.0f}",
            f"{clustering_seconds(index):.1f}",
        )


def cell_of(figure: Figure) -> str:
    """Write a mean, and its difference to the first method."""
    change = figure.difference
    against = f", {interval_text(change.interval, '+')}, p {change.p:.3f}" if change else ""
    return interval_text(figure.mean) + against


def print_recall(comparison: Comparison, strategy: str) -> None:
    """Print a row for each kind of question and method; a cell for each budget."""
    print_head("strategy", "questions", "method", *map(str, comparison.budgets))
    for kind, part in by_kind(comparison).items():
        for measure in part.measures:
            for method in part.at(part.budgets[0]):
                figures = [part.at(budget)[method].figures.get(measure) for budget in part.budgets]
                cells = [cell_of(figure) for figure in figures if figure]
                print_row(strategy, f"{kind}, {measure}", method, *cells)


def main() -> None:
    """Build the trees of each method, and compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--documents", type=int, default=12)
    parser.add_argument("--cache", type=Path, required=True, help="folder that keeps trees")
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--strategies", nargs="+", default=STRATEGIES)
    arguments = parser.parse_args()
    dataset, cache = (
        first_documents(load_dataset(arguments.dataset), arguments.documents),
        KeptCache(),
    )
    with ExitStack() as stack:
        indexes: dict[str, Index] = {}
        for method in arguments.methods:
            opened = open_index(dataset, components_of(method, cache), arguments.cache)
            indexes[method] = stack.enter_context(opened)
        print_sizes(indexes)
        for strategy in arguments.strategies:
            compared: Sequence[Comparison] = [
                compare(index, [StrategySystem(method, strategy)], BUDGETS_TOKENS)
                for method, index in indexes.items()
            ]
            scores = [score for comparison in compared[1:] for score in comparison.scores]
            print_recall(join(compared[0], scores), strategy)


if __name__ == "__main__":
    main()
