"""The tree that readers see, as a value: what the next rebuild goes on from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

import numpy as np

from raptor_core.documents.base import Document
from raptor_core.errors import DamagedTreeError
from raptor_core.identity import digest
from raptor_core.nodes import End, Layer, Node, Tree
from raptor_core.store.base import Manifest, VectorStore, Where
from raptor_core.tree.earlier import mean_direction
from raptor_core.tree.renamed import renamed, renamed_documents
from raptor_core.vectors import Vectors


class Published:
    """What is published, by name and by content: where each tree goes on from.

    Made from all manifests of a store, once for many trees.
    """

    def __init__(self, manifests: Iterable[Manifest]) -> None:
        self._by_name = {manifest.tree: manifest for manifest in manifests}
        self._by_content = {
            _content(manifest.documents.values()): manifest for manifest in self._by_name.values()
        }

    def source(self, tree: str, documents: Sequence[Document]) -> Manifest | None:
        """The published tree of this name, else one of the same documents under other names."""
        if tree in self._by_name:
            return self._by_name[tree]
        return self._by_content.get(_content(document.content_hash for document in documents))

    def earlier_tree(
        self,
        store: VectorStore,
        tree: str,
        documents: Sequence[Document],
        leaves_of: Callable[[str], Sequence[Node]],
    ) -> Tree | None:
        """What a tree goes on from, with the ids that it has under its new names.

        Args:
            store: an open store.
            tree: its name.
            documents: what it is to hold.
            leaves_of: the leaves of a tree, asked only where something was renamed.

        Raises:
            DamagedTreeError: the published tree is not whole.
        """
        source = self.source(tree, documents)
        earlier = published_tree(store, source.tree) if source else None
        if source is None or earlier is None:
            return None
        names = renamed_documents(source, documents)
        if names or source.tree != tree:
            return renamed(earlier, leaves_of(tree), names)
        return earlier


def _content(hashes: Iterable[str]) -> str:
    return digest("documents", *sorted(hashes))


def published_tree(store: VectorStore, name: str) -> Tree | None:
    """The published tree of this name with its vectors; None where nothing is published.

    Raises:
        DamagedTreeError: a vector is lost, or there are other nodes than its manifest says.
    """
    manifests = store.manifests([name])
    if not manifests:
        return None
    manifest = manifests[0]
    nodes = store.nodes(Where(trees=(name,)))
    rows = _rows(nodes, store.vectors(node.embedding_key for node in nodes), manifest)
    missing = len(nodes) - len(rows)
    layers = [tuple(found) for _, found in groupby(nodes, key=lambda node: node.layer)]
    sizes = tuple(map(len, layers))
    if missing or sizes != manifest.layer_sizes:
        raise DamagedTreeError(
            f"the published tree {name!r} is damaged: layers of {sizes} nodes where its manifest "
            f"says {manifest.layer_sizes}, {missing} vectors missing. Build it again with --force"
        )
    return Tree(
        name,
        tuple(Layer(found, np.stack([rows[node.id] for node in found])) for found in layers),
        End(len(layers) - 1, manifest.end),
        manifest.fits,
    )


def _rows(
    nodes: Sequence[Node], vectors: Mapping[str, Vectors], manifest: Manifest
) -> dict[str, Vectors]:
    """Vectors by node id, of nodes from the leaves up; a node whose vector is lost is left out.

    A node in quarantine has none in the store, and stands where its children do.
    """
    hidden = set(manifest.quarantined)
    rows: dict[str, Vectors] = {}
    for node in nodes:
        if node.embedding_key in vectors:
            rows[node.id] = vectors[node.embedding_key]
        elif node.id in hidden and node.children and all(c in rows for c in node.children):
            rows[node.id] = mean_direction([rows[child] for child in node.children])
    return rows
