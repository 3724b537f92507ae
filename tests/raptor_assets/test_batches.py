"""Batches hold every partition once, in order, within their bounds."""

import ctypes
import sys
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from raptor_assets.chain.context import (
    BATCH_CHARS,
    BATCH_PARTITIONS,
    BATCH_TREES,
    Size,
    batches,
    release_memory,
)

CHARS = st.integers(0, BATCH_CHARS * 2) | st.integers(0, 40_000)
TREES = st.integers(0, BATCH_TREES * 2) | st.integers(0, 30)
SIZES = st.lists(st.builds(Size, TREES, CHARS), max_size=300).map(
    lambda sizes: {str(at): size for at, size in enumerate(sizes)}
)


def total(names, sizes):
    return sum((sizes[name] for name in names), Size())


@given(SIZES)
def test_each_partition_comes_once_in_order_and_bounds_hold(sizes):
    found = list(batches(sizes, sizes))
    assert [name for batch in found for name in batch] == list(sizes)
    for batch in found:
        assert 1 <= len(batch) <= BATCH_PARTITIONS
        held = total(batch, sizes)
        assert len(batch) == 1 or (held.n_chars <= BATCH_CHARS and held.n_trees <= BATCH_TREES)


@given(SIZES)
def test_no_batch_is_closed_that_had_room_for_the_next(sizes):
    for batch, following in pairwise(batches(sizes, sizes)):
        wanted = total([*batch, following[0]], sizes)
        assert (
            len(batch) == BATCH_PARTITIONS
            or wanted.n_chars > BATCH_CHARS
            or wanted.n_trees > BATCH_TREES
        )


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_memory_that_a_batch_freed_is_given_back():
    if sys.platform != "linux":
        release_memory()
        return
    library = ctypes.CDLL(None)
    library.malloc.restype, library.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    blocks = [library.malloc(2_000) for _ in range(40_000)]
    for block in blocks:
        ctypes.memset(block, 1, 2_000)
    for block in blocks[:-1]:  # the last one keeps the heap from shrinking by itself
        library.free(block)
    kept = resident_bytes()
    release_memory()
    library.free(blocks[-1])
    assert kept - resident_bytes() > 50_000_000
