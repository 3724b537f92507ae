"""Comparison of two trees: each removed node with the node that replaced it.

Its values are in ``values``; ``raptor_assets.report`` stores them.
"""

from collections.abc import Iterable, Iterator, Sequence

from raptor_core.nodes import Node
from raptor_core.report.values import ReplacedNode

MAX_REPLACED = 300
"""Maximum number of pairs kept of a rebuild; its counts include all."""

MIN_COMMON = 0.3
"""Minimum share of common words, of the longer text, for a chunk to replace another."""

_Pair = tuple[Node | None, Node | None]


def replaced_nodes(previous: Sequence[Node], current: Sequence[Node]) -> tuple[ReplacedNode, ...]:
    """Pair the nodes that differ, from the top layer down, at most ``MAX_REPLACED``.

    A summary replaces the summary of the same slot. A chunk replaces the most similar chunk of its
    document.
    """
    kept = {node.id for node in previous} & {node.id for node in current}
    removed = [node for node in previous if node.id not in kept]
    added = [node for node in current if node.id not in kept]
    pairs = [*_pair_summaries(removed, added), *_pair_chunks(removed, added)]
    pairs.sort(key=lambda pair: next((-node.layer, node.order) for node in reversed(pair) if node))
    live = {name for node in current for name in node.documents}
    return keep_live((_replaced_node(*pair) for pair in pairs), live)[:MAX_REPLACED]


def keep_live(replaced: Iterable[ReplacedNode], live: Iterable[str]) -> tuple[ReplacedNode, ...]:
    """Return the pairs whose documents are all among ``live``."""
    known = set(live)
    return tuple(pair for pair in replaced if known.issuperset(pair.documents))


def _replaced_node(removed: Node | None, added: Node | None) -> ReplacedNode:
    both = [node for node in (removed, added) if node is not None]
    return ReplacedNode(
        layer=both[0].layer,
        before=removed.text if removed else "",
        after=added.text if added else "",
        n_before=len(removed.children) if removed else 0,
        n_after=len(added.children) if added else 0,
        documents=tuple(sorted({name for node in both for name in node.documents})),
    )


def _pair_summaries(removed: Sequence[Node], added: Sequence[Node]) -> Iterator[_Pair]:
    unpaired = {(node.layer, node.anchor): node for node in removed if node.layer}
    for node in added:
        if node.layer:
            yield unpaired.pop((node.layer, node.anchor), None), node
    yield from ((node, None) for node in unpaired.values())


def _pair_chunks(removed: Sequence[Node], added: Sequence[Node]) -> Iterator[_Pair]:
    unpaired: dict[str, dict[str, Node]] = {}
    for node in removed:
        if not node.layer:
            unpaired.setdefault(node.documents[0], {})[node.id] = node
    for node in added:
        if not node.layer:
            candidates = unpaired.get(node.documents[0], {})
            nearest = _nearest(node, list(candidates.values())[:MAX_REPLACED])
            yield (candidates.pop(nearest.id) if nearest else None), node
    yield from ((node, None) for nodes in unpaired.values() for node in nodes.values())


def _nearest(node: Node, candidates: Sequence[Node]) -> Node | None:
    words = set(node.text.split())
    nearest, largest_share = None, MIN_COMMON
    for candidate in candidates:
        candidate_words = set(candidate.text.split())
        share = len(words & candidate_words) / max(len(words), len(candidate_words), 1)
        if share > largest_share:
            nearest, largest_share = candidate, share
    return nearest
