"""Milliseconds of a search for a general question and for a detail, over the same store.

Trees of random words, of 500 chunks (``--tree-chunks``) with a summary of every ten chunks. A
detail's search without the decision (``kind="detail"``) is the baseline of the same run. "First" is
the first general question after a publication, which reads the terms. "Part" is a question about
the chunks that have its names.

    python benchmarks/general.py [--sizes 1000 10000 100000] [--tree-chunks 500] [--root DIR]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

from measuring import print_head
from query import IDENTITY, TREE_NODES, make_nodes, unit_vectors

from raptor_core.identity import summary_id
from raptor_core.nodes import Node
from raptor_core.retrieval import Query, Questions
from raptor_core.retrieval.hybrid import Hybrid
from raptor_core.settings.stores import StoreSettings
from raptor_core.store import Manifest, VectorStore, open_store

CHILDREN = 10
REPEATS = 15
DETAIL = "Which w17 was seen beside w230 and w4100?"
GENERAL = "Summarize the whole document."
PART = "Summarize w230 and w4100."


def summaries(leaves: list[Node]) -> list[Node]:
    """Return a summary of every ten leaves, of the first words of each."""
    made = []
    for start in range(0, len(leaves), CHILDREN):
        children = leaves[start : start + CHILDREN]
        first, ids = children[0], tuple(node.id for node in children)
        text = " ".join(" ".join(node.text.split()[:8]) for node in children)
        name = summary_id(first.tree, 1, first.content_key)
        fields = {"id": name, "layer": 1, "text": text, "children": ids, "start": -1, "end": -1}
        made.append(replace(first, **fields, section=()))
    return made


def fill(store: VectorStore, n_chunks: int, tree_chunks: int) -> None:
    """Publish trees of ``tree_chunks`` chunks and their summaries."""
    leaves = make_nodes(n_chunks, tree_chunks)
    rows = unit_vectors(n_chunks, 1)
    vectors = {node.embedding_key: row for node, row in zip(leaves, rows, strict=True)}
    for start in range(0, n_chunks, tree_chunks):
        chunks = leaves[start : start + tree_chunks]
        nodes = [*chunks, *summaries(chunks)]
        sizes = (len(chunks), len(nodes) - len(chunks))
        tree, documents = chunks[0].tree, {chunks[0].documents[0]: "hash"}
        manifest = Manifest(tree, f"{tree}-1", sizes, 90 * len(nodes), documents, "", "s", "now")
        store.publish(
            manifest, nodes, {key: vectors[key] for key in {n.embedding_key for n in nodes}}
        )
    store.optimize()


def milliseconds(*calls: Callable[[], object]) -> list[float]:
    """Return the median of ``REPEATS`` calls of each; the calls take turns."""
    spent: list[list[float]] = [[] for _ in calls]
    for _ in range(REPEATS):
        for call, seconds in zip(calls, spent, strict=True):
            start = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - start)
    return [1000 * median(seconds) for seconds in spent]


def measure(n_chunks: int, tree_chunks: int, kind: str, folder: Path) -> None:
    """Print a row for one size."""
    with open_store(StoreSettings(kind=kind), folder, IDENTITY) as store:
        fill(store, n_chunks, tree_chunks)
        vector = unit_vectors(1, 9)

        def search(text: str, kind: str) -> object:
            return Hybrid().retrieve(Questions((text,), vector), Query(kind=kind), store)

        search(DETAIL, "detail")
        start = time.perf_counter()
        search(GENERAL, "auto")
        first = 1000 * (time.perf_counter() - start)
        baseline, detail, general, part = milliseconds(
            lambda: search(DETAIL, "detail"),
            lambda: search(DETAIL, "auto"),
            lambda: search(GENERAL, "auto"),
            lambda: search(PART, "general"),
        )
    repeated = [x for spent in (detail, general, part) for x in (spent, spent / baseline)]
    cells = " | ".join(f"{cell:.2f}" for cell in (baseline, *repeated, first))
    print(f"| {n_chunks:,} | {n_chunks // tree_chunks:,} | {cells} |", flush=True)


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--tree-chunks", type=int, default=TREE_NODES)
    parser.add_argument("--kind", default="edge")
    parser.add_argument("--root", type=Path)
    arguments = parser.parse_args()
    kinds = (cell for kind in ("detail", "general", "part") for cell in (kind, "ratio"))
    print_head("chunks", "trees", "baseline", *kinds, "first")
    for n_chunks in arguments.sizes:
        with tempfile.TemporaryDirectory(dir=arguments.root) as folder:
            measure(n_chunks, arguments.tree_chunks, arguments.kind, Path(folder))


if __name__ == "__main__":
    main()
