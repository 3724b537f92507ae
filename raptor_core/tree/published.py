"""The tree that readers see, as a value: what the next rebuild goes on from.

Renamed documents and trees keep their clusters. Ids hold the names of tree and document, content
keys do not: so the published tree is first given the ids that it has under the new names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from raptor_core.documents.base import Document
from raptor_core.errors import DamagedTreeError
from raptor_core.identity import summary_id
from raptor_core.nodes import End, Layer, Node, Tree
from raptor_core.store.base import Manifest, Where, content_of
from raptor_core.store.store import VectorStore
from raptor_core.tree.earlier import mean_direction
from raptor_core.vectors import Vectors


def renamed_documents(manifest: Manifest, documents: Sequence[Document]) -> dict[str, str]:
    """New id by old id, of documents whose content stood under another id that is gone."""
    now = {document.id for document in documents}
    fresh: dict[str, list[str]] = {}
    for document in sorted(documents, key=lambda document: document.id, reverse=True):
        if document.id not in manifest.documents:
            fresh.setdefault(document.content_hash, []).append(document.id)
    gone = sorted(manifest.documents.keys() - now)
    return {old: ids.pop() for old in gone if (ids := fresh.get(manifest.documents[old]))}


def renamed(tree: Tree, leaves: Sequence[Node], names: Mapping[str, str]) -> Tree:
    """``tree`` with the ids that it has under its new names.

    ``leaves`` are those that it has now, under its new name; ``names`` holds new document ids by
    old ones, and a document that is left out keeps its id.
    """
    now = {(leaf.documents[0], leaf.content_key): leaf for leaf in leaves}
    name = leaves[0].tree
    nodes: dict[str, Node] = {}
    for leaf in tree.layers[0].nodes:
        document = names.get(leaf.documents[0], leaf.documents[0])
        nodes[leaf.id] = now.get((document, leaf.content_key), leaf)
    layers = [_ordered(tree.layers[0], nodes)]
    for layer in tree.layers[1:]:
        seen: Counter[str] = Counter()
        for node in layer.nodes:
            key = node.content_key
            nodes[node.id] = replace(
                node,
                id=node.id if name == tree.name else summary_id(name, node.layer, key, seen[key]),
                tree=name,
                children=tuple(nodes[child].id for child in node.children),
                documents=tuple(sorted({names.get(d, d) for d in node.documents})),
            )
            seen[key] += 1
        layers.append(_ordered(layer, nodes))
    return Tree(name, tuple(layers), tree.end, tree.fits)


def _ordered(layer: Layer, by_id: Mapping[str, Node]) -> Layer:
    nodes = [by_id[node.id] for node in layer.nodes]
    rows = sorted(range(len(nodes)), key=lambda row: nodes[row].order)
    return Layer(tuple(nodes[row] for row in rows), layer.vectors[rows])


Grouped = Mapping[str, Sequence[Document]]
"""Documents by tree."""

LOOKUP_TREES = 500
"""Trees of one look-up."""


class PublishedTrees:
    """What is published, by name and by content: where each tree goes on from.

    It knows the trees that were looked up, never all of a store.
    """

    def __init__(self) -> None:
        self._by_name: dict[str, Manifest] = {}
        self._by_content: dict[str, Manifest] = {}
        self._asked: set[str] = set()

    def unknown(self, trees: Grouped) -> Grouped:
        """Those of the trees that were not looked up yet."""
        return {tree: documents for tree, documents in trees.items() if tree not in self._asked}

    def look_up(self, store: VectorStore, trees: Grouped) -> None:
        """Learn what is published under the names of these trees, or with their content."""
        names = list(trees)
        for at in range(0, len(names), LOOKUP_TREES):
            part = names[at : at + LOOKUP_TREES]
            self._by_name |= {manifest.tree: manifest for manifest in store.manifests(part)}
            new = [_content(trees[tree]) for tree in part if tree not in self._by_name]
            self._by_content |= {manifest.content: manifest for manifest in store.manifests_of(new)}
        self._asked.update(names)

    def source(self, tree: str, documents: Sequence[Document]) -> Manifest | None:
        """The published tree of this name, else one of the same documents under other names."""
        return self._by_name.get(tree) or self._by_content.get(_content(documents))

    def earlier_tree(
        self,
        store: VectorStore,
        tree: str,
        documents: Sequence[Document],
        leaves_of: Callable[[str], Sequence[Node]],
    ) -> Tree | None:
        """What a tree goes on from, with the ids that it has under its new names.

        It is to hold ``documents``; its leaves are asked for only where something was renamed.

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


def _content(documents: Sequence[Document]) -> str:
    return content_of(document.content_hash for document in documents)


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
    layers = [tuple(layer) for _, layer in groupby(nodes, key=lambda node: node.layer)]
    sizes = tuple(map(len, layers))
    if missing or sizes != manifest.layer_sizes:
        raise DamagedTreeError(
            f"the published tree {name!r} is damaged: layers of {sizes} nodes where its manifest "
            f"says {manifest.layer_sizes}, {missing} vectors missing. Build it again with --force"
        )
    return Tree(
        name,
        tuple(Layer(layer, np.stack([rows[node.id] for node in layer])) for layer in layers),
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
