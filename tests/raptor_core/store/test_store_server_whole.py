"""Publications on a server that end at any point: readers see the old tree or the new one.

The server is the stand-in at the wire; a publisher dies where its requests begin to fail.
"""

import pytest
from support.qdrant_faults import Fault
from support.stores import faults, make_manifest, make_tree, open_at, publish, vectors_of

from raptor_core.errors import StoreError
from raptor_core.store import parts, redo, whole
from raptor_core.store.engine import Batch, Point
from raptor_core.store.parts import point_bytes, split

NAME = "corpus-ab12cd34"
OLD, NEW = make_tree(n=4, word="old"), make_tree(n=4, word="new")
CLEAN = {"identity", "epoch", "live", "manifest"}


@pytest.fixture
def small(stand_in, monkeypatch):
    """The stand-in takes small requests only, and a dead publisher is noticed soon."""
    monkeypatch.setattr(parts, "PART_BYTES", 4_000)
    monkeypatch.setattr(redo, "RECORD_BYTES", 2_000)
    monkeypatch.setattr(whole, "MARKER_SECONDS", 0.05)
    monkeypatch.setattr(whole, "_POLL_SECONDS", 0.01)
    stand_in.max_bytes = 6_000
    return stand_in


def opened(stand_in, **settings):
    return open_at(None, "server", url=stand_in.url, max_retries=0, **settings)


def states(stand_in):
    return {point.payload["state"] for point in stand_in.points(NAME)}


def words(store):
    return {node.text.split()[0] for node in store.nodes()}


def test_a_tree_larger_than_a_request_is_published_in_parts(small):
    with opened(small) as store:
        assert publish(store, OLD).added == 5
        small.requests.clear()
        done = publish(store, NEW)
        assert (done.added, done.removed) == (5, 5)
        assert faults(store) == []
        assert words(store) == {"new"}
    writes = [body for _, path, body, _ in small.requests if "points/batch" in path]
    assert len(writes) > 6
    assert states(small) == CLEAN


def n_writes(small):
    """Requests that publishing NEW over OLD takes."""
    with opened(small) as store:
        publish(store, OLD)
        store.stage(NEW, vectors_of(NEW))
        small.requests.clear()
        store.publish(make_manifest(NEW), NEW)
    return sum("points/batch" in path for _, path, *_ in small.requests)


def test_a_publisher_that_dies_anywhere_leaves_the_old_or_the_new_tree(small):
    total, seen = n_writes(small), []
    assert total > 6
    for n_done in range(total):
        with opened(small) as store:
            publish(store, OLD)
            store.stage(NEW, vectors_of(NEW))
            small.fail_after = n_done
            with pytest.raises(StoreError, match="503"):
                store.publish(make_manifest(NEW), NEW)
        small.fail_after = None
        with opened(small, identity=None) as reader:
            assert faults(reader) == []
            seen.append(words(reader))
        with opened(small) as store:
            publish(store, NEW)
            assert words(store) == {"new"}
        assert states(small) - {"record"} == CLEAN
    assert seen[0] == {"old"}
    assert seen[-1] == {"new"}
    assert seen == sorted(seen, key=lambda found: found == {"new"})


def test_what_a_publisher_recorded_and_never_began_is_cleared_away(small):
    with opened(small) as store:
        publish(store, OLD)
        store.stage(NEW, vectors_of(NEW))
        small.fail_after = 1
        with pytest.raises(StoreError, match="503"):
            store.publish(make_manifest(NEW), NEW)
    small.fail_after = None
    assert "record" in states(small)
    with opened(small) as store:
        assert words(store) == {"old"}
        assert store.drop("t") == 5
    if "record" in states(small):  # too young to be taken for left behind
        with opened(small) as store:
            publish(store, OLD)
    assert "record" not in states(small)


def test_a_drop_that_began_is_completed_by_who_reads_next(small):
    with opened(small) as store:
        publish(store, OLD)
        small.fail_after = 2
        with pytest.raises(StoreError, match="503"):
            store.drop("t")
    small.fail_after = None
    with opened(small, identity=None) as reader:
        assert reader.manifests() == reader.nodes() == []
    assert states(small) == {"identity", "epoch"}


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
def test_a_reader_that_may_not_write_says_what_is_to_be_done(small, monkeypatch):
    small.key, small.reading_key = "may-write", "may-read"
    monkeypatch.setenv("QDRANT_API_KEY", "may-write")
    with opened(small) as store:
        publish(store, OLD)
        small.fail_after = 2
        with pytest.raises(StoreError, match="503"):
            store.drop("t")
    small.fail_after = None
    monkeypatch.setenv("QDRANT_API_KEY", "may-read")
    with (
        opened(small, identity=None) as reader,
        pytest.raises(StoreError, match=r"broken off.*a key that may write completes it"),
    ):
        reader.nodes()
    monkeypatch.setenv("QDRANT_API_KEY", "may-write")
    with opened(small, identity=None) as reader:
        assert reader.nodes() == []


def test_a_publication_that_the_server_refuses_is_given_up_at_once(stand_in):
    with opened(stand_in) as store:
        publish(store, OLD)
        store.stage(NEW, vectors_of(NEW))
        wrong = Fault(400, b'{"status": {"error": "Wrong input"}}', only="points/batch")
        stand_in.faults = [Fault(only="points/batch"), wrong]
        with pytest.raises(StoreError, match="Wrong input"):
            store.publish(make_manifest(NEW), NEW)
    assert "publishing" not in states(stand_in)
    with opened(stand_in) as store:
        assert words(store) == {"old"}


def test_a_record_is_read_as_it_was_written(stand_in, monkeypatch):
    monkeypatch.setattr(redo, "RECORD_BYTES", 100)
    batch = Batch((Point("a", {"state": "live", "text": "水" * 99}),), ("b", "c"))
    written = {point.id: point for point in redo.record_points("p", batch, 0.0)}
    assert len(written) > 3

    class Engine:
        def fetch(self, ids, fields, *, dense):
            return [written[point_id] for point_id in ids if point_id in written]

    assert redo.read_record(Engine(), "p", len(written), "x") == batch
    written.popitem()
    assert redo.read_record(Engine(), "p", len(written) + 1, "x") is None


@pytest.mark.parametrize("limit", [1, 200, 1000, 10**6])
def test_parts_are_the_batch_in_its_order(limit):
    points = tuple(Point(f"p{i}", {"text": "x" * 50}) for i in range(7))
    for batch in (
        Batch(points, tuple(f"d{i}" for i in range(30))),
        Batch(points),
        Batch((), ("d",) * 9),
    ):
        found = list(split(batch, limit))
        assert tuple(p for part in found for p in part.upserts) == batch.upserts
        assert tuple(d for part in found for d in part.deletes) == batch.deletes
        first = next((i for i, part in enumerate(found) if part.deletes), len(found))
        assert not any(part.upserts for part in found[first + 1 :])
        for part in found:
            assert len(part.upserts) < 2 or sum(map(point_bytes, part.upserts)) <= limit
        if limit == 10**6:
            assert found == [batch]
    assert list(split(Batch(), limit)) == []
