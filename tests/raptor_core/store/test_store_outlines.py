"""What ranks nodes: what a search finds without its words, and the file that Edge keeps of it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.stores import make_node, make_tree, open_at, publish, vectors_of
from support.trees import leaf, outlined, uid

from raptor_core.nodes import Node
from raptor_core.store import Where
from raptor_core.store.engines import edge
from raptor_core.store.engines.base import TIED, ranked
from raptor_core.store.folder import store_stamp
from raptor_core.store.outlines import OUTLINES, OutlineFile, Outlines, full_id
from raptor_core.store.payload import node_to_payload, payload_to_node


def told(outlines) -> list[tuple]:
    """What outlines say of each node, with its children's ids."""
    numbers = outlines.nodes[["layer", "position", "n_tokens"]].tolist()
    one_by_one = [outlines.take(np.array([at])) for at in range(len(numbers))]
    below = [tuple(full_id(*pair) for pair in one.children.tolist()) for one in one_by_one]
    return list(zip(outlines.ids(), numbers, below, strict=True))


def expected(nodes: list[Node]) -> list[tuple]:
    return [(n.id, (n.layer, n.position, n.n_tokens), n.children) for n in nodes]


def test_candidates_are_what_searches_find(store):
    nodes = make_tree()
    publish(store, nodes)
    vectors, texts = vectors_of(nodes[:3]), ["leaf 3", "", "summary"]
    found = zip(store.search(vectors, 5), store.search_text(texts, 5), strict=True)
    for hits, given_ in zip(found, store.candidates(vectors, texts, 5), strict=True):
        for row, ranks in zip(hits, given_, strict=True):
            assert told(ranks.outlines) == expected([hit.node for hit in row])
            assert ranks.scores.tolist() == [hit.score for hit in row]


def test_names_are_the_same_where_they_are_and_only_there():
    node = make_node(section=("One",))
    others = [
        replace(node, section=("One", "Two")),
        replace(node, documents=("e.md",)),
        replace(node, tree="u"),
        replace(node, text="other words"),
    ]
    rows = outlined([node, *others]).nodes
    same = {name: (rows[name][1:] == rows[name][0]).tolist() for name in rows.dtype.names[2:5]}
    assert same == {
        "document": [True, False, True, True],
        "place": [True, False, False, True],
        "section": [False, False, False, True],
    }


def file_of(store) -> OutlineFile:
    return store._engine._outlines


@pytest.fixture
def reads(monkeypatch):
    """How often all payloads were read to make the outlines."""
    seen = []
    real = edge.EdgeEngine._live_payloads
    monkeypatch.setattr(
        edge.EdgeEngine, "_live_payloads", lambda engine: seen.append(1) or real(engine)
    )
    return seen


def all_outlines(store) -> list[tuple]:
    ((near, _),) = store.candidates(vectors_of([make_node()]), [""], 999)
    return sorted(told(near.outlines))


def test_the_file_is_written_by_who_publishes_and_read_by_who_asks(tmp_path, reads):
    nodes = make_tree()
    with open_at(tmp_path, "edge") as store:
        publish(store, nodes)
        assert all_outlines(store) == sorted(expected(nodes))
        store.optimize()
    with open_at(tmp_path, "edge") as store:
        assert all_outlines(store) == sorted(expected(nodes))
        moved = [replace(node, position=node.position + 1) for node in nodes[2:]]
        publish(store, moved)
        publish(store, make_tree("u"), "u")
        store.drop("u")
    with open_at(tmp_path, "edge") as store:
        assert all_outlines(store) == sorted(expected(moved))
    assert not reads


