"""Builds after the first: what is redone, what is reused, what stays published."""

import pytest
from support.hashing import HashingEmbedder
from support.summarizers import ScriptedSummarizer
from support.workshop import Workshop, prose

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_assets.chain import context
from raptor_assets.corpus.changes import State
from raptor_assets.shown.progress import by_cause
from raptor_core.errors import (
    EmptySourceError,
    EndpointError,
    SourceError,
)

pytestmark = pytest.mark.slow


def versions(workshop, partition):
    chain = CHAIN_NAMES.chain(workshop.settings.tree.max_layers)
    return {asset.name: workshop.data_version(asset.name, partition) for asset in chain}


def test_without_a_change_nothing_runs_and_a_forced_build_computes_nothing(pair):
    before, n_embedded = versions(pair, "a.md"), pair.embedder.n_embedded
    n_made = pair.summarizer.n_made
    again = pair.build()
    assert (again.run_ids, again.changes.of(State.UNCHANGED)) == ([], ("a.md", "b.md"))
    assert pair.build(force=True).built == ["a.md", "b.md"]
    assert versions(pair, "a.md") == before
    assert pair.embedder.n_embedded == n_embedded
    assert pair.summarizer.n_made == n_made
    for asset in CHAIN_NAMES.chain(1):
        assert pair.metadata(asset.name, "a.md")["reused"], asset


def test_white_space_stops_above_the_embeddings(pair):
    before, n_made = versions(pair, "a.md"), pair.summarizer.n_made
    pair.write("a.md", "\n\n\n" + prose(24, seed=1))
    pair.build()
    after = versions(pair, "a.md")
    assert after["chunks"] != before["chunks"]
    for key in ("layer_1/clusters", "layer_1/summaries"):
        assert after[key] == before[key]
    assert pair.summarizer.n_made == n_made


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


def test_an_embedder_that_is_down_stops_the_run_after_two_partitions(tmp_path, monkeypatch):
    monkeypatch.setattr(context, "BATCH_PARTITIONS", 3)
    monkeypatch.setattr(PickyEmbedder, "words", ("",))
    workshop = Workshop(tmp_path, components={"embedder": PickyEmbedder()}, tree={"max_layers": 1})
    for name in ("a.md", "b.md", "c.md", "d.md"):
        workshop.write(name, prose(4, seed=ord(name[0])))
    report = workshop.build()
    assert report.built == []
    assert "answered 400" in report.failed["a.md"].reason
    causes = by_cause(report.failed)
    assert [names for names, _ in causes][-1][-1] == "d.md"  # never begun, for the same reason
    assert len(causes) < len(report.failed)


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
