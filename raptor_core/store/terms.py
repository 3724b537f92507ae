"""In how many nodes of a tree, or of all trees, each term stands: what BM25 weighs words by.

A server's own statistics go on counting deleted points until it compacts them, and each shard has
its own. So each published tree has a point with the counts of its live nodes, and who searches adds
them up: the same corpus has the same scores, whatever came and went before.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from raptor_core.store.lexical import Sparse

_ADDED_AT_ONCE = 64
"""Changes that are looked up one by one before they are added up."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Counts of one tree, or differences between such counts.

    Attributes:
        n_nodes: number of nodes that have any term.
        indices: terms as ``lexical.py`` numbers them, ascending, shape ``(n,)``.
        counts: in how many nodes each stands, shape ``(n,)``.
    """

    n_nodes: int
    indices: NDArray[np.uint32]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, words: Iterable[Sparse | None]) -> Terms:
        """Counts of nodes, given by their words."""
        found = [np.asarray(one.indices, dtype=np.uint32) for one in words if one is not None]
        if not found:
            return NO_TERMS
        indices, counts = np.unique(np.concatenate(found), return_counts=True)
        return cls(len(found), indices, counts.astype(np.int64))

    def __add__(self, other: Terms) -> Terms:
        return added([self, other])

    def __neg__(self) -> Terms:
        return Terms(-self.n_nodes, self.indices, -self.counts)

    def __sub__(self, other: Terms) -> Terms:
        return added([self, -other])

    def encode(self) -> str:
        """Text for a payload."""
        data = self.indices.astype("<u4").tobytes() + self.counts.astype("<u4").tobytes()
        return base64.b64encode(zlib.compress(data, 1)).decode("ascii")

    @classmethod
    def decode(cls, n_nodes: int, text: str) -> Terms:
        """The inverse of ``encode``."""
        numbers = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<u4")
        indices, counts = np.split(numbers, 2)
        return cls(n_nodes, indices.astype(np.uint32), counts.astype(np.int64))

    def count(self, indices: NDArray[np.uint32]) -> NDArray[np.int64]:
        """In how many nodes each of some terms stands, shape as theirs."""
        if not len(self.indices):
            return np.zeros(len(indices), dtype=np.int64)
        at = np.minimum(np.searchsorted(self.indices, indices), len(self.indices) - 1)
        return np.where(self.indices[at] == indices, self.counts[at], 0)


NO_TERMS = Terms(0, np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.int64))


def added(parts: Iterable[Terms]) -> Terms:
    """The sum of counts; terms that stand nowhere are left out."""
    every = list(parts)
    indices, places = np.unique(
        np.concatenate([part.indices for part in every]), return_inverse=True
    )
    counts = np.zeros(len(indices), dtype=np.int64)
    np.add.at(counts, places, np.concatenate([part.counts for part in every]))
    some = counts != 0
    return Terms(sum(part.n_nodes for part in every), indices[some], counts[some])


@dataclass(slots=True)
class CorpusTerms:
    """The counts of all trees. ``put`` changes those of some; the sum follows."""

    _trees: dict[str, Terms] = field(default_factory=dict)
    _sum: list[Terms] = field(default_factory=lambda: [NO_TERMS])

    def put(self, trees: dict[str, Terms]) -> None:
        """Take in the counts of some trees; ``NO_TERMS`` forgets one."""
        changes = [
            part for tree, now in trees.items() for part in (now, -self._trees.get(tree, NO_TERMS))
        ]
        self._trees |= trees
        if len(changes) + len(self._sum) > _ADDED_AT_ONCE:
            self._sum = [added([*self._sum, *changes])]
        else:
            self._sum = [*self._sum, *changes]

    def weighted(self, query: Sparse) -> Sparse:
        """The words of a question, each times its inverse document frequency.

        ``log(1 + (N - n + 0.5) / (n + 0.5))`` (Robertson and Zaragoza 2009, formula 3.3, kept above
        0).
        """
        parts = self._sum
        indices = np.asarray(query.indices, dtype=np.uint32)
        counts = np.sum([part.count(indices) for part in parts], axis=0).tolist()
        n_nodes = sum(part.n_nodes for part in parts)
        weights = (
            value * math.log1p((max(n_nodes, n) - n + 0.5) / (n + 0.5))
            for value, n in zip(query.values, counts, strict=True)
        )
        return Sparse(query.indices, tuple(weights))
