"""Publications on a server that end at any point: readers see the old tree or the new one.

A publisher dies where its requests begin to fail.
"""

import threading
from dataclasses import replace

import pytest
from support.qdrant_faults import Fault
from support.stores import (
    edition,
    faults,
    make_tree,
    open_at,
    publish,
    publish_together,
    vectors_of,
)

from raptor_core.errors import StoreError, StoreRefusedError
from raptor_core.store import Where
from raptor_core.store.engines import qdrant, versions
from raptor_core.store.engines import server as server_engine
from raptor_core.store.engines.base import Batch, Point
from raptor_core.store.engines.qdrant import ClientEngine, point_bytes, split

NAME = "corpus-ab12cd34"
OLD, NEW = make_tree(n=4, word="old"), make_tree(n=4, word="new")
GONE, BESIDE = make_tree("gone", 1, "gone"), make_tree("beside", 1, "beside")
CLEAN = {"identity", "live", "manifest"}


@pytest.fixture
def small(stand_in, monkeypatch):
    """The server takes small requests only."""
    monkeypatch.setattr(qdrant, "PART_BYTES", 4_000)
    stand_in.max_bytes = 6_000
    return stand_in


def opened(stand_in, **settings):
    return open_at(None, "server", url=stand_in.url, max_retries=0, **settings)


def states(stand_in):
    return {point.payload["state"] for point in stand_in.points(NAME)}


def words(store):
    return {node.text.split()[0] for node in store.nodes()}


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


def test_nodes_come_before_the_manifest_and_go_after_it(small):
    with opened(small) as store:
        assert publish(store, OLD).added == 5
        small.requests.clear()
        done = publish(store, NEW)
        assert (done.added, done.removed) == (5, 5)
        assert faults(store) == []
        assert words(store) == {"new"}
    writes = [
        {name: of[name] for name in of}
        for _, path, body, _ in small.requests
        if "points/batch" in path
        for of in body["operations"]
    ]
    kinds = [
        {p["payload"]["state"] for p in one["upsert"]["points"]} if "upsert" in one else set(one)
        for one in writes
    ]
    at = kinds.index({"manifest"})
    assert at > 1
    assert set().union(*kinds[:at]) == {"live"}
    assert set().union(*kinds[at + 1 :]) == {"delete", "delete_payload"}
    assert states(small) == CLEAN


@pytest.mark.slow
def test_a_publisher_that_dies_anywhere_leaves_each_tree_old_or_new(small):
    total, seen = n_writes(small), []
    assert total > 4
    for n_done in range(total):
        with opened(small) as store, opened(small, identity=None) as beside:
            before(store)
            assert words(beside) == {"old", "gone"}
            small.fail_after = n_done
            with pytest.raises(StoreError, match="503"):
                replace_trees(store)
            small.fail_after = None
            assert faults(beside) == []
        with opened(small, identity=None) as reader:
            assert faults(reader) == []
            seen.append(words(reader))
        with opened(small) as store:
            publish_together(store, {"t": NEW, "beside": BESIDE}, ["gone"])
            assert words(store) == {"new", "beside"}
            expected = {node.id for node in (*NEW, *BESIDE)}
        live = [p.payload["node_id"] for p in small.points(NAME) if p.payload["state"] == "live"]
        assert sorted(live) == sorted(expected)
        assert states(small) == CLEAN
    assert seen[0] == {"old", "gone"}
    assert seen[-1] == {"new", "beside"}
    assert seen == sorted(seen, key=lambda found: "new" in found)


@pytest.mark.slow
def test_a_tree_that_changes_in_place_comes_whole(small):
    moved = [replace(node, position=node.position + 7, slot="s") for node in OLD]
    for n_done in range(30):
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
    assert 3 < n_done < 29


