"""What ranks a node, without its words, column by column: a strategy weighs hundreds of nodes.

To make whole nodes of all of them, and to read their payloads, took most of a search. An outline is
a row of numbers; names are hashed, since ranking only asks whether they are the same.

Edge keeps the outlines of all its live points in a file (``outline_file.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple, Self
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from raptor_core.store.payload import Payload, damaged

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
    "section",
)
"""Fields of a payload that make an outline."""

NODE = np.dtype(
    [
        ("high", "<u8"),  # of the id; 60 of its bits are random, so it stands for the node
        ("low", "<u8"),
        ("document", "<u8"),  # hash of its first document's name
        ("place", "<u8"),  # of tree and document
        ("section", "<u8"),  # of tree, document and section
        ("layer", "<i4"),
        ("position", "<i4"),
        ("n_tokens", "<i4"),
        ("n_children", "<i4"),
    ]
)


class Outlines(NamedTuple):
    """Nodes in any order.

    Attributes:
        nodes: shape ``(n,)``, dtype ``NODE``.
        children: both halves of the ids of the nodes' children, in the order of the nodes, shape
            ``(n_children, 2)``.
    """

    nodes: Rows
    children: Keys

    @classmethod
    def of(cls, payloads: Iterable[Payload], *, strict: bool = True) -> Self:
        """Those of payloads that have the fields ``OUTLINED``.

        Raises:
            DamagedTreeError: one is not what was written; without ``strict`` it is left out.
        """
        rows: list[tuple[int, ...]] = []
        children: list[tuple[int, int]] = []
        for stored in payloads:
            try:
                halved = [halves(child) for child in stored["children"]]
                rows.append(_row(stored))
                children += halved
            except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
                if strict:
                    raise damaged(stored) from error
        below = np.array(children, dtype=np.uint64).reshape(-1, 2)
        return cls(np.array(rows, dtype=NODE), below)

    @classmethod
    def joined(cls, parts: Sequence[Outlines]) -> Self:
        """One after the other."""
        nodes, children = zip(*parts, strict=True)
        return cls(np.concatenate(nodes), np.concatenate(children))

    def take(self, at: NDArray[Any]) -> Outlines:
        """Some of them, by row."""
        sizes = self.nodes["n_children"].astype(np.int64)
        starts, chosen = (np.cumsum(sizes) - sizes)[at], sizes[at]
        shifts = np.repeat(starts - (np.cumsum(chosen) - chosen), chosen)
        return Outlines(self.nodes[at], self.children[shifts + np.arange(len(shifts))])

    def ids(self) -> list[str]:
        """The ids of the nodes."""
        return [full_id(high, low) for high, low in self.nodes[["high", "low"]].tolist()]


class Found(NamedTuple):
    """What a search found to be ranked: outlines and their scores, shape ``(n,)``, best first."""

    outlines: Outlines
    scores: NDArray[np.float64]


def outlined(rows: Iterable[tuple[Payload, float]]) -> Found:
    """What a search found, from payloads that have the fields ``OUTLINED``, and scores."""
    found = list(rows)
    scores = np.array([score for _, score in found], dtype=np.float64)
    return Found(Outlines.of(payload for payload, _ in found), scores)


def halves(node_id: str) -> tuple[int, int]:
    """The upper and the lower 64 bits of an id."""
    return divmod(int(node_id.replace("-", ""), 16), 1 << 64)


def full_id(high: int, low: int) -> str:
    """The id of two halves."""
    return str(UUID(int=high << 64 | low))


def _row(stored: Payload) -> tuple[int, ...]:
    """The fields of ``NODE``."""
    names = _hashes(stored["tree"], stored["documents"][0], tuple(stored["section"]))
    numbers = (stored["layer"], stored["position"], stored["n_tokens"], len(stored["children"]))
    return (*halves(stored["node_id"]), *names, *map(int, numbers))


@lru_cache(maxsize=1 << 14)
def _hashes(tree: str, document: str, section: tuple[str, ...]) -> tuple[int, int, int]:
    parts = [(document,), (tree, document), (tree, document, *section)]
    return tuple(_hash(repr(part)) for part in parts)  # type: ignore[return-value]


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


NOTHING = Found(Outlines.of(()), np.zeros(0))