@pytest.mark.parametrize("harm", ["lost", "cut", "row", "head", "older", "of before"])
def test_a_file_that_does_not_fit_is_made_again(tmp_path, reads, harm):
    nodes = make_tree()
    with open_at(tmp_path, "edge") as store:
        publish(store, nodes)
    (path,) = tmp_path.rglob(OUTLINES)
    data = bytearray(path.read_bytes())
    if harm == "lost":
        path.unlink()
    elif harm == "cut":
        path.write_bytes(data[:-16])
    elif harm in ("row", "head"):
        data[70 if harm == "row" else 20] ^= 1
        path.write_bytes(data)
    elif harm == "of before":
        path.write_bytes(data[:16] + bytes(16) + data[32:])
    else:
        with open_at(tmp_path, "edge") as store:
            publish(store, nodes := make_tree(word="newer"))
        path.write_bytes(data)
    for n_reads in (1, 1):
        with open_at(tmp_path, "edge") as store:
            stamp = store_stamp(tmp_path, "corpus")
            assert all_outlines(store) == sorted(expected(nodes))
        assert len(reads) == n_reads
        assert store_stamp(tmp_path, "corpus") == stamp


def test_a_process_that_dies_leaves_no_file_of_what_was_before(tmp_path, reads, monkeypatch):
    nodes = make_tree()
    with open_at(tmp_path, "edge") as store:
        publish(store, nodes)
    moved = [replace(node, position=node.position + 1) for node in nodes]
    with monkeypatch.context() as patch:
        patch.setattr(OutlineFile, "save", lambda _: None)
        with open_at(tmp_path, "edge") as store:
            publish(store, moved)
    with open_at(tmp_path, "edge") as store:
        assert all_outlines(store) == sorted(expected(moved))
    assert len(reads) == 1


def test_who_asks_only_for_a_listing_reads_no_outlines(tmp_path, reads):
    with open_at(tmp_path, "edge") as store:
        publish(store, make_tree())
    with open_at(tmp_path, "edge") as store:
        store.marks()
        store.nodes(Where(trees=("t",)))
        assert not file_of(store)._parts
    assert not reads


SCORES = st.lists(st.integers(0, 5).map(float), max_size=40)


@examples(200)
@given(st.lists(SCORES, min_size=1, max_size=3), st.integers(1, 12))
def test_order_is_by_score_then_id_in_two_requests_at_most(rows, limit):
    points = [[(f"{(7 * at) % 41:02}", score) for at, score in enumerate(row)] for row in rows]
    requests = []

    def ask(searches):
        requests.append({search.limit for search in searches})
        found = []
        for row, n, score in searches:
            able = [p for p in row if score is None or p[1] >= score]
            found.append(sorted(able, key=lambda p: -p[1])[:n])
        return found

    found = ranked(ask, points, limit)
    assert found == [sorted(row, key=lambda p: (-p[1], p[0]))[:limit] for row in points]
    assert requests in ([{limit + 1}], [{limit + 1}, {limit + TIED}])


def test_ties_take_two_requests_and_read_what_is_returned(tmp_path, monkeypatch):
    nodes = [make_node(text="the same sentence", position=at) for at in range(300)]
    with open_at(tmp_path, "edge") as store:
        publish(store, nodes)
        engine, asked, fetched = store._engine, [], []
        monkeypatch.setattr(
            engine,
            "_query",
            lambda search, real=engine._query: asked.append(search.limit) or real(search),
        )
        monkeypatch.setattr(
            engine, "fetch", lambda ids, *of, real=engine.fetch, **how: (
                fetched.append(len(ids)) or real(ids, *of, **how)
            )
        )  # fmt: skip
        hits = store.search(vectors_of(nodes[:1]), 20)[0]
        assert [hit.node.id for hit in hits] == sorted(node.id for node in nodes)[:20]
        assert (asked, fetched) == ([21, 20 + TIED], [20])


def test_a_leaf_keeps_its_paragraphs_and_one_of_before_its_digest():
    before = leaf("a")
    known = replace(before, paragraphs=((0, 4), (30, 6)))
    assert payload_to_node(node_to_payload(known)) == known
    stored = node_to_payload(before)
    assert "paragraphs" not in stored
    assert payload_to_node(stored) == before
    assert stored["digest"] != node_to_payload(known)["digest"]
    found = Outlines.of([{**node_to_payload(known), "node_id": uid("a")}])
    assert found.children.tolist() == [[0, 4], [30, 6]]
