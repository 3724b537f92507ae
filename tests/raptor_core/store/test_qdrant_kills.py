"""A real server that is killed at each request of a publication, and started again."""

from contextlib import suppress

import pytest
from support.qdrant_faults import Fault
from support.qdrant_proxy import Proxy
from support.qdrant_server import QdrantServer
from support.stores import IDENTITY, NEWER, faults, make_tree, open_at, publish, publish_together

from raptor_core.errors import StoreError
from raptor_core.retrying import RetryPolicy
from raptor_core.store.engines import retries

pytestmark = pytest.mark.slow

OLD, NEW = make_tree(n=4, word="old"), make_tree(n=4, word="new")
GONE, BESIDE = make_tree("gone", 1, "gone"), make_tree("beside", 1, "beside")
WRITES = "points/batch"
SECONDS = (0.0, 0.001, 0.004)
"""How long after a request the server is killed."""


@pytest.fixture
def mortal(tmp_path, monkeypatch):
    """A server of the test's own at the wire, asked again at once; a dead publisher is noticed."""
    monkeypatch.setattr(retries, "POLICY", RetryPolicy(base_seconds=0.001))
    server = QdrantServer(tmp_path / "server")
    server.start()
    wire = Proxy(server)
    yield wire
    wire.close()
    server.kill()


def opened(wire, **settings):
    return open_at(None, "server", url=wire.url, max_retries=0, **settings)


def words(store):
    return {node.text.split()[0] for node in store.nodes()}


def n_writes(wire):
    return sum(WRITES in path for _, path, *_ in wire.requests)


def before(wire):
    with opened(wire) as store:
        publish_together(store, {"t": OLD, "gone": GONE}, ["beside"])


def change(wire):
    with opened(wire) as store:
        publish_together(store, {"t": NEW, "beside": BESIDE}, ["gone"])


def fill(wire):
    """Publish more than the server's log holds."""
    large = make_tree(n=40, word="large " + "word " * 4000)
    with opened(wire) as store:
        for _ in range(9):
            publish(store, large)
            publish(store, OLD)


@pytest.mark.parametrize("seconds", SECONDS)
def test_a_server_that_dies_at_any_write_leaves_the_old_or_the_new_trees(mortal, seconds):
    before(mortal)
    mortal.requests.clear()
    change(mortal)
    total = n_writes(mortal)
    assert total >= 3
    for at in range(total):
        before(mortal)
        mortal.faults = [Fault(only=WRITES)] * at + [Fault(only=WRITES, killed=seconds)]
        with pytest.raises(StoreError, match=mortal.url):
            change(mortal)
        assert mortal.faults == []
        mortal.server.start()
        with opened(mortal, identity=None) as reader:
            assert faults(reader) == []
            assert words(reader) in ({"old", "gone"}, {"new", "beside"})
        change(mortal)
        with opened(mortal, identity=None) as reader:
            assert faults(reader) == []
            assert words(reader) == {"new", "beside"}


def test_a_server_that_dies_during_a_promotion_keeps_one_collection_whole(mortal):
    both = [(IDENTITY, {"old"}), (NEWER, {"new"})]
    seen, died = [], True
    while died:
        mortal.server.clear()
        with opened(mortal) as store:
            publish(store, OLD)
        with opened(mortal, identity=NEWER, successor=True) as store:
            publish(store, NEW)
            mortal.faults = [None] * len(seen) + [Fault(killed=0.002)]
            with suppress(StoreError):
                store.promote(["t"])
        died = not mortal.faults
        mortal.faults = []
        if not mortal.server.ready():
            mortal.server.start()
        with opened(mortal, identity=None) as reader:
            assert faults(reader) == []
            seen.append(both.index((reader.identity, words(reader))))
        with opened(mortal, identity=NEWER, successor=True) as store:
            assert store.promote(["t"])
        (left,) = mortal.client.get_collections().collections
        assert left.name == "corpus-ffff0000"
    assert seen == sorted(seen)
    assert set(seen) == {0, 1}


def test_a_server_that_is_back_before_the_last_try_is_noticed_by_nobody(mortal, monkeypatch):
    def wait_and_start(_seconds):
        if mortal.server.ready():
            return
        mortal.server.start()

    monkeypatch.setattr(retries.PatientClient.__init__, "__defaults__", (wait_and_start,))
    with open_at(None, "server", url=mortal.url) as store:
        for at in range(8):
            mortal.faults = [None] * at + [Fault(killed=0.0)]
            publish(store, OLD if at % 2 else NEW)
            assert words(store) == {"old" if at % 2 else "new"}
        assert mortal.faults == []
    with opened(mortal, identity=None) as reader:
        assert faults(reader) == []


def test_a_full_disk_is_survived_and_named(mortal):
    with opened(mortal) as store:
        publish(store, OLD)
    mortal.server.limit_files(100_000)
    with pytest.raises(StoreError, match="free space on the server"):
        fill(mortal)
    mortal.kill()
    mortal.server.start()
    with opened(mortal, identity=None) as reader:
        assert words(reader) in ({"old"}, {"large"})
    with opened(mortal) as store:
        publish(store, NEW)
        assert faults(store) == []
        assert words(store) == {"new"}
