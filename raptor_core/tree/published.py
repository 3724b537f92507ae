"""The tree that readers see, as a value: what the next rebuild goes on from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

import numpy as np

from raptor_core.documents.base import Document
from raptor_core.errors import StoreError
from raptor_core.store.base import Manifest, VectorStore, Where
from raptor_core.tree.renamed import is_renamed, renamed, renamed_documents
from raptor_core.tree.values import End, Layer, Node, Tree


def earlier_trees(
    store: VectorStore,
    documents: Mapping[str, Sequence[Document]],
    leaves_of: Callable[[str], Sequence[Node]],
) -> dict[str, Tree | None]:
    """What each tree goes on from: its published state, or that of a tree which it renames.

    Args:
        store: an open store.
        documents: by tree.
        leaves_of: the leaves of a tree, asked only where it may be a renamed one.

    Raises:
        StoreError: a published tree is damaged.
    """
    manifests = {manifest.tree: manifest for manifest in store.manifests()}
    found: dict[str, Tree | None] = {}
    for tree, given in documents.items():
        source = tree if tree in manifests else _renamed_tree(manifests.values(), given)
        earlier = published_tree(store, source) if source else None
        names = renamed_documents(manifests[source], given) if source else {}
        if earlier and (names or source != tree):
            earlier = renamed(earlier, leaves_of(tree), names)
        found[tree] = earlier
    return found


def _renamed_tree(manifests: Iterable[Manifest], documents: Sequence[Document]) -> str | None:
    return next((m.tree for m in manifests if is_renamed(m, documents)), None)


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
