"""The sensor requests exactly the partitions concerned, once, and never by mistake a removal."""

import shutil
from contextlib import suppress

import dagster as dg
import filelock
import pytest
from support.sensor_daemon import Daemon
from support.summarizers import ScriptedSummarizer
from support.workshop import Workshop, prose

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_core.errors import SourceError, StoreError

pytestmark = pytest.mark.slow

UNCHANGED = "no file changed since the last request"


@pytest.fixture
def workshop(tmp_path):
    made = Workshop(tmp_path, tree={"max_layers": 1})
    for name in ("a.md", "b.md", "c.md"):
        made.write(name, prose(6, seed=ord(name[0])))
    return made


def test_new_documents_are_requested_in_one_run_and_only_once(workshop):
    daemon = Daemon(workshop)
    assert daemon.tick()[:2] == ([["a.md", "b.md", "c.md"]], [])
    assert daemon.tick() == ([], [], UNCHANGED)
    assert daemon.cursor
    workshop.build()
    assert daemon.tick() == ([], [], UNCHANGED)
    daemon.cursor = None
    assert daemon.tick() == ([], [], "3 partitions are up to date")


def test_changes_apart_from_each_other_share_a_run(workshop):
    workshop.build()
    before = workshop.data_version("tree", "b.md")
    n_before = n_materializations(workshop, "b.md")
    workshop.write("a.md", prose(6, seed=1))
    workshop.write("c.md", prose(6, seed=2))
    daemon = Daemon(workshop)
    assert daemon.tick()[:2] == ([["a.md", "c.md"]], [])
    assert daemon.run()
    assert daemon.tick() == ([], [], UNCHANGED)
    assert workshop.data_version("tree", "b.md") == before
    assert n_materializations(workshop, "b.md") == n_before


def n_materializations(workshop, partition):
    chosen = dg.AssetRecordsFilter(asset_key=CHAIN_NAMES.tree.key, asset_partitions=[partition])
    with workshop.instance() as instance:
        return len(instance.fetch_materializations(chosen, limit=9).records)


def test_a_tick_leaves_the_corpus_to_a_run_and_sees_its_edits_afterwards(workshop):
    daemon, between = Daemon(workshop), []
    assert daemon.tick()[0] == [["a.md", "b.md", "c.md"]]

    def tick(progress):
        if progress.asset == CHAIN_NAMES.tree.name and progress.share == 1:
            workshop.write("b.md", prose(6, seed=9))
            between.append(daemon.tick())

    assert workshop.build(on_progress=tick).succeeded
    assert [found[:2] for found in between] == [([], [])]
    assert between[0][2].endswith("of sync has not ended")
    assert daemon.tick()[0] == [["b.md"]]


def test_content_that_comes_back_is_requested_again(workshop):
    daemon = Daemon(workshop)
    daemon.tick()
    workshop.build()
    original = (workshop.docs / "b.md").read_text()
    for text in (prose(6, seed=5), original, prose(6, seed=5), original):
        workshop.write("b.md", text)
        assert daemon.tick()[0] == [["b.md"]]
        workshop.build()


def test_a_removed_document_is_dropped_and_one_that_comes_back_is_built(workshop):
    daemon = Daemon(workshop)
    workshop.build()
    text = (workshop.docs / "b.md").read_text()
    workshop.remove("b.md")
    assert daemon.tick()[:2] == ([], ["b.md"])
    assert daemon.tick()[:2] == ([], [])
    workshop.build()
    workshop.write("b.md", text)
    assert daemon.tick()[:2] == ([["b.md"]], [])


def test_a_source_that_cannot_be_reached_fails_the_tick(workshop):
    workshop.build()
    workshop.docs.rename(workshop.docs.with_name("away"))
    with pytest.raises(SourceError):
        Daemon(workshop).tick()


def test_an_empty_source_skips_the_tick(workshop):
    workshop.build()
    for name in ("a.md", "b.md", "c.md"):
        workshop.remove(name)
    builds, dropped, reason = Daemon(workshop).tick()
    assert (builds, dropped) == ([], [])
    assert "3 partitions stay" in reason


