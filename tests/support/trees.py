"""Nodes by hand, for measures that need no build."""

from uuid import NAMESPACE_OID, uuid5

import numpy as np

from raptor_core.checks.base import CheckedClusters, CheckedLayer, CheckedTrees
from raptor_core.nodes import Layer, Node, Tree, TreeEnd
from raptor_core.settings import Settings
from raptor_core.store.outlines import Outline, Outlines
from raptor_core.store.payload import node_to_payload


def leaf(name, text="Some words stand here.", n_tokens=10):
    return Node(name, "t", 0, f"k{name}", text, n_tokens, 0, ("d",), (), "f", "e", 0, len(text))


def summary(name, children, text="Some words stand here.", n_tokens=5, layer=1):
    return Node(name, "t", layer, f"k{name}", text, n_tokens, 0, ("d",), tuple(children), "f", "e")


def by_id(*nodes):
    return {node.id: node for node in nodes}


def uid(name):
    """An id as nodes of a store have it."""
    return str(uuid5(NAMESPACE_OID, name))


def outlined(nodes):
    """What ranks nodes, as a store gives it."""
    return Outlines.from_outlines([Outline.from_payload(node_to_payload(node)) for node in nodes])


def checked_layer(nodes, below=(), settings=None, **bounds):
    """A layer as checks get it, by the default settings but for these bounds."""
    return CheckedLayer(nodes, by_id(*below), settings or Settings(checks=bounds))


def checked_clusters(clusters, settings=None, **bounds):
    """Clusters as checks get them, by the default settings but for these bounds."""
    return CheckedClusters(clusters, settings or Settings(checks=bounds))


def checked_trees(layers, *, settings=None, **bounds):
    """One tree as checks get it; its leaves come first."""
    rows = [np.zeros((len(nodes), 2), dtype=np.float32) for nodes in layers]
    held = tuple(Layer(tuple(nodes), of) for nodes, of in zip(layers, rows, strict=True))
    tree = Tree("t", held, TreeEnd(len(held) - 1, "made by hand"))
    return CheckedTrees([tree], settings or Settings(checks=bounds))
