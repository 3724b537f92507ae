"""Which partitions go through all layers together: what bounds a run's memory."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

BATCH_PARTITIONS = 64
"""Partitions of one batch; what is published before the next begin."""

BATCH_CHARS = 2_000_000
"""Characters of the documents of one batch, unless a single partition has more."""

BATCH_TREES = 1_000
"""Trees of one batch, unless a single partition has more: each takes memory besides its text."""


@dataclass(frozen=True, slots=True)
class Size:
    """What a partition, or a batch of some, holds: trees, and characters of their documents."""

    n_trees: int = 0
    n_chars: int = 0

    def __add__(self, other: Size) -> Size:
        """Both together."""
        return Size(self.n_trees + other.n_trees, self.n_chars + other.n_chars)

    @property
    def fits(self) -> bool:
        """Whether one batch may hold so much."""
        return self.n_trees <= BATCH_TREES and self.n_chars <= BATCH_CHARS


def batches(names: Iterable[str], sizes: Mapping[str, Size]) -> Iterator[list[str]]:
    """``names`` in order, in batches; one that ``sizes`` does not know counts as empty."""
    batch: list[str] = []
    total = Size()
    for name in names:
        size = sizes.get(name, Size())
        if batch and (len(batch) == BATCH_PARTITIONS or not (total + size).fits):
            yield batch
            batch, total = [], Size()
        batch.append(name)
        total += size
    if batch:
        yield batch


def give_memory_back() -> None:
    """Hand to the system what a batch has freed, which glibc keeps: some 70 MB, in pieces."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # other libraries have none
        if trim is not None:
            trim(0)
