"""Nodes by hand, for measures that need no build."""

from raptor_core.nodes import Node


def leaf(name, text="Some words stand here.", n_tokens=10):
    return Node(name, "t", 0, f"k{name}", text, n_tokens, 0, ("d",), (), "f", "e", 0, len(text))


def summary(name, children, text="Some words stand here.", n_tokens=5, layer=1):
    return Node(name, "t", layer, f"k{name}", text, n_tokens, 0, ("d",), tuple(children), "f", "e")


def by_id(*nodes):
    return {node.id: node for node in nodes}
