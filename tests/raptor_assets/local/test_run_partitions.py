"""Partitions of runs that are requested."""

from hypothesis import given
from hypothesis import strategies as st

from raptor_assets.chain.runs import runs_over


@given(st.lists(st.text(max_size=3)), st.integers(1, 7))
def test_runs_hold_every_partition_in_its_order_and_are_as_few_as_can_be(partitions, longest):
    runs = runs_over(partitions, longest)
    assert [name for run in runs for name in run] == partitions
    assert all(0 < len(run) <= longest for run in runs)
    assert len(runs) == -(-len(partitions) // longest)
