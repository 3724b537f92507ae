"""Trees that lose layers: what goes, what the record says, and what nobody asks for again."""

import dagster as dg
import pytest
from dagster._core.storage.partition_status_cache import get_and_update_asset_status_cache_value
from support.summarizers import ScriptedSummarizer
from support.workshop import Workshop, prose

from raptor_assets import keys, names
from raptor_assets.project.io_managers import QdrantLayersIOManager, TablesIOManager
from raptor_assets.standalone.status import read_status
from raptor_core.errors import TableError
from raptor_core.tables.values import NODES

pytestmark = pytest.mark.slow

NAME = "a.md"


@pytest.fixture
def shrunken(tmp_path):
    """A tree of two layers of summaries or more, built again from a single sentence."""
    workshop = Workshop(tmp_path)
    workshop.write(NAME, prose(40, seed=1))
    assert workshop.build().failed == {}
    assert len(workshop.manifests()[NAME].layer_sizes) > 2
    workshop.write(NAME, "One short sentence stands here.")
    assert workshop.build().succeeded
    return workshop


def gone(workshop):
    """Assets that the tree had and has no more, and the one that tells why it ended."""
    return list(keys.chain_keys(2)[4:-2])


def n_events(workshop, key):
    with workshop.instance() as instance:
        return len(instance.fetch_materializations(key, limit=10).records)


def test_tables_of_lost_layers_go_and_the_record_says_so(shrunken):
    tables = shrunken.resources().tables
    assert tables.exists(names.clusters(1).split("/"), NAME)
    for key in gone(shrunken):
        assert not tables.exists(key.path, NAME)
        found = shrunken.metadata(key.to_user_string(), NAME)
        assert (found["state"], found["n_nodes"]) == ("past_top", 0)
        assert shrunken.data_version(key.to_user_string(), NAME) == "past_top"
    assert "1 nodes" in shrunken.metadata("layer_1/clusters", NAME)["ended_trees"]
    (tree,) = read_status(shrunken.home, shrunken.settings).trees
    assert tree.checks
    layers = {check.asset for check in tree.checks if check.asset.startswith("layer_")}
    assert layers == {"layer_0/embeddings"}
    asset = dg.AssetKey(["layer_1", "summaries"])
    with shrunken.instance() as instance:
        last = instance.event_log_storage.get_asset_check_execution_history(
            dg.AssetCheckKey(asset, "truncation"), limit=1
        )
    assert last[0].evaluation.passed
    assert "above the top" in last[0].evaluation.description


def test_a_lost_layer_is_told_once_and_may_come_back(shrunken):
    before = [n_events(shrunken, key) for key in gone(shrunken)]
    assert shrunken.build(force=True).built == [NAME]
    assert [n_events(shrunken, key) for key in gone(shrunken)] == before
    assert shrunken.build().run_ids == []
    shrunken.write(NAME, prose(40, seed=1))
    assert shrunken.build().succeeded
    assert shrunken.metadata("layer_1/summaries", NAME)["state"] == "built"
    assert shrunken.resources().tables.exists(names.summaries(1).split("/"), NAME)


def test_dropping_tells_only_of_what_there_was(tmp_path):
    workshop = Workshop(tmp_path)
    workshop.write(NAME, "One short sentence stands here.")
    workshop.build()
    workshop.drop(NAME)
    assert workshop.data_version("tree", NAME) == "dropped"
    assert n_events(workshop, keys.of(names.summaries(1))) == 0


def test_a_partition_that_fails_is_shown_as_failed_where_it_stopped(tmp_path):
    workshop = Workshop(tmp_path, components={"summarizer": ScriptedSummarizer(failing="zebra")})
    workshop.write(NAME, prose(24, seed=1))
    workshop.write("b.md", prose(24, seed=2).replace("castle", "zebra", 1))
    assert set(workshop.build().failed) == {"b.md"}
    with workshop.instance() as instance:
        shown = {}
        for key in (keys.of(names.clusters(1)), keys.of(names.summaries(1)), keys.of(names.TREE)):
            status = get_and_update_asset_status_cache_value(
                instance, key, keys.corpus_partitions()
            )
            failed = status.deserialize_failed_partition_subsets(keys.corpus_partitions())
            shown[key] = set(failed.get_partition_keys())
    assert shown == {
        keys.of(names.clusters(1)): set(),
        keys.of(names.summaries(1)): {"b.md"},
        keys.of(names.TREE): {"b.md"},
    }


def test_a_table_of_a_layer_that_a_tree_lacks_is_read_without_rows(shrunken):
    parts = shrunken.resources()
    tables = TablesIOManager(parts)
    layers = QdrantLayersIOManager(parts)
    found = tables.read(keys.of(names.summaries(1)), NAME)
    assert (len(found), tuple(found)) == (0, NODES.names)
    assert "vector" in layers.read(keys.of(names.embeddings(2)), NAME)
    assert len(layers.read(keys.of(names.embeddings(0)), NAME)) == 1
    with pytest.raises(TableError, match="materialize its asset"):
        tables.read(keys.of(names.summaries(1)), "never built")
