"""A real Qdrant server: requests and milliseconds of a search, alone and beside publishers.

    python benchmarks/server.py http://127.0.0.1:6333 [--nodes 10000] [--seconds 10]

Nodes as in ``query.py`` in trees of 100, published through the store into a corpus of its own,
which is removed at the end. Publishers are processes that publish other trees than those that are
searched for, half of each new, again and again. The baseline is qdrant-client alone on the same
collection, in turn with ours: the best 20 points by vector with their payloads, in one request.
Requests are counted by the server.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from qdrant_client import QdrantClient, models
from query import IDENTITY, N_DIMS, WORDS, unit_vectors

from raptor_core.identity import embedding_key, leaf_id
from raptor_core.nodes import Node
from raptor_core.retrieval import Query, Questions
from raptor_core.retrieval.retriever import STRATEGIES
from raptor_core.settings.stores import StoreSettings
from raptor_core.store import Manifest, VectorStore, Where, open_store
from raptor_core.vectors import Vectors

TREE_NODES = 100
TOP = 20
BUSY_TREES = 8
"""Trees that each publisher publishes in turn."""


def make_tree(tree: str, round_number: int) -> list[Node]:
    """Make a tree of chunks, every second of which changes in each round."""
    made = []
    for at in range(TREE_NODES):
        key = f"{tree} {at} {round_number if at % 2 else 0}"
        rng = np.random.default_rng(list(key.encode()))
        words = np.minimum(rng.zipf(1.2, 70), len(WORDS)) - 1
        text = " ".join(WORDS[k] for k in words)[:400]
        name = f"{tree}.md"
        made.append(
            Node(
                id=leaf_id(tree, name, key),
                tree=tree,
                layer=0,
                content_key=key,
                text=text,
                n_tokens=90,
                position=at,
                documents=(name,),
                children=(),
                fingerprint="chunking",
                embedding_key=embedding_key(key, "random"),
                start=0,
                end=len(text),
                section=("Part", "Chapter"),
                source=f"/library/{name}",
            )
        )
    return made


def vectors_of(nodes: list[Node]) -> Vectors:
    """A random unit vector for each node."""
    seeds = [int(node.embedding_key[:12], 16) for node in nodes]
    rows = np.stack([np.random.default_rng(s).standard_normal(N_DIMS) for s in seeds])
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def publish(store: VectorStore, tree: str, round_number: int) -> None:
    """Publish a tree as it is in a round."""
    nodes = make_tree(tree, round_number)
    keys = (node.embedding_key for node in nodes)
    vectors = dict(zip(keys, vectors_of(nodes), strict=True))
    build = f"{tree} {round_number}"
    documents = {f"{tree}.md": build}
    store.publish(Manifest(tree, build, (len(nodes),), 9000, documents, "", "", ""), nodes, vectors)


def keep_publishing(settings: StoreSettings, number: int, enough: Any, n_done: Any) -> None:
    """Run a publisher's process."""
    with open_store(settings, None, IDENTITY) as store:
        round_number = 0
        while not enough.is_set():
            round_number += 1
            for at in range(BUSY_TREES):
                publish(store, f"busy-{number}-{at}", round_number)
                with n_done.get_lock():
                    n_done.value += 1


@contextmanager
def publishers(settings: StoreSettings, n: int) -> Iterator[Any]:
    """Run processes that publish; yield the counter of what they published."""
    context = multiprocessing.get_context("spawn")
    enough, n_done = context.Event(), context.Value("i", 0)
    started = [
        context.Process(target=keep_publishing, args=(settings, number, enough, n_done))
        for number in range(n)
    ]
    for process in started:
        process.start()
    while n_done.value < n:
        time.sleep(0.1)
    yield n_done
    enough.set()
    for process in started:
        process.join()


