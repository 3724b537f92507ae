"""What a run is told of its partitions, and what is read from it."""

import dagster as dg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raptor_assets.names import CorpusNames
from raptor_assets.project.runs import partitions_of, run_config, run_tags, runs_over

CORPUS = CorpusNames("wiki")


@given(st.lists(st.text(max_size=3)), st.integers(1, 7))
def test_runs_hold_every_partition_in_its_order_and_are_as_few_as_can_be(partitions, longest):
    runs = runs_over(partitions, longest)
    assert [name for run in runs for name in run] == partitions
    assert all(0 < len(run) <= longest for run in runs)
    assert len(runs) == -(-len(partitions) // longest)


@pytest.mark.parametrize("partitions", [("b",), ("a", "c"), ("a", "b", "c")])
def test_a_run_tells_its_partitions(partitions):
    run = dg.DagsterRun(
        job_name="wiki_build", run_config=run_config(partitions, CORPUS), tags=run_tags(partitions)
    )
    assert tuple(partitions_of(run, "abc")) == partitions


def test_a_range_that_was_chosen_in_the_ui_is_read_too():
    ends = {"start": "b", "end": "d"}
    tags = {f"dagster/asset_partition_range_{end}": name for end, name in ends.items()}
    run = dg.DagsterRun(job_name="wiki_build", tags=tags)
    assert partitions_of(run, list("abcde")) == ["b", "c", "d"]
    assert partitions_of(run, ["b", "c"]) == []
    assert partitions_of(dg.DagsterRun(job_name="other"), ["b"]) == []