def test_nodes_of_a_tree_that_never_came_are_found_by_nobody_and_go_with_the_next(small):
    with opened(small) as store:
        publish(store, OLD)
        small.fail_after = 2
        with pytest.raises(StoreError, match="503"):
            publish(store, NEW)
    small.fail_after = None
    with opened(small) as store:
        live = [p.payload["text"] for p in small.points(NAME) if p.payload["state"] == "live"]
        assert len(live) > len(OLD)
        assert words(store) == {"old"}
        assert store.search_text(["new"], 9)[0] == []
        assert {hit.node.text.split()[0] for hit in store.search(vectors_of(NEW), 9)[0]} == {"old"}
        assert store.count() == store.count(Where(trees=("t",))) == 5
        publish(store, OLD[:4])
    live = [p.payload["text"] for p in small.points(NAME) if p.payload["state"] == "live"]
    assert len(live) == 4


def test_a_drop_that_began_is_completed_by_who_drops_it_again(small):
    with opened(small) as store:
        publish(store, OLD)
        small.fail_after = 1
        with pytest.raises(StoreError, match="503"):
            store.drop("t")
    small.fail_after = None
    with opened(small) as store:
        assert store.drop("t") == 0
    assert states(small) == {"identity"}


def test_a_drop_that_began_is_completed_by_who_publishes_next(small):
    with opened(small) as store:
        publish(store, OLD)
        small.fail_after = 1
        with pytest.raises(StoreError, match="503"):
            store.drop("t")
    small.fail_after = None
    with opened(small, identity=None) as reader:
        assert reader.manifests() == reader.nodes() == []
        assert reader.count() == 0
    with opened(small) as store:
        publish(store, BESIDE, "beside")
    texts = {p.payload.get("tree") for p in small.points(NAME)}
    assert texts == {None, "beside"}
    assert states(small) == CLEAN


def test_a_store_that_stays_open_takes_away_what_another_left(stand_in, monkeypatch):
    monkeypatch.setattr(versions, "KNOWN_SECONDS", 0.0)
    with opened(stand_in) as store, opened(stand_in) as other:
        publish(store, OLD)
        stand_in.fail_after = 2
        with pytest.raises(StoreError, match="503"):
            publish(other, NEW)
        stand_in.fail_after = None
        assert words(store) == {"new"}
        assert any(point.payload.get("gone") for point in stand_in.points(NAME))
        publish(store, BESIDE, "beside")
    points = stand_in.points(NAME)
    assert not any(point.payload.get("gone") for point in points)
    live = [p.payload["text"].split()[0] for p in points if p.payload["state"] == "live"]
    assert set(live) == {"new", "beside"}


def test_words_are_counted_anew_where_damaged_nodes_were_taken_away(stand_in):
    found = []
    with opened(stand_in) as store, open_at(None, "local") as fresh:
        publish(store, OLD)
        store._engine.apply(Batch(deletes=(OLD[0].id, OLD[2].id)))
        assert publish(store, OLD).added == 2
        publish(fresh, OLD)
        for one in (store, fresh):
            hits = one.search_text(["old leaf 2"], 9)[0]
            found.append({hit.node.id: hit.score for hit in hits})
    assert found[0] == pytest.approx(found[1], rel=1e-4)
    assert len(found[0]) == len(OLD)


def test_a_publication_that_the_server_refuses_is_taken_back_at_once(stand_in):
    with opened(stand_in) as store:
        publish(store, OLD)
        n_points = len(stand_in.points(NAME))
        wrong = Fault(400, b'{"status": {"error": "Wrong input"}}', only="points/batch")
        stand_in.faults = [wrong]
        with pytest.raises(StoreError, match="Wrong input"):
            publish(store, NEW)
        assert len(stand_in.points(NAME)) == n_points
    with opened(stand_in) as store:
        assert words(store) == {"old"}


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
        assert not any(part.upserts for part in found[first:])
        for part in found:
            assert len(part.upserts) < 2 or sum(map(point_bytes, part.upserts)) <= limit
        if limit == 10**6:
            assert len(found) == bool(batch.upserts) + bool(batch.deletes)
    assert list(split(Batch(), limit)) == []


