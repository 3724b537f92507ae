"""The sensor requests exactly the partitions concerned, once, and never by mistake a removal."""

import dagster as dg
import filelock
import pytest
from support.homes import built_once, copy_home
from support.sensor_daemon import Daemon
from support.summarizers import ScriptedSummarizer
from support.workshop import Workshop, prose

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_core.errors import SourceError

pytestmark = pytest.mark.slow

UNCHANGED = "no file changed since the last request"


def three_documents(root):
    made = Workshop(root, tree={"max_layers": 1})
    for name in ("a.md", "b.md", "c.md"):
        made.write(name, prose(6, seed=ord(name[0])))
    return made


@pytest.fixture
def workshop(tmp_path):
    return three_documents(tmp_path)


def build_three(root):
    three_documents(root).build()


@pytest.fixture
def published(tmp_path_factory, tmp_path):
    """A workshop of its own whose three documents are published."""
    copy_home(built_once(tmp_path_factory, "three", build_three), tmp_path / "three")
    return Workshop(tmp_path / "three", tree={"max_layers": 1})


def test_new_documents_are_requested_in_one_run_and_only_once(workshop):
    daemon = Daemon(workshop)
    assert daemon.tick()[:2] == ([["a.md", "b.md", "c.md"]], [])
    assert daemon.tick() == ([], [], UNCHANGED)
    assert daemon.cursor
    workshop.build()
    assert daemon.tick() == ([], [], UNCHANGED)
    daemon.cursor = None
    assert daemon.tick() == ([], [], "3 partitions are up to date")


def test_a_tick_leaves_the_corpus_to_a_run_and_sees_its_edits_afterwards(workshop):
    daemon, between = Daemon(workshop), []
    assert daemon.tick()[0] == [["a.md", "b.md", "c.md"]]

    def tick(progress):
        if progress.asset == CHAIN_NAMES.tree.name and progress.completed_share == 1:
            workshop.write("b.md", prose(6, seed=9))
            between.append(daemon.tick())

    assert workshop.build(on_progress=tick).succeeded
    assert [found[:2] for found in between] == [([], [])]
    assert between[0][2].endswith("of sync has not ended")
    assert daemon.tick()[0] == [["b.md"]]


def test_a_source_that_cannot_be_reached_fails_the_tick(published):
    published.docs.rename(published.docs.with_name("away"))
    with pytest.raises(SourceError):
        Daemon(published).tick()


def test_an_empty_source_skips_the_tick(published):
    for name in ("a.md", "b.md", "c.md"):
        published.remove(name)
    builds, dropped, reason = Daemon(published).tick()
    assert (builds, dropped) == ([], [])
    assert "3 partitions stay" in reason


@pytest.mark.parametrize(("watch", "status"), [(False, "STOPPED"), (True, "RUNNING")])
def test_it_is_off_until_the_settings_or_a_person_say_otherwise(tmp_path, watch, status):
    workshop = Workshop(tmp_path, source={"watch": watch, "watch_seconds": 70})
    sensor = workshop.definitions().resolve_sensor_def("source_sensor")
    assert sensor.minimum_interval_seconds == 70
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


def test_a_store_in_use_skips_the_tick_which_is_repeated(published):
    daemon = Daemon(published)
    daemon.settle()
    published.write("b.md", prose(6, seed=9))
    with filelock.FileLock(published.home.embedded_store_path / "corpus.lock", thread_local=False):
        builds, dropped, reason = daemon.tick()
    assert (builds, dropped) == ([], [])
    assert "corpus.lock" in reason
    assert daemon.tick()[0] == [["b.md"]]
