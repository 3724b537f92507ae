"""The layers of a tree that is built from scratch, estimated.

Its upper layers follow from texts that are not written yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from raptor_core.models.money.usage import summary_cost
from raptor_core.nodes import Node, Tree
from raptor_core.quality.sizes import PAPER_CHILDREN
from raptor_core.rebuild.values import LayerPlan, nodes_of
from raptor_core.settings import Settings

CHAT_SHARE = 0.65
"""Length of a chat model's summary over its limit: the paper's 131 tokens of 200."""


def children_per_parent(trees: Iterable[Tree], settings: Settings) -> float:
    """Mean number of nodes per cluster: of published trees, else what the method aims at."""
    n_children = n_parents = 0
    for tree in trees:
        n_parents += sum(len(layer.nodes) for layer in tree.layers[1:])
        n_children += sum(len(layer.nodes) for layer in tree.layers[:-1])
    if n_parents:
        return max(n_children / n_parents, 2.0)
    part = settings.clustering
    aims = {"contiguous": float(part.window), "kmeans": float(part.cluster_size)}
    return aims.get(part.method, PAPER_CHILDREN)


def estimated_layers(
    leaves: Sequence[Node],
    published: Tree | None,
    children: float,
    settings: Settings,
    overhead: int,
) -> Iterator[LayerPlan]:
    """Layers by their expected sizes; ``overhead`` is of one prompt, in tokens."""
    n_below = len(leaves)
    tokens = sum(node.n_tokens for node in leaves)
    for layer in range(1, settings.tree.max_layers + 1):
        if n_below <= max(settings.tree.top_nodes, 1):
            return
        fitting = settings.clustering.max_tokens * n_below / max(tokens, 1)
        n_nodes = max(1, round(n_below / max(2.0, min(children, fitting))))
        completions = round(n_nodes * _summary_tokens(tokens / n_nodes, settings))
        n_old = len(nodes_of(published, layer))
        yield LayerPlan(
            layer,
            n_added=n_nodes,
            n_removed=n_old,
            n_new=n_nodes,
            n_merged=n_old,
            fitted="built from scratch",
            lower_bound=n_nodes,
            cost=summary_cost(n_nodes, tokens + overhead * n_nodes, completions, settings),
        )
        n_below, tokens = n_nodes, completions


def _summary_tokens(below: float, settings: Settings) -> float:
    part = settings.summarizer
    if part.kind == "openai":
        return CHAT_SHARE * part.max_tokens
    return min(max(part.ratio * below, part.min_tokens), part.max_tokens)
