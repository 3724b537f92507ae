"""Which partitions go through all layers together: what bounds a run's memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

BATCH_PARTITIONS = 64
"""Partitions of one batch; what is published before the next begin."""

BATCH_CHARS = 2_000_000
"""Characters of the documents of one batch, unless a single partition has more."""


def batches(names: Iterable[str], n_chars: Mapping[str, int]) -> Iterator[list[str]]:
    """``names`` in order, in batches; one that ``n_chars`` does not know counts as empty."""
    batch: list[str] = []
    total = 0
    for name in names:
        size = n_chars.get(name, 0)
        if batch and (len(batch) == BATCH_PARTITIONS or total + size > BATCH_CHARS):
            yield batch
            batch, total = [], 0
        batch.append(name)
        total += size
    if batch:
        yield batch
