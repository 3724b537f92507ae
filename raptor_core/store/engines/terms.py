"""In how many nodes of a tree, or of all trees, each term stands: what BM25 weighs words by.

A server's own statistics go on counting deleted points until it compacts them, and each shard has
its own. So on a server each manifest has the counts of its tree's nodes, and who searches adds them
up: the same corpus has the same scores, whatever came and went before.
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
from raptor_core.store.payload import Payload

TERM_FIELDS = ("n_nodes", "terms")
"""Fields of a payload that hold counts."""


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

    def __neg__(self) -> Terms:
        return Terms(-self.n_nodes, self.indices, -self.counts)

    def to_payload(self) -> Payload:
        """The fields of a payload."""
        data = self.indices.astype("<u4").tobytes() + self.counts.astype("<u4").tobytes()
        text = base64.b64encode(zlib.compress(data, 1)).decode("ascii")
        return {"n_nodes": self.n_nodes, "terms": text}

    @classmethod
    def of_payload(cls, payload: Payload) -> Terms:
        """The inverse of ``to_payload``."""
        data = zlib.decompress(base64.b64decode(payload["terms"]))
        numbers = np.frombuffer(data, dtype="<u4")
        indices, counts = np.split(numbers, 2)
        return cls(payload["n_nodes"], indices.astype(np.uint32), counts.astype(np.int64))

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
    _sum: Terms = NO_TERMS

    def put(self, trees: dict[str, Terms]) -> None:
        """Take in the counts of some trees; ``NO_TERMS`` forgets one."""
        changes = [
            part for tree, now in trees.items() for part in (now, -self._trees.get(tree, NO_TERMS))
        ]
        self._trees |= trees
        self._sum = added([self._sum, *changes])

    def weighted(self, query: Sparse) -> Sparse:
        """The words of a question, each times its inverse document frequency.

        ``log(1 + (N - n + 0.5) / (n + 0.5))`` (Robertson and Zaragoza 2009, formula 3.3, kept above
        0).
        """
        counts = self._sum.count(np.asarray(query.indices, dtype=np.uint32)).tolist()
        n_nodes = self._sum.n_nodes
        weights = (
            value * math.log1p((max(n_nodes, n) - n + 0.5) / (n + 0.5))
            for value, n in zip(query.values, counts, strict=True)
        )
        return Sparse(query.indices, tuple(weights))
