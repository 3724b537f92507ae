"""Numbers of nodes of a tree, or of all trees, that have each term: the document counts of BM25.

The statistics of a server include deleted points until it compacts them, and differ between shards.
So each manifest on a server holds the counts of its tree, and a search adds them up: the same
corpus has the same scores, whatever its history.
"""

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
class TermCounts:
    """Counts of one tree, or a difference between such counts.

    ``n_nodes`` have any term. ``indices`` are terms as ``lexical.py`` numbers them, ascending, and
    ``counts`` the numbers of nodes that have each; both have shape ``(n,)``.
    """

    n_nodes: int
    indices: NDArray[np.uint32]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, vectors: Iterable[Sparse | None]) -> "TermCounts":
        """Return the counts of nodes with these lexical vectors."""
        rows = [np.asarray(v.indices, dtype=np.uint32) for v in vectors if v is not None]
        if not rows:
            return NO_TERMS
        indices, counts = np.unique(np.concatenate(rows), return_counts=True)
        return cls(len(rows), indices, counts.astype(np.int64))

    def __neg__(self) -> "TermCounts":
        return TermCounts(-self.n_nodes, self.indices, -self.counts)

    def to_payload(self) -> Payload:
        """Return the counts as the payload fields ``TERM_FIELDS``."""
        data = self.indices.astype("<u4").tobytes() + self.counts.astype("<u4").tobytes()
        text = base64.b64encode(zlib.compress(data, 1)).decode("ascii")
        return {"n_nodes": self.n_nodes, "terms": text}

    @classmethod
    def of_payload(cls, payload: Payload) -> "TermCounts":
        """Return the counts in a payload from ``to_payload``."""
        data = zlib.decompress(base64.b64decode(payload["terms"]))
        numbers = np.frombuffer(data, dtype="<u4")
        indices, counts = np.split(numbers, 2)
        return cls(payload["n_nodes"], indices.astype(np.uint32), counts.astype(np.int64))

    def count(self, indices: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return the number of nodes that have each of these terms, shape ``(n,)``."""
        if not len(self.indices):
            return np.zeros(len(indices), dtype=np.int64)
        at = np.minimum(np.searchsorted(self.indices, indices), len(self.indices) - 1)
        return np.where(self.indices[at] == indices, self.counts[at], 0)


NO_TERMS = TermCounts(0, np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.int64))


def add_counts(parts: Iterable[TermCounts]) -> TermCounts:
    """Return the sum of counts, without terms that no node has."""
    rows = list(parts)
    terms = np.concatenate([part.indices for part in rows])
    indices, positions = np.unique(terms, return_inverse=True)
    counts = np.zeros(len(indices), dtype=np.int64)
    np.add.at(counts, positions, np.concatenate([part.counts for part in rows]))
    is_used = counts != 0
    return TermCounts(sum(part.n_nodes for part in rows), indices[is_used], counts[is_used])


@dataclass(slots=True)
class CorpusTerms:
    """Counts of all trees, and their sum."""

    _trees: dict[str, TermCounts] = field(default_factory=dict)
    _sum: TermCounts = NO_TERMS

    def put(self, trees: dict[str, TermCounts]) -> None:
        """Replace the counts of these trees; ``NO_TERMS`` removes a tree."""
        previous = (-self._trees.get(tree, NO_TERMS) for tree in trees)
        self._sum = add_counts([self._sum, *trees.values(), *previous])
        self._trees |= trees

    def weighted(self, query: Sparse) -> Sparse:
        """Return a query with each weight multiplied by the inverse document frequency.

        ``log(1 + (N - n + 0.5) / (n + 0.5))`` (Robertson and Zaragoza 2009, formula 3.3, plus 1 in
        the logarithm to keep it above 0).
        """
        counts = self._sum.count(np.asarray(query.indices, dtype=np.uint32)).tolist()
        n_nodes = self._sum.n_nodes
        weights = (
            value * math.log1p((max(n_nodes, n) - n + 0.5) / (n + 0.5))
            for value, n in zip(query.values, counts, strict=True)
        )
        return Sparse(query.indices, tuple(weights))
