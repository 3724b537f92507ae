"""Publications on a server that end at any point: readers see the old tree or the new one.

The server is the stand-in at the wire; a publisher dies where its requests begin to fail.
"""

import threading
import time
from dataclasses import replace

import pytest
from support.qdrant_faults import Fault
from support.stores import edition, faults, make_tree, open_at, publish, publish_together

from raptor_core.errors import StoreError, StoreRefusedError
from raptor_core.store import parts, redo, whole
from raptor_core.store.engine import Batch, Point
from raptor_core.store.parts import point_bytes, split
from raptor_core.store.payload import manifest_id

NAME = "corpus-ab12cd34"
OLD, NEW = make_tree(n=4, word="old"), make_tree(n=4, word="new")
GONE, BESIDE = make_tree("gone", 1, "gone"), make_tree("beside", 1, "beside")
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
    assert len(writes) > 4
    assert states(small) == CLEAN
    marked = [
        number
        for number, body in enumerate(writes)
        for point in body["operations"][0].get("upsert", {}).get("points", ())
        if point["payload"]["state"] == "publishing"
    ]
    operations = [next(iter(one)) for body in writes[marked[0] + 1 :] for one in body["operations"]]
    assert operations == ["upsert", "set_payload", "delete", "upsert", "delete"]


def before(store):
    """Two trees that are published."""
    publish_together(store, {"t": OLD, "gone": GONE}, ["beside"])


def replace_trees(store):
    """One tree anew, one more and one less, in one commit."""
    with store.publishing() as publishing:
        publishing.publish([edition(NEW)])
        publishing.publish([edition(BESIDE, "beside")])
        publishing.drop(["gone"])


def n_writes(small):
    """Requests that the commit takes."""
    with opened(small) as store:
        before(store)
        small.requests.clear()
        replace_trees(store)
    return sum("points/batch" in path for _, path, *_ in small.requests)


@pytest.mark.slow
def test_a_publisher_that_dies_anywhere_leaves_the_old_or_the_new_tree(small):
    total, seen = n_writes(small), []
    assert total > 4
    for n_done in range(total):
        with opened(small) as store:
            before(store)
            small.fail_after = n_done
            with pytest.raises(StoreError, match="503"):
                replace_trees(store)
        small.fail_after = None
        with opened(small, identity=None) as reader:
            assert faults(reader) == []
            seen.append(words(reader))
        with opened(small) as store:
            publish_together(store, {"t": NEW, "beside": BESIDE}, ["gone"])
            assert words(store) == {"new", "beside"}
        assert states(small) - {"record"} == CLEAN
    assert seen[0] == {"old", "gone"}
    assert seen[-1] == {"new", "beside"}
    assert seen == sorted(seen, key=lambda found: "new" in found)
    assert all(found in ({"old", "gone"}, {"new", "beside"}) for found in seen)


@pytest.mark.slow
def test_a_large_tree_that_changes_in_place_comes_whole(small):
    moved = [replace(node, position=node.position + 7, slot="s") for node in OLD]
    for n_done in range(20):
        with opened(small) as store:
            publish(store, OLD)
            small.fail_after = n_done
            try:
                assert publish(store, moved).updated == 5
            except StoreError:
                died = True
            else:
                died = False
        small.fail_after = None
        with opened(small, identity=None) as reader:
            assert faults(reader) == []
            assert len({node.position >= 7 for node in reader.nodes()}) == 1
        if not died:
            break
    assert n_done > 4


def test_nodes_that_were_sent_ahead_of_a_tree_that_never_came_go_with_the_next(small):
    with opened(small) as store:
        publish(store, OLD)
        small.fail_after = 1
        with pytest.raises(StoreError, match="503"):
            publish(store, NEW)
    small.fail_after = None
    assert "coming" in states(small)
    with opened(small) as store:
        assert words(store) == {"old"}
        assert store.search_text(["new"], 9)[0] == []
        publish(store, OLD)
    assert "coming" not in states(small)


