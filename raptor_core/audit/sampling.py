"""Which summaries are audited."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

from raptor_core.identity import digest
from raptor_core.nodes import Node


def sample(nodes: Sequence[Node], rate: float, minimum: int) -> list[Node]:
    """Of every layer, the summaries with the smallest hash of their id; in the given order.

    A layer gives ``rate`` (0 to 1) of its summaries, rounded up, and ``minimum`` at the least.
    A choice by hash keeps its nodes when others come and go, so that a rebuild audits little
    that was audited before.
    """
    layers: dict[int, list[Node]] = {}
    for node in nodes:
        if not node.is_leaf:
            layers.setdefault(node.layer, []).append(node)
    chosen: set[str] = set()
    for summaries in layers.values():
        wanted = max(minimum, math.ceil(rate * len(summaries)))
        chosen.update(n.id for n in heapq.nsmallest(wanted, summaries, key=_rank))
    return [node for node in nodes if node.id in chosen]


def _rank(node: Node) -> tuple[str, str]:
    return digest("audit", node.id), node.id
