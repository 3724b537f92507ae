"""What a build leaves in Dagster's record: materializations, versions, metadata, checks."""

import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver
from dagster._core.loader import LoadingContextForTest
from support.workshop import TWO_LAYERS, Workshop, prose

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_assets.assets.specs import build_check_specs
from raptor_core.tables.files import TableStore

pytestmark = pytest.mark.slow

LONG = "guides/long.md"
SHORT = "short.md"
TOPS = {LONG: 2, SHORT: 0}
"""The highest layer of each tree."""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Two documents, one tree of two summary layers and one of a single leaf, built once."""
    workshop = Workshop(tmp_path_factory.mktemp("built"), **TWO_LAYERS)
    workshop.write(LONG, f"# Long\n\n{prose(40, seed=1)}")
    workshop.write(SHORT, "One short sentence stands here.")
    workshop.report = workshop.build()
    return workshop


def chain(workshop):
    return CHAIN_NAMES.chain(workshop.settings.tree.max_layers)


def expected(workshop, partition):
    """What a partition has: what stands up to its top, and the clusters that say why it ended."""
    top = TOPS[partition]
    return {asset for asset in chain(workshop) if asset.min_top_layer <= top}


def test_what_a_tree_has_is_materialized_and_nothing_above_its_end(built):
    assert built.report.succeeded
    assert sorted(built.report.built) == [LONG, SHORT]
    assert built.partitions() == [LONG, SHORT]
    tables = TableStore(built.home.tables_url(built.settings))
    with built.instance() as instance:
        for asset in chain(built):
            found = {name for name in (LONG, SHORT) if asset in expected(built, name)}
            assert instance.get_materialized_partitions(asset.key) == found
            stored = set() if asset.kind == "embeddings" else found  # they are in Qdrant
            assert {
                name for name in (LONG, SHORT) if tables.exists(asset.table_path, name)
            } == stored


def test_nothing_is_stale_after_a_build(built):
    graph = built.definitions().resolve_asset_graph()
    with built.instance() as instance:
        resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
        statuses = {
            resolver.get_status(asset.key, partition).value
            for asset in chain(built)
            for partition in (LONG, SHORT)
            if asset in expected(built, partition)
        }
    assert statuses == {"FRESH"}


def test_a_layer_says_counts_tokens_samples_and_seconds(built):
    found = built.metadata("layer_1/summaries", LONG)
    assert found["state"] == "built"
    assert found["n_nodes"] == found["dagster/row_count"] == found["n_made"] > 1
    assert found["n_tokens"] > found["n_nodes"]
    assert found["n_reused"] == 0
    assert found["children_mean"] >= 2
    assert 0 < found["compression_mean"] < 1
    assert found["sample_nodes"].count("\n") >= 3
    assert found["seconds"] >= 0
    assert not found["reused"]


def test_every_check_of_what_a_tree_has_has_a_result(built):
    specs = build_check_specs(built.settings, CHAIN_NAMES)
    with built.instance() as instance:
        found = {
            (
                record.check_key,
                record.partition_key,
            ): record.latest_execution_status.value
            for record in instance.event_log_storage.get_asset_check_partition_info(
                [spec.key for spec in specs], partition_keys=[LONG, SHORT]
            )
        }
    structural = {spec.key for spec in specs if spec.blocking}
    there = {
        (spec.key, name)
        for name in TOPS
        for asset in expected(built, name)
        for spec in specs
        if spec.asset_key == asset.key
    }
    assert found.keys() == there
    assert {found[place] for place in there if place[0] in structural} == {"SUCCEEDED"}