@pytest.mark.parametrize("changes", ["publish_both", "drop_both"])
def test_who_compared_a_tree_before_another_published_it_is_refused(stand_in, changes):
    with opened(stand_in) as one, opened(stand_in) as two:
        publish_together(one, {"t": OLD, "gone": GONE})
        with pytest.raises(StoreRefusedError, match="another process publishes 't'"):
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


@pytest.mark.parametrize("tree", ["t", "fresh"])
def test_of_two_that_write_one_tree_at_a_time_the_second_leaves_nothing(stand_in, tree):
    """The first publishes between the second's points and its manifest."""
    first, second = make_tree(tree, 4, "first"), make_tree(tree, 4, "second")
    with opened(stand_in) as one, opened(stand_in) as two:
        publish(one, OLD)
        engine = two._engine._publisher._engine
        replace_points = engine.replace

        def late(points, publications):
            publish(one, first, tree)
            replace_points(points, publications)

        engine.replace = late
        with pytest.raises(StoreRefusedError, match="another process publishes"):
            publish(two, second, tree)
        assert faults(one) == []
        assert "first" in words(one)
    left = {p.payload["text"].split()[0] for p in stand_in.points(NAME) if "text" in p.payload}
    assert "second" not in left
    assert states(stand_in) == CLEAN


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
    with opened(stand_in, identity=None) as reader:
        while any(thread.is_alive() for thread in threads):
            nodes = reader.nodes()
            assert len({node.text.split()[0] for node in nodes}) == 1
            assert len(nodes) == 5
    with opened(stand_in, identity=None) as reader:
        assert faults(reader) == []
        assert len(words(reader)) == 1


def test_a_read_of_many_calls_is_of_one_version_of_each_tree(stand_in):
    with opened(stand_in) as store, opened(stand_in, identity=None) as reader:
        publish(store, OLD)
        rounds = []

        def read(session):
            found = [words(session)]
            if not rounds:
                publish(store, NEW)
            rounds.append(found)
            return [*found, words(session)]

        assert reader.read_consistently(read) == [{"new"}, {"new"}]
        assert len(rounds) == 2


def test_publishing_one_tree_does_not_make_readers_of_another_read_again(stand_in):
    with opened(stand_in) as store, opened(stand_in, identity=None) as reader:
        publish_together(store, {"t": OLD, "beside": BESIDE})
        rounds = []

        def read(session):
            publish(store, NEW if len(rounds) % 2 else OLD)
            rounds.append(session.nodes(Where(trees=("beside",))))

        reader.read_consistently(read)
        assert len(rounds) == 1
        stand_in.requests.clear()
        vectors = vectors_of(BESIDE[:1])
        assert len(reader.search(vectors, 5, Where(trees=("beside",)))[0]) == 2
        assert len(stand_in.requests) == 2


def candidates(store):
    """Ids and scores of what is near and of what matches."""
    found = store.candidates(vectors_of(OLD[:1]), ["leaf 2"], 20)[0]
    return [(one.outlines.ids(), one.scores.round(4).tolist()) for one in found]


def test_outlines_are_asked_for_once(stand_in):
    with opened(stand_in) as store, opened(stand_in, identity=None) as reader:
        publish_together(store, {"t": OLD, "beside": BESIDE})
        assert candidates(reader) == candidates(reader)
        asked = []
        for context in ("", "a", "b"):
            publish(store, [replace(OLD[0], context=context), *OLD[1:]])
            expected = candidates(store)
            stand_in.requests.clear()
            assert candidates(reader) == expected
            bodies = [body for *_, body, _ in stand_in.requests]
            wanted = {bool(s["with_payload"]) for b in bodies for s in b.get("searches", ())}
            new = [len(b["ids"]) for b in bodies if "children" in b.get("with_payload", ())]
            asked.append((wanted, new))
        assert asked == [({False}, []), ({False}, [1]), ({False}, [1])]


