"""Renamed documents and trees keep their clusters.

Ids hold the names of tree and document, content keys do not. So what a rebuild goes on from is
first given the ids that it has under the new names; then nothing about it is new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from raptor_core.documents.base import Document
from raptor_core.identity import summary_id
from raptor_core.nodes import Layer, Node, Tree
from raptor_core.store.base import Manifest


def renamed_documents(manifest: Manifest, documents: Sequence[Document]) -> dict[str, str]:
    """New id by old id, of documents whose content stood under another id that is gone."""
    now = {document.id for document in documents}
    fresh: dict[str, list[str]] = {}
    for document in sorted(documents, key=lambda document: document.id, reverse=True):
        if document.id not in manifest.documents:
            fresh.setdefault(document.content_hash, []).append(document.id)
    gone = sorted(manifest.documents.keys() - now)
    return {old: found.pop() for old in gone if (found := fresh.get(manifest.documents[old]))}


def renamed(tree: Tree, leaves: Sequence[Node], names: Mapping[str, str]) -> Tree:
    """``tree`` with the ids that it has under its new names.

    Args:
        tree: the published one.
        leaves: of the tree as it is now, under its new name.
        names: new document id by old one; a document that is left out keeps its id.
    """
    now = {(leaf.documents[0], leaf.content_key): leaf for leaf in leaves}
    name = leaves[0].tree
    found: dict[str, Node] = {}
    for leaf in tree.layers[0].nodes:
        document = names.get(leaf.documents[0], leaf.documents[0])
        found[leaf.id] = now.get((document, leaf.content_key), leaf)
    layers = [_ordered(tree.layers[0], found)]
    for layer in tree.layers[1:]:
        seen: Counter[str] = Counter()
        for node in layer.nodes:
            key = node.content_key
            found[node.id] = replace(
                node,
                id=node.id if name == tree.name else summary_id(name, node.layer, key, seen[key]),
                tree=name,
                children=tuple(found[child].id for child in node.children),
                documents=tuple(sorted({names.get(d, d) for d in node.documents})),
            )
            seen[key] += 1
        layers.append(_ordered(layer, found))
    return Tree(name, tuple(layers), tree.end, tree.fits)


def _ordered(layer: Layer, found: Mapping[str, Node]) -> Layer:
    nodes = [found[node.id] for node in layer.nodes]
    rows = sorted(range(len(nodes)), key=lambda row: nodes[row].order)
    return Layer(tuple(nodes[row] for row in rows), layer.vectors[rows])
