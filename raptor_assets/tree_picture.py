"""Trees as pictures, with the nodes that a question chose (Figure 4 of the paper)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean

from raptor_assets.drawing import GRID, PALETTE, SMALL, TEXT, Drawing
from raptor_core.nodes import Node

WIDTH = 960
_LEFT, _RIGHT = 70.0, 20.0
_LAYER = 64.0  # pixels from one layer to the next
_NODE, _CHOSEN = 5.0, 12.0
_LINE = 18.0
_ALL_EDGES = 600
"""Nodes of a tree up to which every edge is drawn; in larger trees, only chosen nodes' edges."""


def tree_svg(
    trees: Mapping[str, Sequence[Node]], chosen: Mapping[str, Sequence[str]], title: str
) -> str:
    """Draw trees below one another, with the nodes that each strategy chose, best first."""
    heights = [70 + _LAYER * max(node.layer for node in nodes) for nodes in trees.values()]
    head = 32 + _LINE * len(chosen)
    drawing = Drawing(WIDTH, head + sum(heights))
    drawing.text(_LEFT, 20, title, TEXT, size=13, bold=True)
    for at, (strategy, ids) in enumerate(chosen.items()):
        y = 40 + _LINE * at
        drawing.dots([(_LEFT + 6, y - 4)], _CHOSEN, _color(at))
        drawing.text(_LEFT + 18, y, f"{strategy}: {_by_layer(trees, ids)}", TEXT)
    top = head
    for (name, nodes), height in zip(trees.items(), heights, strict=True):
        _draw_tree(drawing, name, nodes, chosen, top)
        top += height
    return drawing.svg()


def _draw_tree(
    drawing: Drawing,
    name: str,
    nodes: Sequence[Node],
    chosen: Mapping[str, Sequence[str]],
    top: float,
) -> None:
    highest = max(node.layer for node in nodes)
    places = {
        node_id: (x, top + 40 + _LAYER * (highest - layer))
        for layer, node_id, x in _across(nodes, highest)
    }
    drawing.text(_LEFT, top + 16, name, TEXT, bold=True)
    for layer in range(highest + 1):
        y = top + 44 + _LAYER * (highest - layer)
        drawing.text(_LEFT - 14, y, f"layer {layer}", TEXT, size=SMALL, anchor="end")
    marked = {node_id for ids in chosen.values() for node_id in ids}
    for node in nodes:
        for child in node.children:
            if len(nodes) <= _ALL_EDGES or node.id in marked or child in marked:
                drawing.line(places[node.id], places[child], GRID)
    drawing.dots([place for node_id, place in places.items() if node_id not in marked], _NODE, TEXT)
    for node_id in sorted(marked & places.keys()):
        _draw_chosen(drawing, node_id, places[node_id], chosen)


def _draw_chosen(
    drawing: Drawing, node_id: str, place: tuple[float, float], chosen: Mapping[str, Sequence[str]]
) -> None:
    ranks = [(at, ids.index(node_id)) for at, ids in enumerate(chosen.values()) if node_id in ids]
    x, y = place
    for number, (at, rank) in enumerate(ranks):
        down = y + (number - (len(ranks) - 1) / 2) * (_CHOSEN + 1)
        drawing.dots([(x, down)], _CHOSEN, _color(at))
        drawing.text(x, down + 3, str(rank + 1), "#ffffff", size=8, anchor="middle", bold=True)


def _across(nodes: Sequence[Node], highest: int) -> Iterator[tuple[int, str, float]]:
    """Yield places: leaves at equal distances, each summary over the mean of its children."""
    leaves = sorted((node for node in nodes if node.is_leaf), key=lambda node: node.order)
    step = (WIDTH - _LEFT - _RIGHT) / max(len(leaves), 1)
    known = {leaf.id: _LEFT + (at + 0.5) * step for at, leaf in enumerate(leaves)}
    yield from ((0, node_id, x) for node_id, x in known.items())
    for layer in range(1, highest + 1):
        for node in nodes:
            if node.layer == layer:
                known[node.id] = mean(known[child] for child in node.children)
                yield layer, node.id, known[node.id]


def _by_layer(trees: Mapping[str, Sequence[Node]], ids: Sequence[str]) -> str:
    layers = {node.id: node.layer for nodes in trees.values() for node in nodes}
    counts = Counter(layers[node_id] for node_id in ids)
    phrases = (f"{counts[layer]} of layer {layer}" for layer in sorted(counts))
    return ", ".join(phrases) or "no nodes"


def _color(strategy: int) -> str:
    return PALETTE[strategy % len(PALETTE)]
