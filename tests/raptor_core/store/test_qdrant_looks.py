"""What readers look at manifests for: at the end of a read, and where points come that they do not
know."""

from dataclasses import replace

import pytest
from support.stores import faults, make_tree, open_at, publish, publish_together, vectors_of

from raptor_core.retrieval import STRATEGIES, Query, Questions
from raptor_core.store import Where
from raptor_core.store.engines.qdrant import ClientEngine
from raptor_core.store.engines.versions import ServerPublisher

OLD = make_tree(n=30)
"""More nodes than are asked for."""
NEW = [replace(node, text=node.text.replace("words", "new")) for node in OLD]
NAME = "corpus-ab12cd34"


def nearest(store):
    (hits,) = store.search(vectors_of(OLD[:1]), 3, Where(trees=("t",)))
    return [(hit.node.text, pytest.approx(hit.score)) for hit in hits]


def matching(store):
    (hits,) = store.search_text(["leaf 7 8 8 9 9 9 5 5 5 5"], 3, Where(trees=("t",)))
    return [(hit.node.text, pytest.approx(hit.score, rel=1e-4)) for hit in hits]


def by_id(store):
    """Candidates, then some of them whole, as strategies read."""

    def read(store):
        ((near, _),) = store.candidates(vectors_of(OLD[:1]), ["leaf"], 5)
        return [node.text for node in store.nodes(Where(ids=tuple(near.outlines.ids())))]

    return store.read_consistently(read)


READS = pytest.mark.parametrize("read", [nearest, matching, by_id])
KNOWN = pytest.mark.parametrize("read", [nearest, by_id])
"""Of ``matching``, counts of words may be 30 s old."""


@pytest.fixture
def opened(stand_in):
    """Opens a server's collection, with these settings."""
    return lambda **given: open_at(None, "server", url=stand_in.url, max_retries=0, **given)


@pytest.fixture
def looked(stand_in):
    """What a read gives, and the number of its requests for manifests alone."""

    def looked(store, read):
        stand_in.requests.clear()
        found = read(store)
        read = [body for _, path, body, _ in stand_in.requests if path.endswith("/points")]
        return found, sum("publication" in body["with_payload"] for body in read)

    return looked


@KNOWN
@pytest.mark.parametrize("now", [NEW, NEW[:1] + OLD[1:]])
def test_a_tree_that_another_published_is_read_again(opened, looked, read, now):
    with opened() as store, opened(identity=None) as reader, open_at(None, "local") as local:
        publish(store, OLD)
        read(reader)
        publish(store, now)
        publish(local, now)
        assert looked(reader, read) == (read(local), 2)
        assert looked(reader, read) == (read(local), 1)
        assert faults(reader) == []


def test_points_that_leave_while_they_are_found_hide_no_node(opened, monkeypatch):
    """A publisher deletes what it replaced, some of it between a reader's finding and fetching."""
    ask, where = ClientEngine.query, Where(trees=("t",))
    with opened() as store, open_at(None, "local") as local:
        with monkeypatch.context() as planted:
            planted.setattr(ServerPublisher, "finish", lambda *_: None)
            publish(store, OLD)
            publish(store, NEW)
        publish(local, NEW)
        with opened(identity=None) as reader:
            reader.nodes()
            (version,) = reader._engine._known.of().values()

            def lacking(engine, searches, fields):
                rows = ask(engine, searches, fields)
                return [[row for row in found if row[0] not in version.obsolete] for found in rows]

            monkeypatch.setattr(ClientEngine, "query", lacking)
            found, expected = (
                one.search(vectors_of(OLD[:1]), 10, where)[0] for one in (reader, local)
            )
            assert [hit.node for hit in found] == [hit.node for hit in expected]


@pytest.mark.parametrize("before", [[], OLD])
@pytest.mark.parametrize("strategy", ["hybrid", "flat", "lexical", "collapsed"])
def test_a_retriever_that_stays_open_finds_what_others_publish(opened, strategy, before):
    now = make_tree(n=6, word="new")
    leaves = {node.id for node in now if node.layer == 0}
    assert leaves.isdisjoint(node.id for node in before)

    def ask():
        asked = Questions(("new leaf 2 of t",), vectors_of(now[:1]))
        way, query = STRATEGIES[strategy], Query(strategy)
        (found,) = reader.read_consistently(lambda store: way.retrieve(asked, query, store))
        return {hit.node.id for hit in found.hits if hit.node.tree == "t"}

    with opened() as store, opened(identity=None) as reader:
        beside = {"beside": make_tree("beside", 1, "beside")}
        publish_together(store, beside | ({"t": before} if before else {}))
        assert bool(ask()) == bool(before)
        publish(store, now)
        assert ask() >= leaves
        store.drop("t")
        assert ask() == set()