def test_what_a_publisher_recorded_and_never_began_is_cleared_away(small):
    batch = Batch(deletes=tuple(node.id for node in OLD))
    with opened(small) as store:
        publish(store, OLD)
        bare = store._engine._engine
        bare.apply(Batch(tuple(redo.record_points("dead", batch, time.time() - 1))))
        bare.apply(Batch(tuple(redo.record_points("at work", batch, time.time() + 60))))
        assert words(store) == {"old"}
        publish(store, NEW)
    left = {point.payload.get("publication") for point in small.points(NAME)}
    assert left == {None, "at work"}


def test_a_marker_without_a_whole_record_changes_nothing(small):
    batch = Batch(tuple(Point(node.id, {"state": "live"}) for node in OLD))
    with opened(small) as store:
        publish(store, OLD)
        points = redo.record_points("00000000-0000-0000-0000-000000000001", batch, 0.0)
        marker = whole._Marker("00000000-0000-0000-0000-000000000001", len(points) + 1).point()
        marker.payload["until"] = time.time() - 1
        store._engine._engine.apply(Batch((*points, marker)))
        assert faults(store) == []
    assert states(small) == CLEAN


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
        wrong = Fault(400, b'{"status": {"error": "Wrong input"}}', only="points/batch")
        stand_in.faults = [Fault(only="points/batch"), wrong]
        with pytest.raises(StoreError, match="Wrong input"):
            publish(store, NEW)
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


@pytest.mark.parametrize("changes", ["publish_both", "drop_both"])
def test_who_compared_a_tree_before_another_published_it_is_refused(stand_in, changes):
    with opened(stand_in) as one, opened(stand_in) as two:
        publish_together(one, {"t": OLD, "gone": GONE})
        with pytest.raises(StoreRefusedError, match="another process publishes"):
            globals()[changes](one, two)
        assert faults(two) == []
        assert words(two) == {"new", "gone"}
    assert states(stand_in) == CLEAN


def publish_both(one, two):
    """One compares two trees, then another publishes the first of them."""
    with one.publishing() as publishing:
        for nodes, tree in ((OLD[1:], "t"), (BESIDE, "beside")):
            publishing.publish([edition(nodes, tree)])
        publish(two, NEW)


def drop_both(one, two):
    with one.publishing() as publishing:
        publishing.drop(["gone", "t"])
        publish(two, NEW)


def test_who_meets_another_marker_of_its_tree_takes_its_own_back(stand_in):
    ids = [f"00000000-0000-0000-0000-00000000000{number}" for number in range(2)]
    for tree, is_refused in (("other", False), ("t", True)):
        marker = whole._Marker(ids[is_refused], 1, (manifest_id(tree),))
        with opened(stand_in) as store:
            publish(store, OLD)
            if is_refused:
                with pytest.raises(StoreRefusedError):
                    publish_beside(store, marker)
            else:
                publish_beside(store, marker)
        left = [p for p in stand_in.points(NAME) if p.payload["state"] == "publishing"]
        assert [point.payload["publication"] for point in left] == [marker.publication]
        stand_in.client.delete(NAME, [marker.publication])
        with opened(stand_in) as store:
            assert words(store) == {"old" if is_refused else "new"}


def publish_beside(store, marker):
    """Publish NEW; another publisher's marker comes after it was compared."""
    with store.publishing() as publishing:
        publishing.publish([edition(NEW)])
        store._engine._engine.apply(Batch((marker.point(),)))


@pytest.mark.slow
def test_publishers_of_one_tree_at_one_time_never_mix_their_nodes(stand_in):
    refused = []

    def work(word):
        for number in range(6):
            with opened(stand_in) as store:
                try:
                    publish(store, make_tree(n=4, word=f"{word}{number}"))
                except StoreError as error:
                    refused.append(error)

    with opened(stand_in) as store:
        publish(store, OLD)
    threads = [threading.Thread(target=work, args=(word,)) for word in ("left", "right")]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        with opened(stand_in, identity=None) as reader:
            assert whole_nodes(reader)
    with opened(stand_in, identity=None) as reader:
        assert faults(reader) == []
        assert len(words(reader)) == 1


def whole_nodes(reader):
    """Whether one call of a reader sees the nodes of one publication."""
    nodes = reader.nodes()
    return len({node.text.split()[0] for node in nodes}) == 1 and len(nodes) == 5
