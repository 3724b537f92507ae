"""Nodes by hand, for measures that need no build."""

from uuid import NAMESPACE_OID, uuid5

from raptor_core.nodes import Node
from raptor_core.store.outlines import Outlines
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
    return Outlines.of(map(node_to_payload, nodes))
