"""The tree that readers see, as a value: what the next rebuild goes on from."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from raptor_core.errors import StoreError
from raptor_core.store.base import VectorStore, Where
from raptor_core.tree.values import End, Layer, Tree


def published_tree(store: VectorStore, name: str) -> Tree | None:
    """The published tree of this name with its vectors; None where nothing is published.

    Raises:
        StoreError: the store lost a vector of it, or it holds other nodes than its manifest says.
    """
    manifests = store.manifests([name])
    if not manifests:
        return None
    manifest = manifests[0]
    nodes = store.nodes(Where(trees=(name,)))
    vectors = store.vectors(node.embedding_key for node in nodes)
    missing = sum(node.embedding_key not in vectors for node in nodes)
    layers = [tuple(found) for _, found in groupby(nodes, key=lambda node: node.layer)]
    sizes = tuple(map(len, layers))
    if missing or sizes != manifest.layer_sizes:
        raise StoreError(
            f"the published tree {name!r} is damaged: layers of {sizes} nodes where its manifest "
            f"says {manifest.layer_sizes}, {missing} vectors missing. Drop the tree and build it "
            "again"
        )
    return Tree(
        name,
        tuple(
            Layer(found, np.stack([vectors[node.embedding_key] for node in found]))
            for found in layers
        ),
        End(len(layers) - 1, manifest.end),
        manifest.fits,
    )