def n_requests(url: str) -> int:
    """Return the number of answered requests, except those for metrics."""
    with urllib.request.urlopen(f"{url}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    counts = ("rest_responses_total{",)
    return sum(
        int(float(line.split()[-1]))
        for line in lines
        if line.startswith(counts) and "/metrics" not in line
    )


def systems(
    store: VectorStore, client: QdrantClient, tree: str, collection: str = "corpus"
) -> dict[str, Callable[[int], object]]:
    """Return the functions to time by name; each takes the number of a question."""
    questions = unit_vectors(1000, seed=5)
    rng = np.random.default_rng(6)
    texts = [" ".join(rng.choice(WORDS[:5000], 8)) for _ in range(1000)]

    def ours(strategy: str, where: Where) -> Callable[[int], object]:
        query = Query(strategy, where=where, budget_tokens=2000)

        def ask(number: int) -> object:
            row = number % len(texts)
            asked = Questions((texts[row],), questions[row : row + 1])
            found = STRATEGIES[strategy]
            return store.read_consistently(lambda read: found.retrieve(asked, query, read))

        return ask

    def bare(number: int) -> object:
        row = questions[number % len(texts)].tolist()
        return client.query_points(collection, query=row, using="dense", limit=TOP)

    here = Where(trees=(tree,))
    return {
        "client": bare,
        "flat, all trees": ours("flat", Where()),
        "flat, one tree": ours("flat", here),
        "lexical, all trees": ours("lexical", Where()),
        "hybrid, all trees": ours("hybrid", Where()),
        "hybrid, one tree": ours("hybrid", here),
    }


def measure(asked: dict[str, Callable[[int], object]], seconds: float) -> dict[str, list[float]]:
    """Measure the milliseconds of each system, in turn, for a given time."""
    taken: dict[str, list[float]] = {name: [] for name in asked}
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        for name, ask in asked.items():
            start = time.perf_counter()
            ask(number)
            taken[name].append(1e3 * (time.perf_counter() - start))
        number += 1
    return taken


def tell(taken: dict[str, list[float]], title: str) -> None:
    """Print one line for each system; ratios are to the plain client."""
    print(title)
    base = np.percentile(taken["client"], [50, 99])
    for name, values in taken.items():
        p50, p99 = np.percentile(values, [50, 99])
        ratios = f"{p50 / base[0]:5.2f} {p99 / base[1]:5.2f}"
        print(f"  {name:20} p50 {p50:7.1f} ms  p99 {p99:7.1f} ms  to client {ratios}")


def fill(store: VectorStore, client: QdrantClient, n_trees: int) -> None:
    """Publish the trees; then write the same points with the plain client, 1,000 at a time."""
    made = [make_tree(f"tree-{at}", 0) for at in range(n_trees)]
    for nodes in made:
        vectors_of(nodes)
    start = time.monotonic()
    for at in range(n_trees):
        publish(store, f"tree-{at}", 0)
    ours = time.monotonic() - start
    start = time.monotonic()
    for at in range(n_trees):
        vectors_of(make_tree(f"tree-{at}", 0))
    ours -= time.monotonic() - start
    print(f"filled: {n_trees * TREE_NODES} nodes in {ours:.1f} s, each tree a commit", end="; ")
    print(f"the client alone {fill_alone(client, 'corpus'):.1f} s")


def fill_alone(client: QdrantClient, name: str) -> float:
    """Seconds in which the client alone writes the same points into a collection made alike."""
    info = client.get_collection(name).config.params
    client.create_collection(
        "alone",
        vectors_config=info.vectors,
        sparse_vectors_config=info.sparse_vectors,
        on_disk_payload=info.on_disk_payload,
    )
    seconds, offset = 0.0, None
    while True:
        points, offset = client.scroll(name, limit=1000, offset=offset, with_vectors=True)
        rows = [models.PointStruct(id=p.id, vector=p.vector, payload=p.payload) for p in points]
        start = time.monotonic()
        client.upsert("alone", rows, wait=True)
        seconds += time.monotonic() - start
        if offset is None:
            break
    client.delete_collection("alone")
    return seconds


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--publishers", type=int, nargs="+", default=[0, 1, 4])
    given = parser.parse_args()
    settings = StoreSettings(kind="server", url=given.url)
    client = QdrantClient(
        url=given.url,
        check_compatibility=False,
        timeout=60,
    )
    names = [each.name for each in client.get_collections().collections]
    if names:
        raise SystemExit(f"{given.url} holds {names}; the benchmark wants a server of its own")
    n_trees = given.nodes // TREE_NODES
    with open_store(settings, None, IDENTITY) as store:
        fill(store, client, n_trees)
    before = n_requests(given.url)
    with open_store(settings, None) as store:
        print(f"opening: {n_requests(given.url) - before} requests")
        asked = systems(store, client, f"tree-{n_trees // 2}")
        for name, ask in asked.items():
            counts = [n_requests(given.url)]
            for number in [*range(11), *range(1, 11)]:
                ask(number)
                counts.append(n_requests(given.url))
            new, again = counts[11] - counts[1], counts[21] - counts[11]
            print(f"{name}: {new / 10:g} requests, {again / 10:g} of what was asked before")
        for n in given.publishers:
            with publishers(settings, n) as n_done:
                before = n_done.value
                taken = measure(asked, given.seconds)
                rate = (n_done.value - before) / given.seconds
            tell(taken, f"{n} publishers, {rate:.1f} trees a second")
    for name in [one.name for one in client.get_collections().collections]:
        client.delete_collection(name)


if __name__ == "__main__":
    main()
