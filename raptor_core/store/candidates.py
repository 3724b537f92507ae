"""What a search gives to be ranked: of each node what ranks it, and its words only when asked.

A strategy weighs hundreds of nodes and returns some twenty. To make whole nodes of all of them, and
to hold each against its digest, took most of a search, so that is done for those that are read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from raptor_core.nodes import Node


class Candidate(NamedTuple):
    """A live node that a search found; the fields are those of ``Node``.

    A tuple, because it is made several times as fast as a frozen dataclass.

    Attributes:
        read: gives the node; raises DamagedTreeError where it is not what was published.
    """

    id: str
    tree: str
    layer: int
    position: int
    n_tokens: int
    documents: tuple[str, ...]
    children: tuple[str, ...]
    section: tuple[str, ...]
    read: Callable[[], Node]

    @property
    def is_leaf(self) -> bool:
        """Whether the node is a chunk."""
        return self.layer == 0


class Scored(NamedTuple):
    """A candidate and its score; a higher one is more similar."""

    candidate: Candidate
    score: float


def candidate_of(node: Node) -> Candidate:
    """A candidate that was read already."""
    return Candidate(
        node.id,
        node.tree,
        node.layer,
        node.position,
        node.n_tokens,
        node.documents,
        node.children,
        node.section,
        partial(_same, node),
    )


def _same(node: Node) -> Node:
    return node
