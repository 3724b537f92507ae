"""What a rebuild changed, node by node: each one that is gone beside the one in its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from raptor_core.nodes import Node
from raptor_core.report.values import Replaced

MAX_REPLACED = 300
"""Of one rebuild; it counts all."""

MIN_COMMON = 0.3
"""Share of words, of the longer, that a chunk has in common with the one in whose place it is."""

_Pair = tuple[Node | None, Node | None]


def replaced_nodes(before: Sequence[Node], after: Sequence[Node]) -> tuple[Replaced, ...]:
    """The nodes that differ, from the top layer down, at most ``MAX_REPLACED``.

    A summary stands in the place of the one that had its slot; a chunk in that of the chunk of its
    document that is most like it.
    """
    kept = {node.id for node in before} & {node.id for node in after}
    gone = [node for node in before if node.id not in kept]
    made = [node for node in after if node.id not in kept]
    pairs = [*_by_slot(gone, made), *_by_words(gone, made)]
    pairs.sort(key=lambda pair: next((-one.layer, one.order) for one in reversed(pair) if one))
    live = {name for node in after for name in node.documents}
    return still_known((_replaced(*pair) for pair in pairs), live)[:MAX_REPLACED]


def still_known(replaced: Iterable[Replaced], live: Iterable[str]) -> tuple[Replaced, ...]:
    """Those whose documents are all still there."""
    known = set(live)
    return tuple(one for one in replaced if known.issuperset(one.documents))


def _replaced(before: Node | None, after: Node | None) -> Replaced:
    both = [node for node in (before, after) if node is not None]
    return Replaced(
        layer=both[0].layer,
        before=before.text if before else "",
        after=after.text if after else "",
        n_before=len(before.children) if before else 0,
        n_after=len(after.children) if after else 0,
        documents=tuple(sorted({name for node in both for name in node.documents})),
    )


def _by_slot(gone: Sequence[Node], made: Sequence[Node]) -> Iterator[_Pair]:
    left = {(node.layer, node.anchor): node for node in gone if node.layer}
    for node in made:
        if node.layer:
            yield left.pop((node.layer, node.anchor), None), node
    yield from ((node, None) for node in left.values())


def _by_words(gone: Sequence[Node], made: Sequence[Node]) -> Iterator[_Pair]:
    left: dict[str, dict[str, Node]] = {}
    for node in gone:
        if not node.layer:
            left.setdefault(node.documents[0], {})[node.id] = node
    for node in made:
        if not node.layer:
            others = left.get(node.documents[0], {})
            nearest = _nearest(node, list(others.values())[:MAX_REPLACED])
            yield (others.pop(nearest.id) if nearest else None), node
    yield from ((node, None) for others in left.values() for node in others.values())


def _nearest(node: Node, others: Sequence[Node]) -> Node | None:
    words = set(node.text.split())
    best, most = None, MIN_COMMON
    for other in others:
        theirs = set(other.text.split())
        common = len(words & theirs) / max(len(words), len(theirs), 1)
        if common > most:
            best, most = other, common
    return best
