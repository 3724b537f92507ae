"""Batches of partitions that go through all layers together; they bound a run's memory."""

import ctypes
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

BATCH_PARTITIONS = 64  # published before the next batch begins
BATCH_CHARS = 2_000_000  # of documents, unless one partition has more
BATCH_TREES = 1_000  # unless one partition has more


@dataclass(frozen=True, slots=True)
class Size:
    """Size of a partition or a batch: its trees, and the characters of their documents."""

    n_trees: int = 0
    n_chars: int = 0

    def __add__(self, size: "Size") -> "Size":
        return Size(self.n_trees + size.n_trees, self.n_chars + size.n_chars)

    @property
    def fits(self) -> bool:
        """Whether one batch may have this size."""
        return self.n_trees <= BATCH_TREES and self.n_chars <= BATCH_CHARS


def batches(names: Iterable[str], sizes: Mapping[str, Size]) -> Iterator[list[str]]:
    """Yield ``names`` in order, in batches; a name without a size counts as empty."""
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


def release_memory() -> None:
    """Return freed memory to the system, some 70 MB for each batch, which glibc keeps."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # other libraries have none
        if trim is not None:
            trim(0)
