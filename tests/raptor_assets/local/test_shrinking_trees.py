"""Trees that lose layers: what goes, what the record says, and what nobody asks for again."""

import dagster as dg
import pytest
from support.homes import built_once, copy_home
from support.workshop import TWO_LAYERS, Workshop, prose

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_assets.corpus.io_managers import QdrantLayersIOManager, TablesIOManager
from raptor_assets.local.status import read_status
from raptor_core.errors import TableError
from raptor_core.tables.values import NODES

pytestmark = pytest.mark.slow

NAME = "a.md"


def build_and_shrink(root):
    workshop = Workshop(root, **TWO_LAYERS)
    workshop.write(NAME, prose(40, seed=1))
    assert workshop.build().failed == {}
    assert len(workshop.manifests()[NAME].layer_sizes) > 2
    workshop.write(NAME, "One short sentence stands here.")
    assert workshop.build().succeeded


@pytest.fixture
def shrunken(tmp_path_factory, tmp_path):
    """A tree of two layers of summaries or more, built again from a single sentence."""
    copy_home(built_once(tmp_path_factory, "shrunken", build_and_shrink), tmp_path / "copy")
    return Workshop(tmp_path / "copy", **TWO_LAYERS)


def gone(workshop):
    """Assets that the tree had and has no more, and the one that tells why it ended."""
    return CHAIN_NAMES.chain(2)[4:-2]


def n_events(workshop, asset):
    with workshop.instance() as instance:
        return len(instance.fetch_materializations(asset.key, limit=10).records)


def test_tables_of_lost_layers_go_and_the_record_says_so(shrunken):
    tables = shrunken.access().tables
    assert tables.exists(CHAIN_NAMES.clusters(1).path, NAME)
    for asset in gone(shrunken):
        assert not tables.exists(asset.path, NAME)
        found = shrunken.metadata(asset.name, NAME)
        assert (found["state"], found["n_nodes"]) == ("past_top", 0)
        assert shrunken.data_version(asset.name, NAME) == "past_top"
    assert "1 nodes" in shrunken.metadata("layer_1/clusters", NAME)["ended_trees"]
    (tree,) = read_status(shrunken.home, shrunken.settings).trees
    assert tree.checks
    layers = {check.asset for check in tree.checks if check.asset.startswith("layer_")}
    assert layers == {"layer_0/embeddings"}
    asset = dg.AssetKey(["layer_1", "summaries"])
    with shrunken.instance() as instance:
        last = instance.event_log_storage.get_asset_check_execution_history(
            dg.AssetCheckKey(asset, "junk_text"), limit=1
        )
    assert last[0].evaluation.passed
    assert "above the top" in last[0].evaluation.description


def test_a_lost_layer_is_reported_once_and_may_come_back(shrunken):
    before = [n_events(shrunken, asset) for asset in gone(shrunken)]
    assert shrunken.build(force=True).built == [NAME]
    assert [n_events(shrunken, asset) for asset in gone(shrunken)] == before
    assert shrunken.build().run_ids == []
    shrunken.write(NAME, prose(40, seed=1))
    assert shrunken.build().succeeded
    assert shrunken.metadata("layer_1/summaries", NAME)["state"] == "built"
    assert shrunken.access().tables.exists(CHAIN_NAMES.summaries(1).path, NAME)


def test_a_table_of_a_layer_that_a_tree_lacks_is_read_without_rows(shrunken):
    parts = shrunken.access()
    tables = TablesIOManager(parts)
    layers = QdrantLayersIOManager(parts)
    found = tables.read(CHAIN_NAMES.summaries(1), NAME)
    assert (len(found), tuple(found)) == (0, NODES.names)
    assert "vector" in layers.read(CHAIN_NAMES.embeddings(2), NAME)
    assert len(layers.read(CHAIN_NAMES.embeddings(0), NAME)) == 1
    with pytest.raises(TableError, match="materialize its asset"):
        tables.read(CHAIN_NAMES.summaries(1), "never built")
