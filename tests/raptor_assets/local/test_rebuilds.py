"""Builds after the first: what is redone, what is reused, what stays published."""

import dagster as dg
import pytest
from support.hashing import HashingEmbedder
from support.homes import built_once, copy_home
from support.summarizers import ScriptedSummarizer
from support.workshop import TWO_LAYERS, Workshop, prose

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_assets.chain import context
from raptor_assets.corpus.changes import Changes, PartitionChange
from raptor_assets.corpus.io_managers import QdrantLayersIOManager, TablesIOManager
from raptor_assets.corpus.renames import find_renames
from raptor_assets.local.status import read_status
from raptor_assets.shown.progress import group_by_cause
from raptor_core.documents import Document, DocumentEntry, PublishedDocument
from raptor_core.errors import EmptySourceError, EndpointError, SourceError, TableError
from raptor_core.tables.values import NODES
from raptor_core.tree import layer_fit


def versions(workshop, partition):
    chain = CHAIN_NAMES.chain(workshop.settings.tree.max_layers)
    return {asset.name: workshop.data_version(asset.name, partition) for asset in chain}


@pytest.mark.slow
def test_without_a_change_nothing_runs_and_a_forced_build_computes_nothing(pair):
    before, n_embedded = versions(pair, "a.md"), pair.embedder.n_embedded
    n_made = pair.summarizer.n_made
    again = pair.build()
    assert (again.run_ids, again.changes.partitions_in(PartitionChange.UNCHANGED)) == (
        [],
        ("a.md", "b.md"),
    )
    assert pair.build(force=True).built == ["a.md", "b.md"]
    assert versions(pair, "a.md") == before
    assert pair.embedder.n_embedded == n_embedded
    assert pair.summarizer.n_made == n_made
    for asset in CHAIN_NAMES.chain(1):
        assert pair.metadata(asset.name, "a.md")["reused"], asset


@pytest.mark.slow
def test_an_empty_or_missing_source_removes_nothing(pair):
    before = pair.manifests()
    for name in ("a.md", "b.md"):
        pair.remove(name)
    with pytest.raises(EmptySourceError):
        pair.build()
    pair.docs.rmdir()
    with pytest.raises(SourceError):
        pair.build()
    assert pair.manifests() == before
    assert pair.partitions() == ["a.md", "b.md"]


class PickyEmbedder(HashingEmbedder):
    """Refuses any batch that holds a text with one of the words."""

    words = ("zebra",)

    def embed(self, texts):
        if any(word in text for text in texts for word in self.words):
            raise EndpointError("the endpoint answered 400: input refused")
        return super().embed(texts)


@pytest.mark.slow
def test_an_embedder_that_is_down_stops_the_run_after_two_partitions(tmp_path, monkeypatch):
    monkeypatch.setattr(context, "BATCH_PARTITIONS", 3)
    monkeypatch.setattr(PickyEmbedder, "words", ("",))
    workshop = Workshop(tmp_path, components={"embedder": PickyEmbedder()}, tree={"max_layers": 1})
    for name in ("a.md", "b.md", "c.md", "d.md"):
        workshop.write(name, prose(4, seed=ord(name[0])))
    report = workshop.build()
    assert report.built == []
    assert "answered 400" in report.failed["a.md"].reason
    causes = group_by_cause(report.failed)
    assert [names for names, _ in causes][-1][-1] == "d.md"  # never begun, for the same reason
    assert len(causes) < len(report.failed)


@pytest.mark.slow
def test_a_blocking_check_keeps_what_was_published(pair):
    pair.summarizer.unclosed = "zebra"
    before, texts = pair.manifests(), pair.texts("b.md")
    pair.write("b.md", prose(24, seed=2).replace("castle", "zebra"))
    report = pair.build()
    assert "check junk_text" in report.failed["b.md"].reason
    assert pair.manifests() == before
    assert pair.texts("b.md") == texts
    with pair.instance() as instance:
        run = instance.get_run_by_id(report.run_ids[0])
        (failed,) = [
            event.dagster_event
            for event in instance.all_logs(run.run_id)
            if event.is_dagster_event and event.dagster_event.is_step_failure
        ]
    message = failed.event_specific_data.error.message
    assert run.is_failure
    assert "1 of 1 partitions failed" in message
    assert "b.md, at layer_1/summaries: check junk_text" in message


@pytest.mark.slow
def test_shards_hold_several_trees_and_lose_them_one_by_one(tmp_path):
    workshop = Workshop(tmp_path, grouping={"shards": 2})
    for at in range(4):
        workshop.write(f"x/d{at}.md", prose(6, seed=at))
    workshop.build()
    assert set(workshop.partitions()) <= {"shard-0000", "shard-0001"}
    assert len(workshop.manifests()) == 4
    workshop.remove("x/d3.md")
    workshop.build()
    assert set(workshop.manifests()) == {"x/d0.md", "x/d1.md", "x/d2.md"}
    workshop.configure(grouping={"by": "folder", "shards": 0})
    workshop.build()
    assert workshop.partitions() == ["x"]
    documents = {tree: set(m.documents) for tree, m in workshop.manifests().items()}
    assert documents == {"x": {"x/d0.md", "x/d1.md", "x/d2.md"}}


