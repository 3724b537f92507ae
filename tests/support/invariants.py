"""Invariants of every finished tree: coverage and shrinking (laws 3 and 4), ids, vectors, order."""

from collections.abc import Iterator

import numpy as np

from raptor_core.nodes import Layer, Tree

UNIT_TOLERANCE = 1e-3


def violations(tree: Tree, min_members: int = 2) -> list[str]:
    """Describe every broken invariant; return an empty list for a sound tree."""
    if not tree.layers or not tree.layers[0].nodes:
        return ["the tree has no leaves"]
    broken = list(_id_faults(tree))
    for number, layer in enumerate(tree.layers):
        broken += _layer_faults(number, layer)
    for number in range(1, len(tree.layers)):
        broken += _step_faults(number, tree.layers[number - 1], tree.layers[number], min_members)
    if tree.end.layer != len(tree.layers) - 1:
        broken.append(f"it says that it ends at layer {tree.end.layer}, not {len(tree.layers) - 1}")
    return broken


def _id_faults(tree: Tree) -> Iterator[str]:
    ids = [node.id for node in tree.nodes()]
    if len(set(ids)) != len(ids):
        yield f"{len(ids) - len(set(ids))} node ids occur twice"
    for node in tree.nodes():
        if node.tree != tree.name:
            yield f"node {node.id} says that it is of tree {node.tree!r}"


def _layer_faults(number: int, layer: Layer) -> Iterator[str]:
    if layer.vectors.dtype != np.float32 or layer.vectors.shape[0] != len(layer.nodes):
        yield f"layer {number}: vectors {layer.vectors.shape} for {len(layer.nodes)} nodes"
        return
    norms = np.linalg.norm(layer.vectors, axis=1)
    if not np.allclose(norms, 1.0, atol=UNIT_TOLERANCE):
        yield f"layer {number}: vectors whose norm is not 1"
    if list(layer.nodes) != sorted(layer.nodes, key=lambda node: node.document_order_key):
        yield f"layer {number}: nodes out of document order"
    for node in layer.nodes:
        if node.layer != number:
            yield f"node {node.id} says layer {node.layer}, is in layer {number}"
        if not node.text.strip() or node.n_tokens < 0:
            yield f"node {node.id} of layer {number} has no text"
        if number == 0 and not (0 <= node.start < node.end and len(node.documents) == 1):
            yield f"leaf {node.id} has no span in one document"


def _step_faults(number: int, below: Layer, layer: Layer, min_members: int) -> Iterator[str]:
    if len(layer.nodes) >= len(below.nodes):
        yield f"layer {number} has {len(layer.nodes)} nodes over {len(below.nodes)}"
    known = {node.id for node in below.nodes}
    covered: set[str] = set()
    for node in layer.nodes:
        if len(node.children) < min_members:
            yield f"node {node.id} of layer {number} summarizes {len(node.children)} node"
        if not known.issuperset(node.children):
            yield f"node {node.id} of layer {number} has children outside layer {number - 1}"
        covered.update(node.children)
    if not known <= covered:
        yield f"{len(known - covered)} nodes of layer {number - 1} have no parent"
