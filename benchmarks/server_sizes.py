"""A real Qdrant server by size of the corpus and settings of memory and search.

    python benchmarks/server_sizes.py URL PID STORAGE --home .raptor --set quantization=scalar \
        --change hnsw_m=32 hnsw_ef_construct=400

PID is the server's process and STORAGE its folder. Nodes are those of a built home; where it has
too few, its trees are taken again under other names, each vector a little off (cosine .96), so that
texts are real and no two nodes are equal. They are published into a corpus of its own, many trees
in one commit, which is removed at the end. The baseline is qdrant-client alone: the same points
written by it into a second collection, 1,000 at a time, and the best 20 points by vector.

``--change``, as often as wanted, has the server arrange the same points by other settings besides,
and looks again. Printed are seconds of filling, ours and the client's, seconds until the server has
built its graph, its memory and disk, recall of the nearest 20 as `raptor eval index` tells it, and
milliseconds of searches.
"""

from __future__ import annotations

import argparse
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from measuring import disk_bytes, own_bytes
from qdrant_client import QdrantClient, models
from server import fill_alone, measure, systems, tell

from raptor_core.settings.stores import StoreSettings
from raptor_core.store import Edition, StoreIdentity, VectorStore, Where, open_store
from raptor_core.vectors import Vectors
from raptor_lab.search_recall import search_recall

NOISE = 0.3
COMMIT_TREES = 50
SAMPLES = 150
TOP = 20
SETTLED_SECONDS = 5.0


def disturbed(vectors: dict[str, Vectors], copy: int) -> dict[str, Vectors]:
    """The vectors under other keys, each a little off."""
    rng = np.random.default_rng(copy)
    noise = rng.standard_normal((len(vectors), len(next(iter(vectors.values())))))
    noise *= NOISE / np.linalg.norm(noise, axis=1, keepdims=True)
    rows = np.stack(list(vectors.values())) + noise
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    keys = (f"{key}-{copy}" for key in vectors)
    return dict(zip(keys, rows.astype(np.float32), strict=True))


def copied(edition: Edition, copy: int) -> Edition:
    """The tree under another name."""
    tree = f"{edition.manifest.tree}-{copy}"
    ids = {node.id: str(uuid.uuid5(uuid.UUID(node.id), str(copy))) for node in edition.nodes}
    nodes = [
        replace(
            node,
            id=ids[node.id],
            tree=tree,
            children=tuple(ids[child] for child in node.children),
            embedding_key=f"{node.embedding_key}-{copy}",
        )
        for node in edition.nodes
    ]
    manifest = replace(edition.manifest, tree=tree, build_id=f"{edition.manifest.build_id}-{copy}")
    return Edition(manifest, nodes, disturbed(dict(edition.vectors), copy))


def editions(source: VectorStore, n_nodes: int) -> Iterator[list[Edition]]:
    """Trees of a store, as many at once as go into one commit, until there are enough nodes."""
    manifests = source.manifests()
    n_given = copy = 0
    while n_given < n_nodes:
        for at in range(0, len(manifests), COMMIT_TREES):
            part = manifests[at : at + COMMIT_TREES]
            found = source.nodes(Where(trees=tuple(manifest.tree for manifest in part)))
            vectors = source.vectors(node.embedding_key for node in found)
            given = []
            for manifest in part:
                nodes = [node for node in found if node.tree == manifest.tree]
                own = {node.embedding_key: vectors[node.embedding_key] for node in nodes}
                edition = Edition(manifest, nodes, own)
                given.append(copied(edition, copy) if copy else edition)
                n_given += len(nodes)
            yield given
            if n_given >= n_nodes:
                return
        copy += 1


def fill(store: VectorStore, source: VectorStore, n_nodes: int) -> tuple[int, float]:
    """Publish; number of nodes, and seconds of publishing alone."""
    n_filled, seconds = 0, 0.0
    with store.publishing() as publisher:
        for part in editions(source, n_nodes):
            start = time.monotonic()
            publisher.publish(part)
            seconds += time.monotonic() - start
            n_filled += sum(len(edition.nodes) for edition in part)
        start = time.monotonic()
    return n_filled, seconds + time.monotonic() - start


