"""Reading of published trees, from which the next rebuild continues.

Renamed documents and trees keep their clusters. Because ids, unlike content keys, contain the names
of tree and document, the published tree first gets the ids for its new names. ``earlier`` then
reads its clusters.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from raptor_core.documents.base import Document
from raptor_core.errors import DamagedTreeError
from raptor_core.identity import summary_id
from raptor_core.nodes import Layer, Node, Tree, TreeEnd
from raptor_core.store.base import Manifest, Where, digest_contents
from raptor_core.store.store import VectorStore


def renamed_documents(manifest: Manifest, documents: Sequence[Document]) -> dict[str, str]:
    """Return the new ids of renamed documents by old ids; a renamed one has the same content."""
    current = {document.id for document in documents}
    new: dict[str, list[str]] = {}
    for document in sorted(documents, key=lambda document: document.id, reverse=True):
        if document.id not in manifest.documents:
            new.setdefault(document.content_hash, []).append(document.id)
    removed = sorted(manifest.documents.keys() - current)
    return {old: ids.pop() for old in removed if (ids := new.get(manifest.documents[old]))}


def rename_tree(tree: Tree, leaves: Sequence[Node], names: Mapping[str, str]) -> Tree:
    """Return the tree with the ids that it has with new names of the tree and of documents.

    ``leaves`` are the current ones, with the new name of the tree. ``names`` maps old document ids
    to new ones; other documents keep their ids.
    """
    current = {(leaf.documents[0], leaf.content_key): leaf for leaf in leaves}
    name, is_same = leaves[0].tree, leaves[0].tree == tree.name
    nodes: dict[str, Node] = {}
    for leaf in tree.layers[0].nodes:
        document = names.get(leaf.documents[0], leaf.documents[0])
        nodes[leaf.id] = current.get((document, leaf.content_key), leaf)
    layers = [_sort_layer(tree.layers[0], nodes)]
    for layer in tree.layers[1:]:
        occurrences: Counter[str] = Counter()
        for node in layer.nodes:
            key = node.content_key
            nodes[node.id] = replace(
                node,
                id=node.id if is_same else summary_id(name, node.layer, key, occurrences[key]),
                tree=name,
                children=tuple(nodes[child].id for child in node.children),
                documents=tuple(sorted({names.get(d, d) for d in node.documents})),
            )
            occurrences[key] += 1
        layers.append(_sort_layer(layer, nodes))
    readers = {names.get(document, document): of for document, of in tree.readers.items()}
    return Tree(name, tuple(layers), tree.end, tree.fits, readers=readers)


def _sort_layer(layer: Layer, by_id: Mapping[str, Node]) -> Layer:
    nodes = [by_id[node.id] for node in layer.nodes]
    rows = sorted(range(len(nodes)), key=lambda row: nodes[row].document_order_key)
    return Layer(tuple(nodes[row] for row in rows), layer.vectors[rows])


Grouped = Mapping[str, Sequence[Document]]
"""Documents by tree name."""
LOOKUP_TREES = 500
"""Number of trees whose manifests are read at once."""


class PublishedTrees:
    """The manifests of trees from which rebuilds continue, found by name or by content."""

    def __init__(self) -> None:
        self._by_name: dict[str, Manifest] = {}
        self._by_content: dict[str, Manifest] = {}
        self._looked_up: set[str] = set()

    def trees_to_look_up(self, trees: Grouped) -> Grouped:
        """Return the trees that have not been looked up yet."""
        return {tree: documents for tree, documents in trees.items() if tree not in self._looked_up}

    def read_manifests(self, store: VectorStore, trees: Grouped) -> None:
        """Read the manifests with these names, or with the same content and other names."""
        names = list(trees)
        for at in range(0, len(names), LOOKUP_TREES):
            part = names[at : at + LOOKUP_TREES]
            self._by_name |= {manifest.tree: manifest for manifest in store.manifests(part)}
            new = [_content_digest(trees[tree]) for tree in part if tree not in self._by_name]
            self._by_content |= {
                manifest.content_digest: manifest for manifest in store.manifests_with_content(new)
            }
        self._looked_up.update(names)

    def find_source_manifest(self, tree: str, documents: Sequence[Document]) -> Manifest | None:
        """Return the manifest with this name, or else of a tree with the same documents."""
        return self._by_name.get(tree) or self._by_content.get(_content_digest(documents))

    def earlier_tree(
        self,
        store: VectorStore,
        tree: str,
        documents: Sequence[Document],
        leaves_of: Callable[[str], Sequence[Node]],
    ) -> Tree | None:
        """Return the published tree from which a build continues, with its new names.

        ``leaves_of`` makes the leaves of a tree, and is called only after a rename.

        Raises:
            DamagedTreeError: the published tree is incomplete.
        """
        source = self.find_source_manifest(tree, documents)
        earlier = read_published_tree(store, source.tree) if source else None
        if source is None or earlier is None:
            return None
        names = renamed_documents(source, documents)
        if names or source.tree != tree:
            return rename_tree(earlier, leaves_of(tree), names)
        return earlier


def _content_digest(documents: Sequence[Document]) -> str:
    return digest_contents(document.content_hash for document in documents)


def read_published_tree(store: VectorStore, name: str) -> Tree | None:
    """Return a published tree with its vectors, or None if it does not exist.

    Raises:
        DamagedTreeError: the published tree is incomplete.
    """
    manifests = store.manifests([name])
    if not manifests:
        return None
    manifest = manifests[0]
    nodes = store.nodes(Where(trees=(name,)))
    vectors = store.vectors(node.embedding_key for node in nodes)
    missing = sum(node.embedding_key not in vectors for node in nodes)
    layers = [tuple(layer) for _, layer in groupby(nodes, key=lambda node: node.layer)]
    sizes = tuple(map(len, layers))
    if missing or sizes != manifest.layer_sizes:
        raise DamagedTreeError(
            f"the published tree {name!r} is damaged: its layers have {sizes} nodes, its "
            f"manifest says {manifest.layer_sizes}; missing vectors: {missing}. Build it again "
            "with --force"
        )
    return Tree(
        name,
        tuple(
            Layer(layer, np.stack([vectors[node.embedding_key] for node in layer]))
            for layer in layers
        ),
        TreeEnd(len(layers) - 1, manifest.end),
        manifest.fits,
        manifest.settings_fingerprint,
        manifest.readers,
    )