def test_points_that_go_before_their_outlines_come_hide_no_node(stand_in, monkeypatch):
    fetch = ClientEngine.fetch
    with opened(stand_in) as store, opened(stand_in, identity=None) as reader:
        publish(store, OLD)

        def late(engine, ids, fields, *, dense):
            if "children" in fields and words(store) == {"old"}:
                publish(store, NEW)
            return fetch(engine, ids, fields, dense=dense)

        monkeypatch.setattr(ClientEngine, "fetch", late)
        found = reader.read_consistently(candidates)
        assert found == candidates(store)


def test_trees_that_change_are_known_before_they_are_read_again(stand_in):
    with opened(stand_in) as store, opened(stand_in, identity=None) as reader:
        publish_together(store, {"t": OLD, "beside": BESIDE})
        reader.nodes()

        def n_searches(tree):
            stand_in.requests.clear()
            reader.search(vectors_of(OLD[:1]), 20, Where(trees=(tree,)))
            return sum(path.endswith("/query/batch") for _, path, *_ in stand_in.requests)

        publish(store, NEW)
        assert n_searches("t") > 1
        publish(store, OLD)
        assert n_searches("beside") == 1
        assert n_searches("t") == 1


def test_points_that_are_no_nodes_crowd_none_out(stand_in):
    nodes = make_tree(n=40)
    with opened(stand_in) as store, opened(stand_in, identity=None) as reader:
        publish(store, nodes)
        expected = reader.search(vectors_of(nodes[:3]), 20)
        lexical = reader.search_text(["words leaf 7"], 20)
        again = [replace(node, context="other") for node in nodes]
        store._engine._publisher._engine.replace = die
        with pytest.raises(StoreError, match="died"):
            publish(store, again)
        live = [p for p in stand_in.points(NAME) if p.payload["state"] == "live"]
        assert len(live) == 2 * len(nodes)
        assert reader.search(vectors_of(nodes[:3]), 20) == expected
        assert reader.search_text(["words leaf 7"], 20) == lexical


def die(*_):
    raise StoreError("died")


def test_a_tree_that_is_published_all_the_time_is_named(stand_in, monkeypatch):
    monkeypatch.setattr(server_engine, "READ_SECONDS", 0.0)
    with opened(stand_in) as store, opened(stand_in, identity=None) as reader:
        publish(store, OLD)

        def read(session):
            session.nodes()
            publish(store, NEW if words(store) == {"old"} else OLD)

        with pytest.raises(StoreError, match="tree 't' was published again and again"):
            reader.read_consistently(read)


def test_a_reader_that_stays_open_sees_what_others_publish_and_drop(stand_in):
    with opened(stand_in) as store, opened(stand_in, identity=None) as reader:
        assert (reader.nodes(), reader.count()) == ([], 0)
        publish(store, OLD)
        assert words(reader) == {"old"}
        assert reader.search_text(["leaf 2"], 1)[0][0].node.text == "old leaf 2 of t"
        publish(store, BESIDE, "beside")
        assert reader.count() == 7
        store.drop("t")
        assert words(reader) == {"beside"}
        assert reader.search_text(["old"], 9)[0] == []


@pytest.mark.slow
def test_threads_that_share_a_store_read_at_the_same_time(stand_in):
    trees = {f"t{number}": make_tree(f"t{number}", 4) for number in range(6)}
    meeting = threading.Barrier(4)

    def read(tree, found):
        def both(session):
            meeting.wait(20)
            return {n.tree for n in session.nodes(Where(trees=(tree,)))}

        found[tree] = [reader.read_consistently(both) for _ in range(3)]

    with opened(stand_in) as store, opened(stand_in, identity=None) as reader:
        publish_together(store, trees)
        found = {}
        threads = [threading.Thread(target=read, args=(f"t{n}", found)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {f"t{n}": [{f"t{n}"}] * 3 for n in range(4)}
