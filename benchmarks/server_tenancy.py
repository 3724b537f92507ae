"""Whether a tenant index on the tree's name helps: the same points with one and without.

    python benchmarks/server_tenancy.py http://127.0.0.1:6333 PID [--points N] [--searches N]

Random vectors in trees of 100, written in turn over all trees, as rebuilds leave them; once the
server has optimized, qdrant-client alone searches within one tree, with vectors in memory and on
disk. PID is the server's process, whose CPU seconds are told (Linux).
"""

from __future__ import annotations

import argparse
import os
import time
import uuid
from pathlib import Path

import numpy as np
from qdrant_client import QdrantClient, models
from query import N_DIMS, WORDS, unit_vectors

from raptor_core.settings.stores import StoreSettings
from raptor_core.store.engines.layout import Layout

NAME = "tenancy"
TREE_NODES = 100
BATCH = 1000


def make(client: QdrantClient, *, is_tenant: bool, on_disk: bool) -> None:
    """An empty collection as a store makes it, with the index of the tree's name set anew."""
    layout = Layout(StoreSettings(kind="server", on_disk_vectors=on_disk, indexing_threshold=10000))
    client.delete_collection(NAME)
    layout.create(client, NAME, N_DIMS)
    layout.create_indexes(client, NAME)
    client.delete_payload_index(NAME, "tree", wait=True)
    keyword = models.KeywordIndexParams(
        type=models.KeywordIndexType.KEYWORD, is_tenant=is_tenant, enable_hnsw=True
    )
    client.create_payload_index(NAME, "tree", keyword, wait=True)


def cpu_seconds(pid: int) -> float:
    """CPU seconds that a process has taken, with all its threads."""
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def fill(client: QdrantClient, n_points: int) -> None:
    """Write the points, and wait until the server has optimized them."""
    n_trees = n_points // TREE_NODES
    text = " ".join(WORDS[:60])
    for at in range(0, n_points, BATCH):
        vectors = unit_vectors(BATCH, seed=at)
        points = [
            models.PointStruct(
                id=str(uuid.UUID(int=at + row)),
                vector={"dense": vector.tolist()},
                payload={"tree": f"tree {(at + row) % n_trees}", "text": text, "state": "live"},
            )
            for row, vector in enumerate(vectors)
        ]
        client.upsert(NAME, points, wait=True)
    while client.get_collection(NAME).status != models.CollectionStatus.GREEN:
        time.sleep(0.5)


def search(client: QdrantClient, n_searches: int, n_trees: int) -> tuple[float, float]:
    """Milliseconds, p50 and p99, of the nearest 20 in one tree with their payloads."""
    taken = []
    for number, row in enumerate(unit_vectors(n_searches, seed=7)):
        match = models.MatchValue(value=f"tree {(number * 37) % n_trees}")
        here = models.Filter(must=[models.FieldCondition(key="tree", match=match)])
        start = time.perf_counter()
        client.query_points(NAME, query=row.tolist(), using="dense", query_filter=here, limit=20)
        taken.append(1e3 * (time.perf_counter() - start))
    return tuple(np.percentile(taken, [50, 99]))  # type: ignore[return-value]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("pid", type=int)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--searches", type=int, default=1000)
    given = parser.parse_args()
    client = QdrantClient(url=given.url, check_compatibility=False, timeout=600)
    for on_disk in (False, True):
        for is_tenant in (True, False, True, False):
            make(client, is_tenant=is_tenant, on_disk=on_disk)
            begun = cpu_seconds(given.pid)
            fill(client, given.points)
            filled = cpu_seconds(given.pid)
            p50, p99 = search(client, given.searches, given.points // TREE_NODES)
            each = 1e3 * (cpu_seconds(given.pid) - filled) / given.searches
            print(
                f"{'on disk' if on_disk else 'in memory'}, "
                f"{'tenant index' if is_tenant else 'plain index'}: filled and optimized in "
                f"{filled - begun:.0f} CPU s; in one tree {each:.2f} CPU ms, p50 {p50:.2f} ms, "
                f"p99 {p99:.2f} ms",
                flush=True,
            )
    client.delete_collection(NAME)


if __name__ == "__main__":
    main()
