"""Milliseconds of a search in the store, over the embedding of the question.

Random unit vectors of 384 dimensions, nodes with 400 characters of text, trees of 500 nodes,
top 20, payloads turned into nodes. The baseline is a numpy matrix product and ``argpartition``
over the same vectors in memory (for one tree: over its rows), which finds row numbers and
nothing else. Recall is the share of the exact top 20 that the store found; random vectors are the
hardest case for a graph index. "Hybrid" is the default strategy with all it reads and weighs, up to
a context of 2,000 tokens. Each tree has one of 50 groups as readers, each fifth everyone; "one
caller" has five groups, and its baseline is the same search without readers.

    python benchmarks/query.py [--sizes 1000 10000 100000] [--kind edge] [--root DIR]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measuring import disk_bytes, print_head

from raptor_core.identity import digest, embedding_key, summary_id
from raptor_core.nodes import Node
from raptor_core.retrieval import Query, Questions
from raptor_core.retrieval.hybrid import Hybrid
from raptor_core.settings.stores import StoreSettings
from raptor_core.store import Manifest, StoreIdentity, VectorStore, Where, open_store
from raptor_core.vectors import Vectors

N_DIMS = 384
TREE_NODES = 500
TEXT_CHARS = 400
TOP = 20
QUERIES = 200
GROUPS = 50
IDENTITY = StoreIdentity("corpus", "random", "0123456789abcdef", N_DIMS)
WORDS = [f"w{i}" for i in range(20_000)]


def unit_vectors(n: int, seed: int) -> Vectors:
    rows = np.random.default_rng(seed).standard_normal((n, N_DIMS), dtype=np.float32)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def make_nodes(n: int, tree_nodes: int = TREE_NODES) -> list[Node]:
    """Nodes of words whose frequencies fall as in natural text."""
    rng = np.random.default_rng(7)
    picks = np.minimum(rng.zipf(1.2, (n, 80)), len(WORDS)) - 1
    texts = (" ".join(WORDS[k] for k in row)[:TEXT_CHARS] for row in picks)
    return [make_node(i, text, tree_nodes) for i, text in enumerate(texts)]


def make_node(i: int, text: str, tree_nodes: int) -> Node:
    tree = f"tree-{i // tree_nodes}"
    key = digest(tree, str(i))
    return Node(
        id=summary_id(tree, 0, key),
        tree=tree,
        layer=0,
        content_key=key,
        text=text,
        n_tokens=90,
        position=i % tree_nodes,
        documents=(f"{tree}.md",),
        children=(),
        fingerprint="chunking",
        embedding_key=embedding_key(f"{i}", "random"),
        start=0,
        end=len(text),
        section=("Part", "Chapter"),
        source=f"/library/{tree}.md",
        metadata={"language": "en", "year": 2000 + i % 20},
        quality={"compression_ratio": 0.28},
    )


def fill(store: VectorStore, nodes: list[Node], vectors: Vectors) -> None:
    """Publish tree by tree."""
    for at in range(0, len(nodes), TREE_NODES):
        rows = slice(at, at + TREE_NODES)
        part, tree = nodes[rows], nodes[at].tree
        number, document = at // TREE_NODES, f"{tree}.md"
        readers = {document: (f"group:{number % GROUPS}" if number % 5 else "*",)}
        manifest = Manifest(
            *(tree, f"b{at}", (len(part),), 90 * len(part), {document: "h"}, "", "", ""),
            readers=readers,
        )
        keys = (node.embedding_key for node in part)
        store.publish(manifest, part, dict(zip(keys, vectors[rows], strict=True)))


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def times_ms(call: Callable[[int], object]) -> tuple[float, float]:
    """Median and 95th percentile over all questions, after ten that warm up."""
    for i in range(10):
        call(i)
    taken = [1e3 * seconds(lambda i=i: call(i)) for i in range(QUERIES)]  # type: ignore[misc]
    return float(np.median(taken)), float(np.percentile(taken, 95))


def exact_top(vectors: Vectors, question: Vectors) -> np.ndarray:
    scores = vectors @ question
    top = np.argpartition(scores, -TOP)[-TOP:]
    return top[np.argsort(-scores[top])]


def recall(store: VectorStore, nodes: list[Node], vectors: Vectors, questions: Vectors) -> float:
    found = 0
    for question in questions[:50]:
        exact = {nodes[row].id for row in exact_top(vectors, question)}
        found += sum(hit.node.id in exact for hit in store.search(question[None], TOP)[0])
    return found / (50 * TOP)


def report(name: str, n: int, ours: tuple[float, float], base: tuple[float, float] | None) -> str:
    known = "" if base is None else f"{base[0]:.2f} / {base[1]:.2f}"
    ratio = "" if base is None else f"{ours[0] / base[0]:.2f}"
    return f"| {n:,} | {name} | {ours[0]:.2f} / {ours[1]:.2f} | {known} | {ratio} |"


def measure(store: VectorStore, nodes: list[Node], vectors: Vectors) -> list[str]:
    n = len(nodes)
    questions = unit_vectors(QUERIES, 99)
    trees = [nodes[(i * 7919) % n].tree for i in range(QUERIES)]
    starts = [int(tree.split("-")[1]) * TREE_NODES for tree in trees]
    rng = np.random.default_rng(5)
    texts = [" ".join(WORDS[k] for k in rng.integers(0, 2000, 6)) for _ in range(QUERIES)]
    every = times_ms(lambda i: store.search(questions[i][None], TOP))
    every_base = times_ms(lambda i: exact_top(vectors, questions[i]))
    tree = times_ms(lambda i: store.search(questions[i][None], TOP, Where(trees=(trees[i],))))
    tree_base = times_ms(
        lambda i: exact_top(vectors[starts[i] : starts[i] + TREE_NODES], questions[i])
    )
    lexical = times_ms(lambda i: store.search_text([texts[i]], TOP))

    def hybrid(i: int, where: Where) -> object:
        asked = Questions((texts[i],), questions[i][None])
        return Hybrid().retrieve(asked, Query(where=where), store)

    hybrid_every = times_ms(lambda i: hybrid(i, Where()))
    callers = [
        Where(readers=tuple(f"group:{(i + k) % GROUPS}" for k in range(5))) for i in range(QUERIES)
    ]
    flat_caller = times_ms(lambda i: store.search(questions[i][None], TOP, callers[i]))
    hybrid_caller = times_ms(lambda i: hybrid(i, callers[i]))
    hybrid_tree = times_ms(lambda i: hybrid(i, Where(trees=(trees[i],))))
    return [
        report("all trees", n, every, every_base),
        report("one tree", n, tree, tree_base),
        report("lexical, all trees", n, lexical, None),
        report("hybrid, all trees", n, hybrid_every, None),
        report("hybrid, one tree", n, hybrid_tree, None),
        report("one caller", n, flat_caller, every),
        report("hybrid, one caller", n, hybrid_caller, hybrid_every),
    ]


def run(n: int, kind: str, root: Path) -> tuple[list[str], str]:
    nodes, vectors = make_nodes(n), unit_vectors(n, 1)
    settings = StoreSettings.model_validate({"kind": kind})
    with open_store(settings, root, IDENTITY) as store:
        filled = seconds(lambda: fill(store, nodes, vectors))
        optimized = seconds(store.optimize)
        rows = measure(store, nodes, vectors)
        share = recall(store, nodes, vectors, unit_vectors(50, 99))
    opened = seconds(lambda: open_store(settings, root).close())
    size = disk_bytes(root) / 2**20
    return rows, (
        f"| {n:,} | {filled:.1f} | {optimized:.1f} | {opened:.2f} | {size:.0f} | {share:.3f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--kind", default="edge", choices=["edge"])
    parser.add_argument("--root", type=Path, default=None, help="where the stores are put")
    given = parser.parse_args()
    facts = []
    times = ("store p50 / p95, ms", "baseline p50 / p95, ms")
    print_head("nodes", "search", *times, "ratio of p50")
    for n in given.sizes:
        with tempfile.TemporaryDirectory(dir=given.root) as place:
            rows, fact = run(n, given.kind, Path(place))
        print("\n".join(rows), flush=True)
        facts.append(fact)
    print()
    print_head("nodes", "fill, s", "optimize, s", "open and close, s", "on disk, MB", "recall@20")
    print("\n".join(facts))


if __name__ == "__main__":
    main()