@pytest.mark.slow
def test_unfinished_work_on_a_document_that_vanished_goes_with_the_next_build(tmp_path):
    workshop = Workshop(
        tmp_path,
        components={"summarizer": ScriptedSummarizer(failing="zebra")},
        grouping={"shards": 1},
    )
    workshop.write("a.md", prose(24, seed=1))
    workshop.write("b.md", prose(24, seed=2).replace("castle", "zebra"))
    assert workshop.build().built == []
    cache = workshop.access().components().cache
    assert "b.md" in cache.unfinished_trees()
    workshop.remove("b.md")
    assert workshop.build().built == ["shard-0000"]
    assert cache.unfinished_trees() == []
    with workshop.access().store.open() as store:
        assert [manifest.tree for manifest in store.manifests()] == ["a.md"]


SETTINGS = {
    "grouping": {"by": "corpus"},
    "clustering": {"method": "raptor"},
    "tree": {"max_layers": 3},
}


def build_corpus(root):
    made = Workshop(root, **SETTINGS)
    made.write("a.md", prose(160, seed=1))
    made.write("b.md", prose(60, seed=2))
    made.build()


@pytest.fixture
def workshop(tmp_path_factory, tmp_path):
    """A published tree of two documents."""
    copy_home(built_once(tmp_path_factory, "corpus-of-two", build_corpus), tmp_path / "copy")
    return Workshop(tmp_path / "copy", **SETTINGS)


@pytest.mark.slow
def test_many_placed_nodes_fit_the_touched_clusters_again(workshop, monkeypatch):
    monkeypatch.setattr(layer_fit, "REFIT_SHARE", 0.01)
    monkeypatch.setattr(layer_fit, "COHESION_LOSS", 0.0)
    workshop.write("c.md", prose(20, seed=3))
    workshop.build()
    then = workshop.metadata("tree", "corpus")
    assert then["layers_fitted"] > 0
    assert then["summaries_made"] == then["summaries_planned"]


def entries(*pairs):
    return tuple(DocumentEntry.from_document(Document(name, text)) for name, text in pairs)


def renames(now, before):
    """By partition: what the source holds, and what is published; all of both has changed."""
    partitions = {name: {name: entries(*pairs)} for name, pairs in now.items()}
    published = {
        name: [PublishedDocument(e.id, e.content_hash) for e in entries(*pairs)]
        for name, pairs in before.items()
    }
    present = {document_id for pairs in now.values() for document_id, _ in pairs}
    found = find_renames(partitions, set(now), published, present)
    return dict(found.renamed_documents), dict(found.successor_partitions)


@pytest.mark.parametrize(
    ("now", "before", "documents", "successors"),
    [
        ({"b": ["bx"]}, {"a": ["ax"]}, {"b": "a"}, {"a": ("b",)}),
        ({"b": ["by"]}, {"a": ["ax"]}, {}, {}),
        ({"b": ["bx"], "a": ["ax"]}, {"a": ["ax"]}, {}, {}),  # a copy
        ({"c": ["cx"], "d": ["dx"]}, {"a": ["ax"], "b": ["bx"]}, {"c": "a", "d": "b"}, None),
        ({"c": ["cx"], "d": ["dx"]}, {"a": ["ax"]}, {"c": "a"}, {"a": ("c",)}),
        ({"f": ["bx", "cy"]}, {"f": ["ax", "cy"]}, {"b": "a"}, {}),  # within one partition
        ({"f": ["cy"], "g": ["bx"]}, {"f": ["ax", "cy"]}, {"b": "a"}, {"f": ("g",)}),
        ({"a": ["ay"], "b": ["bx"]}, {"a": ["ax"], "b": ["by"]}, {}, {}),  # texts were swapped
        ({}, {"a": ["ax"]}, {}, {}),
        ({"a": ["ax"]}, {}, {}, {}),
    ],
)
def test_a_renamed_document_is_matched_by_content_to_one_new_id_at_most(
    now, before, documents, successors
):
    def split(trees):
        return {name: [tuple(item) for item in items] for name, items in trees.items()}

    found = renames(split(now), split(before))
    assert found[0] == documents
    if successors is not None:
        assert found[1] == successors


def test_partitions_that_documents_leave_come_last():
    changes = Changes(successor_partitions={"a": ("c",)})
    assert changes.sort_for_build("dcab") == ["b", "c", "d", "a"]


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


@pytest.mark.slow
def test_tables_of_lost_layers_go_and_the_record_says_so(shrunken):
    tables = shrunken.access().tables
    assert tables.exists(CHAIN_NAMES.clusters(1).table_path, NAME)
    for asset in gone(shrunken):
        assert not tables.exists(asset.table_path, NAME)
        found = shrunken.metadata(asset.name, NAME)
        assert (found["state"], found["n_nodes"]) == ("past_top", 0)
        assert shrunken.data_version(asset.name, NAME) == "past_top"
    assert "no more nodes" in shrunken.metadata("layer_1/clusters", NAME)["ended_trees"]
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


@pytest.mark.slow
def test_a_table_of_a_layer_that_a_tree_lacks_is_read_without_rows(shrunken):
    parts = shrunken.access()
    tables = TablesIOManager(parts)
    layers = QdrantLayersIOManager(parts)
    found = tables.read_frame(CHAIN_NAMES.summaries(1), NAME)
    assert (len(found), tuple(found)) == (0, NODES.names)
    assert "vector" in layers.read_frame(CHAIN_NAMES.embeddings(2), NAME)
    assert len(layers.read_frame(CHAIN_NAMES.embeddings(0), NAME)) == 1
    with pytest.raises(TableError, match="materialize its asset"):
        tables.read_frame(CHAIN_NAMES.summaries(1), "never built")
