"""Partitions of runs that are requested."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raptor_assets.assets.names import CorpusNames
from raptor_assets.chain.runs import run_config, run_tags, runs_over

CORPUS = CorpusNames("wiki")


@given(st.lists(st.text(max_size=3)), st.integers(1, 7))
def test_runs_hold_every_partition_in_its_order_and_are_as_few_as_can_be(partitions, longest):
    runs = runs_over(partitions, longest)
    assert [name for run in runs for name in run] == partitions
    assert all(0 < len(run) <= longest for run in runs)
    assert len(runs) == -(-len(partitions) // longest)


@pytest.mark.parametrize("partitions", [("b",), ("a", "c"), ("a", "b", "c")])
def test_a_run_names_its_partitions_by_dagsters_tag_or_in_its_configuration(partitions):
    config, tags = run_config(partitions, CORPUS), run_tags(partitions)
    named = config and config["ops"]["wiki_raptor"]["config"]["partitions"]
    assert (named or [tags["dagster/partition"]]) == list(partitions)
