"""Every published point read and held against what was written: what ``VectorStore.mend`` finds.

The lexical index of an engine is a copy of the words beside the points, and may be damaged by
itself. One search tells: it asks for every word that the corpus has, each weighted at random, so
that the score of a node is a check value over all its entries in the index, known from the words
beside it, which are held against its text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from raptor_core.store.conditions import PUBLISHED
from raptor_core.store.damage import is_damaged
from raptor_core.store.engine import Condition, Engine, Record
from raptor_core.store.lexical import Sparse

READ_POINTS = 1000
"""Points that are read at once."""

_SCORE_TOLERANCE = 2e-5
"""Of a score, as a share: engines add some hundred weights of 32 bits."""


def damaged_points(engine: Engine) -> list[str]:
    """Ids of published points that are not what was written, sorted."""
    held = engine.scroll(Condition((PUBLISHED,)), ("state",))
    ids = [record.id for record in held]
    damaged: set[str] = set()
    words = _Words()
    for at in range(0, len(ids), READ_POINTS):
        for record in engine.inspect(ids[at : at + READ_POINTS]):
            if is_damaged(record):
                damaged.add(record.id)
            else:
                words.add(record)
    damaged |= words.lost(engine)
    return sorted(damaged)


class _Words:
    """The words of nodes, and the score of each node when all words are asked for."""

    def __init__(self) -> None:
        self._indices: set[int] = set()
        self._expected: dict[str, float] = {}

    def add(self, record: Record) -> None:
        """Take in a point that is sound, read whole."""
        if (words := record.lexical) is not None:
            self._indices.update(words.indices)
            self._expected[record.id] = float(_weights(words.indices) @ np.asarray(words.values))

    def lost(self, engine: Engine) -> set[str]:
        """Nodes that the engine's index does not find as their texts say."""
        if not self._expected:
            return set()
        indices = tuple(sorted(self._indices))
        found = engine.index_scores(Sparse(indices, tuple(_weights(indices).tolist())))
        if found is None:
            return set()
        return {
            name
            for name, score in self._expected.items()
            if not abs(found.get(name, 0.0) - score) <= _SCORE_TOLERANCE * score
        }


def _weights(indices: Sequence[int]) -> NDArray[np.float64]:
    """Between 1 and 2, as good as random, and exact in 32 bits; one for each index."""
    mixed = np.asarray(indices, dtype=np.uint64) * np.uint64(2654435761) >> np.uint64(9)
    return 1 + (mixed % np.uint64(1024)) / 1024
