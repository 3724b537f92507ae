"""The sensor looks at the store, in passing, and leaves unfinished trees to the run at them."""

import shutil

import filelock
import pytest
from support.sensor_daemon import Daemon
from support.workshop import Workshop, prose

from raptor_assets import names
from raptor_assets.project import store_state
from raptor_core.errors import StoreError

pytestmark = pytest.mark.slow

NAMES = ["a.md", "b.md"]


@pytest.fixture
def workshop(tmp_path):
    made = Workshop(tmp_path, tree={"max_layers": 1})
    for name in NAMES:
        made.write(name, prose(6, seed=ord(name[0])))
    return made


@pytest.fixture
def looks(monkeypatch):
    """What was found each time that the sensor looked into the store."""
    found = []
    read = store_state.read_store_state

    def counted(*given):
        found.append(read(*given))
        return found[-1]

    monkeypatch.setattr(store_state, "read_store_state", counted)
    return found


def test_a_tick_between_a_tree_and_its_report_leaves_it_to_the_run(workshop):
    daemon = Daemon(workshop)
    assert daemon.tick()[0] == [NAMES]
    between = []

    def tick(progress):
        if progress.asset == names.TREE and progress.share == 1:
            between.append(daemon.tick())

    assert workshop.build(on_progress=tick).succeeded
    assert [found[:2] for found in between] == [([], [])]
    assert "2 are requested" in between[0][2]
    assert daemon.tick() == ([], [], "2 partitions are up to date")


def test_a_store_that_was_put_back_or_lost_is_built_again_and_then_left_alone(workshop, looks):
    daemon = Daemon(workshop)
    assert daemon.settle() == (NAMES, [])
    copy = workshop.home.path / "copy"
    shutil.copytree(workshop.home.qdrant, copy)
    workshop.write("b.md", prose(8, seed=7))
    assert daemon.settle() == (["b.md"], [])
    n_looks = len(looks)
    assert daemon.tick()[2].endswith("no file changed")
    assert len(looks) == n_looks
    before = {name: tree.build_id for name, tree in workshop.manifests().items()}
    shutil.rmtree(workshop.home.qdrant)
    copy.rename(workshop.home.qdrant)
    assert daemon.settle() == (["b.md"], [])
    shutil.rmtree(workshop.home.qdrant)
    assert daemon.settle() == (NAMES, [])
    assert {name: tree.build_id for name, tree in workshop.manifests().items()} == before


def test_the_first_tick_after_records_were_lost_drops_what_is_gone(workshop):
    workshop.build()
    shutil.rmtree(workshop.home.dagster)
    workshop.remove("b.md")
    assert Daemon(workshop).settle() == (["a.md"], ["b.md"])
    assert list(workshop.manifests()) == ["a.md"]


def test_no_tick_waits_for_a_store_that_is_in_use(workshop, looks):
    workshop.configure(tree={"max_layers": 1}, store={"lock_seconds": 600.0})
    workshop.build()
    daemon = Daemon(workshop)
    with filelock.FileLock(workshop.home.qdrant / "corpus.lock", thread_local=False):
        workshop.write("b.md", prose(8, seed=7))
        assert daemon.tick()[0] == [["b.md"]]
        assert looks == [None]
    assert daemon.run()
    assert daemon.tick() == ([], [], "2 partitions are up to date")
    assert len(looks) == 2


def test_what_the_store_does_not_get_back_is_requested_once_and_told(workshop, monkeypatch):
    daemon = Daemon(workshop)
    daemon.settle()
    monkeypatch.setattr(store_state, "read_store_state", lambda *_: ({},))
    shutil.rmtree(workshop.home.qdrant)
    assert daemon.settle() == (NAMES, [])
    builds, _, reason = daemon.tick()
    assert builds == []
    assert "the store lost, and did not get back: a.md, b.md" in reason
    monkeypatch.undo()
    assert daemon.tick() == ([], [], "2 partitions are up to date")


def test_a_damaged_store_fails_the_tick(workshop):
    daemon = Daemon(workshop)
    daemon.settle()
    (workshop.home.qdrant / "corpus.json").write_text("{")
    with pytest.raises(StoreError, match=r"corpus\.json is damaged"):
        daemon.tick()
