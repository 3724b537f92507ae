"""Assets of a team's own beside the chain: what they read, and parts of the chain run alone."""

import warnings

import dagster as dg
import pandas as pd
import pytest
from support.workshop import Workshop, prose

from raptor_assets.assets.names import corpus_partitions
from raptor_assets.assets.specs import QDRANT

pytestmark = pytest.mark.slow


@dg.asset(
    partitions_def=corpus_partitions(),
    ins={"summaries": dg.AssetIn(["layer_1", "summaries"])},
)
def longest_summary(context: dg.AssetExecutionContext, summaries: pd.DataFrame) -> None:
    (row,) = summaries.nlargest(1, "n_tokens").to_dict("records")
    context.add_asset_metadata({"layer": row["layer"], "n_children": len(row["children"])})


def vectors_of_a_range():
    """An asset that takes the leaves of all partitions of its run at once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)

        @dg.asset(
            partitions_def=corpus_partitions(),
            backfill_policy=dg.BackfillPolicy.single_run(),
            ins={"leaves": dg.AssetIn(["layer_0", "embeddings"], input_manager_key=QDRANT)},
        )
        def vector_counts(context: dg.AssetExecutionContext, leaves) -> None:
            for name, frame in leaves.items():
                found = {"n": len(frame), "n_dims": len(frame["vector"].iloc[0])}
                context.add_asset_metadata(found, partition_key=name)

        return vector_counts


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    workshop = Workshop(tmp_path_factory.mktemp("team"), tree={"max_layers": 1})
    workshop.write("a.md", prose(16, seed=1))
    workshop.write("b.md", prose(16, seed=2))
    workshop.build()
    return workshop


def materialize(workshop, selection, *partitions, assets=()):
    definitions = dg.Definitions.merge(workshop.definitions(), dg.Definitions(assets=assets))
    with workshop.instance() as instance:
        return definitions.resolve_implicit_global_asset_job_def().execute_in_process(
            instance=instance,
            asset_selection=[dg.AssetKey(key.split("/")) for key in selection],
            tags={
                "dagster/asset_partition_range_start": partitions[0],
                "dagster/asset_partition_range_end": partitions[-1],
            },
        )


def test_a_downstream_asset_gets_the_nodes_of_its_partition(built):
    assert materialize(built, ["longest_summary"], "a.md", assets=[longest_summary]).success
    found = built.metadata("longest_summary", "a.md")
    assert found["layer"] == 1
    assert found["n_children"] >= 2


def test_a_downstream_asset_of_several_partitions_gets_vectors_by_partition(built):
    assert materialize(
        built, ["vector_counts"], "a.md", "b.md", assets=[vectors_of_a_range()]
    ).success
    for name in ("a.md", "b.md"):
        found = built.metadata("vector_counts", name)
        assert found["n"] == built.metadata("chunks", name)["n_nodes"]
        assert found["n_dims"] == 32


def test_one_layer_of_one_partition_is_made_from_what_is_kept(built):
    before = built.data_version("layer_1/summaries", "a.md")
    result = materialize(built, ["layer_1/summaries"], "a.md")
    events = result.asset_materializations_for_node("raptor")
    assert [(e.asset_key.path, e.partition) for e in events] == [(["layer_1", "summaries"], "a.md")]
    assert built.data_version("layer_1/summaries", "a.md") == before