def settle(client: QdrantClient, name: str) -> float:
    """Seconds until the server has nothing left to optimize, and goes on having nothing."""
    start = idle_since = time.monotonic()
    while time.monotonic() - idle_since < SETTLED_SECONDS:
        if client.get_collection(name).status != models.CollectionStatus.GREEN:
            idle_since = time.monotonic()
        time.sleep(0.5)
    return idle_since - start


def tell_searches(store: VectorStore, client: QdrantClient, corpus: str, seconds: float) -> None:
    """Recall, and milliseconds beside the client alone."""
    found = search_recall(store, SAMPLES, TOP)
    print(f"recall@{TOP}: {found.all_trees.recall:.3f} all trees, {found.one_tree.recall:.3f} one")
    marks = sorted(store.marks(), key=lambda mark: mark.n_nodes)
    asked = systems(store, client, marks[len(marks) // 2].tree, corpus)
    tell(measure(asked, seconds), "searches")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("pid", type=int)
    parser.add_argument("storage", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE")
    parser.add_argument("--change", nargs="+", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--not-alone", action="store_true", help="do not fill by the client alone")
    given = parser.parse_args()
    client = QdrantClient(url=given.url, check_compatibility=False, timeout=600)
    with open_store(StoreSettings(), given.home / "qdrant") as source:
        identity = replace(source.identity, corpus="sizes")
        told(identity, source, client, given)
    for one in client.get_collections().collections:
        client.delete_collection(one.name)


def store_settings(url: str, chosen: Sequence[str]) -> StoreSettings:
    """Those of the server, and what was chosen."""
    fixed = {"kind": "server", "url": url, "corpus": "sizes"}
    return StoreSettings.model_validate(fixed | dict(one.split("=", 1) for one in chosen))


def change(client: QdrantClient, name: str, settings: StoreSettings) -> None:
    """Have the server arrange what a collection holds by the settings."""
    quantized = {
        "none": models.Disabled.DISABLED,
        "scalar": models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(
                type=models.ScalarType.INT8, quantile=0.99, always_ram=True
            )
        ),
        "binary": models.BinaryQuantization(
            binary=models.BinaryQuantizationConfig(always_ram=True)
        ),
    }
    dense = models.VectorParamsDiff(
        hnsw_config=models.HnswConfigDiff(
            m=settings.hnsw_m if settings.hnsw_m >= 0 else 16,
            ef_construct=settings.hnsw_ef_construct or 100,
        ),
        quantization_config=quantized[settings.quantization],
        on_disk=settings.on_disk_vectors,
    )
    optimizers = models.OptimizersConfigDiff(indexing_threshold=settings.indexing_threshold)
    client.update_collection(name, vectors_config={"dense": dense}, optimizers_config=optimizers)


def told(
    identity: StoreIdentity, source: VectorStore, client: QdrantClient, given: argparse.Namespace
) -> None:
    """Fill, wait, search; then change, wait, search."""
    with open_store(store_settings(given.url, given.set), None, identity) as store:
        n_nodes, seconds = fill(store, source, given.nodes)
    print(f"{n_nodes:,} nodes filled in {seconds:.0f} s", flush=True)
    name = client.get_aliases().aliases[0].collection_name
    for at, chosen in enumerate([given.set, *(given.set + more for more in given.change)]):
        settings = store_settings(given.url, chosen)
        if at:
            change(client, name, settings)
        print(" ".join(chosen) or "defaults", end=": ")
        print(f"optimized {settle(client, name):.0f} s later", end="; ")
        own, whole = (own_bytes(given.pid, field) // 2**20 for field in ("RssAnon", "VmRSS"))
        memory = f"{own:,} MB of its own, {whole:,} MB with mapped files"
        disk = disk_bytes(given.storage) // 2**20
        print(f"memory {memory}; disk {disk:,} MB")
        with open_store(settings, None, identity) as store:
            tell_searches(store, client, name, given.seconds)
        sys.stdout.flush()
    if not given.not_alone:
        alone = fill_alone(client, name)
        print(f"the client alone fills in {alone:.0f} s: ratio {seconds / alone:.2f}")


if __name__ == "__main__":
    main()
