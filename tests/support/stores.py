"""Nodes, vectors and manifests for the store's tests."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from raptor_core.identity import digest, embedding_key, summary_id
from raptor_core.nodes import Node
from raptor_core.settings.stores import StoreSettings
from raptor_core.store import Manifest, StoreIdentity, TreeEdition, VectorStore, Where, open_store
from raptor_core.store.engines.base import live_condition

N_DIMS = 16
PROCESS_PATH = os.pathsep.join(str(Path(__file__).parents[up]) for up in (2, 1))
"""PYTHONPATH of a test's own processes: the packages, then ``tests``."""

IDENTITY = StoreIdentity("corpus", "sample-model", "ab12cd34ef567890", N_DIMS)
NEWER = StoreIdentity("corpus", "newer-model", "ffff00001111", 24)


def make_node(tree="t", layer=0, text="a text", position=0, **values) -> Node:
    key = digest(str(layer), text, str(position))
    given = {
        "id": summary_id(tree, layer, key),
        "tree": tree,
        "layer": layer,
        "content_key": key,
        "text": text,
        "n_tokens": len(text.split()),
        "position": position,
        "documents": ("d.md",),
        "children": (),
        "fingerprint": "chunking",
        "embedding_key": embedding_key(text, "embedder"),
    }
    return Node(**(given | values))


def make_tree(tree="t", n=12, word="words") -> list[Node]:
    """``n`` leaves and one summary over each four."""
    leaves = [
        make_node(tree, 0, f"{word} leaf {i} of {tree}", i, documents=(f"d{i % 3}.md",))
        for i in range(n)
    ]
    summaries = [
        make_node(
            tree,
            1,
            f"{word} summary {at} of {tree}",
            at,
            documents=("d0.md", "d1.md", "d2.md"),
            children=tuple(leaf.id for leaf in leaves[at : at + 4]),
        )
        for at in range(0, n, 4)
    ]
    return leaves + summaries


def vectors_of(nodes, n_dims=N_DIMS) -> np.ndarray:
    """A random unit vector for each embedding key, the same in every process."""
    rows = [
        np.random.default_rng(int(node.embedding_key[:12], 16)).standard_normal(n_dims)
        for node in nodes
    ]
    stacked = np.array(rows, dtype=np.float64).reshape(len(nodes), n_dims)
    return (stacked / np.linalg.norm(stacked, axis=1, keepdims=True)).astype(np.float32)


def keyed_vectors(nodes, n_dims=N_DIMS) -> dict[str, np.ndarray]:
    """The same by embedding key."""
    keys = [node.embedding_key for node in nodes]
    return dict(zip(keys, vectors_of(nodes, n_dims), strict=True))


def make_manifest(nodes, tree="t", published_at="2026-01-01T00:00:00Z") -> Manifest:
    layers = [node.layer for node in nodes]
    sizes = tuple(layers.count(layer) for layer in range(max(layers, default=-1) + 1))
    return Manifest(
        tree=tree,
        build_id=digest(*sorted(node.id for node in nodes)),
        layer_sizes=sizes,
        n_tokens=sum(node.n_tokens for node in nodes),
        documents={d: digest(d) for node in nodes for d in node.documents},
        end="one node is left",
        settings_fingerprint="settings",
        published_at=published_at,
    )


def publish(store: VectorStore, nodes, tree="t"):
    vectors = keyed_vectors(nodes, store.identity.n_dims)
    return store.publish(make_manifest(nodes, tree), nodes, vectors)


def publish_together(store: VectorStore, trees, dropped=()):
    """Nodes by tree, in one commit; what it changed of each, and how many nodes it dropped."""
    with store.publish_together() as publishing:
        done = publishing.publish(
            [edition(nodes, tree, store.identity.n_dims) for tree, nodes in trees.items()]
        )
        return done, publishing.drop(dropped)


def edition(nodes, tree="t", n_dims=N_DIMS) -> TreeEdition:
    """The nodes of a tree with their manifest and vectors."""
    return TreeEdition(make_manifest(nodes, tree), nodes, keyed_vectors(nodes, n_dims))


def open_at(
    root: Path | None, kind="edge", identity=IDENTITY, owner=None, **settings
) -> VectorStore:
    settings = StoreSettings(kind=kind, **settings)
    return open_store(settings, root, identity, owner=owner)


def rebuild(tree: str, number: int) -> list[Node]:
    """The tree's nodes after its ``number``-th rebuild: some stay, some come, some go."""
    kept = make_tree(tree, 8, "kept")
    fresh = make_tree(tree, 8 + 4 * (number % 4), f"round{number}")
    return [node for node in kept if node.position % 3 != number % 3] + fresh


def faults(store: VectorStore) -> list[str]:
    """What a reader finds wrong: anything but the nodes of each manifest's build, whole."""
    found = []
    for manifest in store.manifests():
        where = Where(trees=(manifest.tree,))
        nodes = store.nodes(where)
        made = make_manifest(nodes, manifest.tree)
        if (made.build_id, made.layer_sizes) != (manifest.build_id, manifest.layer_sizes):
            found.append(f"{manifest.tree}: {manifest.layer_sizes} named, {made.layer_sizes} found")
        ids = {node.id for node in nodes}
        lists = (
            store.search(vectors_of(nodes[:1], store.identity.n_dims), 99, where)[0],
            store.search_text([f"of {manifest.tree}"], 99, where)[0],
        )
        found += [
            f"{manifest.tree}: a search finds {len(hits)} of {len(ids)}"
            for hits in lists
            if {hit.node.id for hit in hits} != ids
        ]
    return found


def live_ids(store, tree):
    """Return the node ids of a tree's live points, sorted; twice where two points have one."""
    with store._lock_while_open():
        points = store._engine.scroll(live_condition(Where(trees=(tree,))), ("node_id",))
        return sorted(point.payload["node_id"] for point in points)
