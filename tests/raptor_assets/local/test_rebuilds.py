"""Builds after the first: what is redone, what is reused, what stays published."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from support.hashing import HashingEmbedder
from support.summarizers import ScriptedSummarizer
from support.workshop import Workshop, prose

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_assets.chain import context
from raptor_core.errors import (
    EmptySourceError,
    EndpointError,
    SourceError,
    StoreLockedError,
    UnknownTreeError,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def workshop(tmp_path):
    made = Workshop(tmp_path)
    made.write("a.md", prose(24, seed=1))
    made.write("b.md", prose(24, seed=2))
    return made


def scripted(tmp_path, **script):
    made = Workshop(tmp_path, components={"summarizer": ScriptedSummarizer(**script)})
    made.summarizer = made.parts_given["summarizer"]
    made.write("a.md", prose(24, seed=1))
    made.write("b.md", prose(24, seed=2))
    return made


def versions(workshop, partition):
    chain = CHAIN_NAMES.chain(workshop.settings.tree.max_layers)
    return {asset.name: workshop.data_version(asset.name, partition) for asset in chain}


def test_a_second_build_runs_nothing(workshop):
    workshop.build()
    again = workshop.build()
    assert again.run_ids == []
    assert again.changes.unchanged == ("a.md", "b.md")


def test_a_forced_build_computes_nothing_and_keeps_all_data_versions(tmp_path):
    workshop = scripted(tmp_path)
    workshop.build()
    before, n_embedded = versions(workshop, "a.md"), workshop.embedder.n_embedded
    n_made = workshop.summarizer.n_made
    assert workshop.build(force=True).built == ["a.md", "b.md"]
    assert versions(workshop, "a.md") == before
    assert workshop.embedder.n_embedded == n_embedded
    assert workshop.summarizer.n_made == n_made
    for asset in CHAIN_NAMES.chain(2):
        assert workshop.metadata(asset.name, "a.md")["reused"], asset


def test_an_edit_builds_its_partition_alone(workshop):
    workshop.build()
    before = workshop.manifests()
    workshop.write("a.md", prose(24, seed=1) + "\n\nA zebra stands at the very end of it all.")
    report = workshop.build()
    after = workshop.manifests()
    assert (report.built, report.changes.changed) == (["a.md"], ("a.md",))
    assert after["a.md"].build_id != before["a.md"].build_id
    assert after["b.md"] == before["b.md"]
    assert any("zebra" in text for text in workshop.texts("a.md"))


def test_white_space_stops_above_the_embeddings(tmp_path):
    workshop = scripted(tmp_path)
    workshop.build()
    before, n_made = versions(workshop, "a.md"), workshop.summarizer.n_made
    workshop.write("a.md", "\n\n\n" + prose(24, seed=1))
    workshop.build()
    after = versions(workshop, "a.md")
    assert after["chunks"] != before["chunks"]
    for key in ("layer_1/clusters", "layer_1/summaries", "layer_2/summaries"):
        assert after[key] == before[key]
    assert workshop.summarizer.n_made == n_made


def test_a_removed_document_takes_its_tree_along_and_may_come_back(workshop):
    workshop.build()
    text = (workshop.docs / "b.md").read_text()
    workshop.remove("b.md")
    assert workshop.build().dropped == ["b.md"]
    assert (workshop.partitions(), set(workshop.manifests())) == (["a.md"], {"a.md"})
    tables = workshop.access().tables
    assert not any(tables.exists(asset.path, "b.md") for asset in CHAIN_NAMES.chain(2))
    workshop.write("b.md", text)
    assert workshop.build().built == ["b.md"]
    assert set(workshop.manifests()) == {"a.md", "b.md"}


def test_a_dropped_partition_is_gone_until_the_next_build(workshop):
    workshop.build()
    assert workshop.drop("a.md").dropped == ["a.md"]
    assert set(workshop.manifests()) == {"b.md"}
    assert workshop.build().built == ["a.md"]


def test_an_unknown_partition_is_named(workshop):
    with pytest.raises(UnknownTreeError, match=r"'nosuch'; there are 2: a\.md, b\.md"):
        workshop.build("nosuch")
    with pytest.raises(UnknownTreeError, match="'nosuch'"):
        workshop.drop("nosuch")


def test_changed_settings_rebuild_and_unrelated_ones_do_not(workshop):
    workshop.build()
    workshop.configure(checks={"max_children": 20}, embedder={"batch_size": 8})
    assert workshop.build().run_ids == []
    workshop.configure(clustering={"cluster_size": 3})
    assert workshop.build().built == ["a.md", "b.md"]


def test_an_empty_or_missing_source_removes_nothing(workshop):
    workshop.build()
    before = workshop.manifests()
    for name in ("a.md", "b.md"):
        workshop.remove(name)
    with pytest.raises(EmptySourceError):
        workshop.build()
    workshop.docs.rmdir()
    with pytest.raises(SourceError):
        workshop.build()
    assert workshop.manifests() == before
    assert workshop.partitions() == ["a.md", "b.md"]


def test_a_failing_partition_is_named_and_the_others_are_published(tmp_path):
    workshop = scripted(tmp_path, failing="zebra")
    workshop.write("b.md", prose(24, seed=2).replace("castle", "zebra", 1))
    report = workshop.build()
    assert report.built == ["a.md"]
    assert set(report.failed) == {"b.md"}
    assert report.failed["b.md"].asset == "layer_1/summaries"
    assert "the endpoint refused it" in report.failed["b.md"].reason
    assert set(workshop.manifests()) == {"a.md"}
    workshop.summarizer.failing = "\0"
    n_made = workshop.summarizer.n_made
    again = workshop.build()
    assert again.built == ["b.md"]
    assert workshop.summarizer.n_made - n_made <= 3


class PickyEmbedder(HashingEmbedder):
    """Refuses any batch that holds a text with one of the words."""

    words = ("zebra",)

    def embed(self, texts):
        if any(word in text for text in texts for word in self.words):
            raise EndpointError("the endpoint answered 400: input refused")
        return super().embed(texts)


def test_a_text_that_the_embedder_refuses_spoils_no_other_partition(tmp_path):
    workshop = Workshop(tmp_path, components={"embedder": PickyEmbedder()}, tree={"max_layers": 1})
    for name in ("a.md", "b.md", "c.md"):
        workshop.write(name, prose(8, seed=ord(name[0])))
    workshop.write("b.md", "A zebra stands here alone.")
    report = workshop.build()
    assert report.built == ["a.md", "c.md"]
    assert {name: failure.asset for name, failure in report.failed.items()} == {
        "b.md": "layer_0/embeddings"
    }


def test_an_embedder_that_is_down_stops_the_run_after_two_partitions(tmp_path, monkeypatch):
    monkeypatch.setattr(context, "BATCH_PARTITIONS", 3)
    monkeypatch.setattr(PickyEmbedder, "words", ("",))
    workshop = Workshop(tmp_path, components={"embedder": PickyEmbedder()}, tree={"max_layers": 1})
    for name in ("a.md", "b.md", "c.md", "d.md"):
        workshop.write(name, prose(4, seed=ord(name[0])))
    report = workshop.build()
    assert report.built == []
    assert "answered 400" in report.failed["a.md"].reason
    assert report.failed["d.md"].reason.startswith("not started, since the run stopped there")


def test_a_failed_rebuild_leaves_the_published_tree(tmp_path):
    workshop = scripted(tmp_path, failing="zebra")
    workshop.build()
    before, texts = workshop.manifests(), workshop.texts("b.md")
    workshop.write("b.md", prose(24, seed=2).replace("castle", "zebra"))
    report = workshop.build()
    assert set(report.failed) == {"b.md"}
    assert workshop.manifests() == before
    assert workshop.texts("b.md") == texts
    assert workshop.build().changes.changed == ("b.md",)


def test_a_blocking_check_keeps_what_was_published(tmp_path):
    workshop = scripted(tmp_path, unclosed="zebra")
    workshop.build()
    before = workshop.manifests()
    workshop.write("b.md", prose(24, seed=2).replace("castle", "zebra"))
    report = workshop.build()
    assert "check junk_text" in report.failed["b.md"].reason
    assert workshop.manifests() == before
    with workshop.instance() as instance:
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


def test_a_locked_store_fails_the_build_with_the_holder_and_harms_nothing(workshop):
    workshop.build("a.md")
    before = workshop.manifests()
    workshop.write("a.md", prose(26, seed=3))
    with ThreadPoolExecutor(1) as another:
        store = another.submit(workshop.access().store.open).result()
        with pytest.raises(StoreLockedError, match="is held by"):
            workshop.build()
        another.submit(store.close).result()
    assert workshop.manifests() == before
    assert sorted(workshop.build().built) == ["a.md", "b.md"]


def test_folders_and_corpus_make_one_tree_of_many_documents(tmp_path):
    workshop = Workshop(tmp_path, grouping={"by": "folder"})
    for name in ("x/a.md", "x/b.md", "y/c.md"):
        workshop.write(name, prose(8, seed=len(name)))
    workshop.build()
    assert {name: set(m.documents) for name, m in workshop.manifests().items()} == {
        "x": {"x/a.md", "x/b.md"},
        "y": {"y/c.md"},
    }
    workshop.configure(grouping={"by": "corpus"})
    report = workshop.build()
    assert (report.built, report.dropped) == (["corpus"], ["x", "y"])
    assert set(workshop.manifests()) == {"corpus"}


def test_shards_hold_several_trees_and_lose_them_one_by_one(tmp_path):
    workshop = Workshop(tmp_path, grouping={"shards": 2})
    for at in range(5):
        workshop.write(f"d{at}.md", prose(8, seed=at))
    workshop.build()
    assert set(workshop.partitions()) <= {"shard-0000", "shard-0001"}
    assert len(workshop.manifests()) == 5
    workshop.remove("d3.md")
    workshop.build()
    assert set(workshop.manifests()) == {"d0.md", "d1.md", "d2.md", "d4.md"}
    workshop.configure(grouping={"shards": 0})
    workshop.build()
    assert set(workshop.manifests()) == {"d0.md", "d1.md", "d2.md", "d4.md"}
    assert sorted(workshop.partitions()) == ["d0.md", "d1.md", "d2.md", "d4.md"]


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
    assert "b.md" in cache.unfinished()
    workshop.remove("b.md")
    assert workshop.build().built == ["shard-0000"]
    assert cache.unfinished() == []
    with workshop.access().store.open() as store:
        assert [manifest.tree for manifest in store.manifests()] == ["a.md"]


def test_a_document_that_was_emptied_takes_its_tree_along(workshop):
    workshop.build()
    workshop.write("b.md", " \n")
    assert workshop.build().dropped == ["b.md"]
    assert set(workshop.manifests()) == {"a.md"}


def test_a_document_that_cannot_be_read_keeps_its_tree(workshop):
    workshop.build()
    (workshop.docs / "b.md").write_bytes(b"\x00\x01\x02\xff" * 400)
    report = workshop.build()
    assert report.changes.withheld == ("b.md",)
    assert set(workshop.manifests()) == {"a.md", "b.md"}
