"""Batches hold every partition once, in order, within their bounds."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from raptor_assets.batches import BATCH_CHARS, BATCH_PARTITIONS, batches

SIZES = st.lists(st.integers(0, BATCH_CHARS * 2) | st.integers(0, 40_000), max_size=300)


@given(SIZES)
def test_each_partition_comes_once_in_order_and_bounds_hold(sizes):
    n_chars = {str(at): size for at, size in enumerate(sizes)}
    found = list(batches(n_chars, n_chars))
    assert [name for batch in found for name in batch] == list(n_chars)
    for batch in found:
        assert 1 <= len(batch) <= BATCH_PARTITIONS
        assert len(batch) == 1 or sum(n_chars[name] for name in batch) <= BATCH_CHARS


@given(SIZES)
def test_no_batch_is_closed_that_had_room_for_the_next(sizes):
    n_chars = {str(at): size for at, size in enumerate(sizes)}
    found = list(batches(n_chars, n_chars))
    for batch, following in pairwise(found):
        total = sum(n_chars[name] for name in batch) + n_chars[following[0]]
        assert len(batch) == BATCH_PARTITIONS or total > BATCH_CHARS


def test_unknown_sizes_count_partitions_alone():
    names = [str(at) for at in range(2 * BATCH_PARTITIONS + 1)]
    assert list(map(len, batches(names, {}))) == [BATCH_PARTITIONS, BATCH_PARTITIONS, 1]