def test_without_a_source_it_says_what_to_set(tmp_path):
    workshop = Workshop(tmp_path, source={"paths": []})
    assert "raptor.toml" in Daemon(workshop).tick()[2]


def test_an_unreadable_document_is_held(workshop):
    workshop.build()
    (workshop.docs / "b.md").write_bytes(b"\x00\x01\x02\xff" * 400)
    builds, dropped, reason = Daemon(workshop).tick()
    assert (builds, dropped) == ([], [])
    assert "b.md" in reason


@pytest.mark.parametrize(("watch", "status"), [(False, "STOPPED"), (True, "RUNNING")])
def test_it_is_off_until_the_settings_or_a_person_say_otherwise(tmp_path, watch, status):
    workshop = Workshop(tmp_path, source={"watch": watch})
    sensor = workshop.definitions().resolve_sensor_def("source_sensor")
    assert sensor.default_status == dg.DefaultSensorStatus[status]


def test_what_failed_is_not_asked_for_again_until_it_changes_or_a_person_asks(tmp_path):
    summarizer = ScriptedSummarizer(failing="zebra")
    workshop = Workshop(tmp_path, components={"summarizer": summarizer})
    workshop.write("a.md", prose(24, seed=1))
    workshop.write("b.md", prose(24, seed=2).replace("castle", "zebra", 1))
    daemon = Daemon(workshop)
    assert daemon.tick()[0] == [["a.md", "b.md"]]
    assert not daemon.run()
    assert daemon.tick() == ([], [], UNCHANGED)
    workshop.write("c.md", prose(24, seed=3))
    assert daemon.tick()[0] == [["b.md", "c.md"]]
    assert not daemon.run()
    workshop.write("b.md", prose(24, seed=2))
    assert daemon.tick()[0] == [["b.md"]]


class Cancelling(ScriptedSummarizer):
    """Has the run cancelled, as the UI does it, once it is asked for a summary."""

    def __init__(self, workshop):
        super().__init__()
        self.workshop = workshop
        self.is_cancelling = False

    def summarize(self, requests):
        if self.is_cancelling:
            with self.workshop.instance() as instance:
                (run,) = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED]))
                instance.report_run_canceling(run)
            raise KeyboardInterrupt
        yield from super().summarize(requests)


def test_what_a_cancelled_run_left_waits_until_a_person_starts_it_again(workshop):
    summarizer = Cancelling(workshop)
    workshop.parts_given["summarizer"] = summarizer
    workshop.configure(tree={"max_layers": 1})
    daemon = Daemon(workshop)
    daemon.settle()
    for name in ("a.md", "b.md"):
        workshop.write(name, prose(6, seed=ord(name[0]) + 7))
    assert daemon.tick()[0] == [["a.md", "b.md"]]
    summarizer.is_cancelling = True
    with suppress(KeyboardInterrupt):
        daemon.run()
    assert daemon.tick() == ([], [], UNCHANGED)
    summarizer.is_cancelling = False
    assert workshop.build().built == ["a.md", "b.md"]


def test_a_damaged_store_fails_the_tick(workshop):
    daemon = Daemon(workshop)
    daemon.settle()
    workshop.write("b.md", prose(6, seed=9))
    (workshop.home.qdrant / "corpus" / "identity.json").write_text("{")
    with pytest.raises(StoreError, match=r"identity\.json is damaged"):
        daemon.tick()


def test_a_store_in_use_skips_the_tick_which_is_repeated(workshop):
    daemon = Daemon(workshop)
    daemon.settle()
    workshop.write("b.md", prose(6, seed=9))
    with filelock.FileLock(workshop.home.qdrant / "corpus.lock", thread_local=False):
        builds, dropped, reason = daemon.tick()
    assert (builds, dropped) == ([], [])
    assert "corpus.lock" in reason
    assert daemon.tick()[0] == [["b.md"]]


def test_lost_records_of_dagster_cost_nothing_and_drop_what_is_gone(workshop):
    workshop.build()
    shutil.rmtree(workshop.home.dagster)
    workshop.remove("b.md")
    assert Daemon(workshop).settle() == ([], ["b.md"])
    assert list(workshop.manifests()) == ["a.md", "c.md"]
