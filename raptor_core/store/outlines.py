"""Outlines of nodes: the numbers by which hundreds of candidates are ranked, without their texts.

Decoding whole nodes for all candidates took most of the time of a search. An outline is a row of
numbers from a few payload fields. Names are hashed, because ranking only compares them.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple, Self
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from raptor_core.store.base import Where
from raptor_core.store.payload import Payload, damaged_point_error
from raptor_core.vectors import Vectors

Keys = NDArray[np.uint64]
Rows = NDArray[Any]

OUTLINED = (
    "node_id",
    "tree",
    "layer",
    "position",
    "n_tokens",
    "documents",
    "children",
    "paragraphs",
)
"""Fields of a payload from which an outline is made."""

NODE = np.dtype(
    [
        ("high", "<u8"),  # of the id; 60 of its bits are random, so it identifies the node
        ("low", "<u8"),
        ("document", "<u8"),  # hash of its first document's name
        ("place", "<u8"),  # hash of tree and document
        ("name", "O"),  # of its first document
        ("layer", "<i4"),
        ("position", "<i4"),
        ("n_tokens", "<i4"),
        ("n_children", "<i4"),
    ]
)


class Outline(NamedTuple):
    """Outline of a node: a ``NODE`` row as a tuple, and the id halves of each child."""

    row: tuple[Any, ...]
    children: list[tuple[int, int]]

    @classmethod
    def from_payload(cls, stored: Payload) -> Self:
        """Make the outline of a payload that has the fields ``OUTLINED``."""
        try:
            below = [split_id(child) for child in stored["children"]]
            below = below or [(int(a), int(n)) for a, n in stored.get("paragraphs", ())]
            name = stored["documents"][0]
            numbers = (stored["layer"], stored["position"], stored["n_tokens"], len(below))
            hashes = _name_hashes(stored["tree"], name)
            return cls((*split_id(stored["node_id"]), *hashes, name, *map(int, numbers)), below)
        except (LookupError, AttributeError, TypeError, ValueError) as error:
            raise damaged_point_error(stored) from error


class Outlines(NamedTuple):
    """Outlines in any order, shape ``(n,)``, dtype ``NODE``, and their children in the same order.

    ``children`` has shape ``(n_children, 2)``: both halves of the ids of a summary's children. For
    a chunk, which has none, they stand for its paragraphs (``Node.paragraphs``).
    """

    nodes: Rows
    children: Keys

    @classmethod
    def from_outlines(cls, outlines: Sequence[Outline]) -> Self:
        """Convert outlines to arrays."""
        pairs = list(chain.from_iterable(outline.children for outline in outlines))
        nodes = np.array([outline.row for outline in outlines], dtype=NODE)
        return cls(nodes, np.array(pairs, dtype=np.uint64).reshape(len(pairs), 2))

    @classmethod
    def concatenate(cls, parts: "Sequence[Outlines]") -> Self:
        """Concatenate outlines."""
        nodes, children = zip(*parts, strict=True)
        return cls(np.concatenate(nodes), np.concatenate(children))

    def select_rows(self, at: NDArray[Any]) -> "Outlines":
        """Select the rows ``at``, shape ``(n,)``."""
        sizes = self.nodes["n_children"].astype(np.int64)
        begins, sizes = (np.cumsum(sizes) - sizes)[at], sizes[at]
        shifts = np.repeat(begins - (np.cumsum(sizes) - sizes), sizes)
        return Outlines(self.nodes[at], self.children[shifts + np.arange(len(shifts))])

    def with_children(self, children: Mapping[int, Sequence[tuple[int, int]]]) -> "Outlines":
        """Replace the children of some rows."""
        nodes = self.nodes.copy()
        parts = np.split(self.children, np.cumsum(nodes["n_children"])[:-1])
        for row, pairs in children.items():
            parts[row] = np.array(pairs, dtype=np.uint64).reshape(len(pairs), 2)
            nodes["n_children"][row] = len(pairs)
        return Outlines(nodes, np.concatenate(parts))

    def ids(self) -> list[str]:
        """Return the ids of the nodes."""
        return [join_id(high, low) for high, low in self.nodes[["high", "low"]].tolist()]


class CandidateSearch(NamedTuple):
    """Search for the best ``limit`` nodes by a vector, shape ``(n_dims,)``, or by words.

    With ``only_rare`` it returns nothing if more nodes match.
    """

    query: Vectors | str
    limit: int
    where: Where = Where()
    only_rare: bool = False


class Candidates(NamedTuple):
    """Result of a search: outlines and their scores, shape ``(n,)``, the best first."""

    outlines: Outlines
    scores: NDArray[np.float64]

    @classmethod
    def from_scored_outlines(cls, scored: Iterable[tuple[Outline, float]]) -> Self:
        """Sort scored outlines by score, then node id."""
        rows = list(scored)
        scores = np.array([score for _, score in rows], dtype=np.float64)
        outlines = Outlines.from_outlines([outline for outline, _ in rows])
        order = np.lexsort((outlines.nodes["low"], outlines.nodes["high"], -scores))
        return cls(outlines.select_rows(order), scores[order])


def split_id(node_id: str) -> tuple[int, int]:
    """Split an id into its upper and lower 64 bits."""
    return divmod(int(node_id.replace("-", ""), 16), 1 << 64)


def join_id(high: int, low: int) -> str:
    """Join the two halves of an id."""
    return str(UUID(int=high << 64 | low))


@lru_cache(maxsize=1 << 14)
def _name_hashes(tree: str, document: str) -> tuple[int, int]:
    return _hash(repr((document,))), _hash(repr((tree, document)))


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
