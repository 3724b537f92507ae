"""Contract of every backend: search, filters, listing."""

import json
import math
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st
from support import store_process
from support.examples import examples
from support.stores import (
    PROCESS_PATH,
    faults,
    keyed_vectors,
    live_ids,
    make_manifest,
    make_node,
    make_tree,
    open_at,
    publish,
    rebuild,
    vectors_of,
)

from raptor_core.identity import digest
from raptor_core.nodes import Node
from raptor_core.store import Where
from raptor_core.store.base import digest_contents
from raptor_core.store.facts import matching_texts
from raptor_core.store.lexical import passage_vector, query_vector

PER_STORE = examples(15, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.slow
def test_search_agrees_with_a_matrix_product(store):
    nodes = make_tree(n=60)
    publish(store, nodes)
    questions = vectors_of([make_node(text=f"question {i}") for i in range(7)])
    scores = questions @ vectors_of(nodes).T
    for hits, row in zip(store.search(questions, 10), scores, strict=True):
        best = np.argsort(-row)[:10]
        assert [hit.node for hit in hits] == [nodes[i] for i in best]
        assert [hit.score for hit in hits] == pytest.approx(row[best], abs=1e-5)


def test_ties_come_by_node_id(store):
    nodes = [make_node(text="the same sentence", position=i) for i in range(30)]
    publish(store, nodes)
    ids = sorted(node.id for node in nodes)
    question = vectors_of(nodes[:1])
    assert [hit.node.id for hit in store.search(question, 99)[0]] == ids
    assert [hit.node.id for hit in store.search_text(["sentence"], 99)[0]] == ids
    some = [hit.node.id for hit in store.search(question, 4)[0]]
    assert len(some) == 4
    assert some == sorted(some)


def test_nothing_asked_nothing_found(store):
    publish(store, make_tree())
    assert store.search(np.empty((0, 16), dtype=np.float32), 5) == []
    assert store.search(vectors_of(make_tree()[:1]), 0) == [[]]
    assert store.search_text([], 5) == []
    assert store.search_text(["", "…!", "leaf"], 0) == [[], [], []]
    assert store.count(Where(trees=())) == 0
    assert store.nodes(Where(ids=("no uuid",))) == []


def bm25(nodes: list[Node], text: str) -> dict[str, float]:
    """The score as the module's formula says, over all nodes."""
    vectors = {node.id: passage_vector(node.text) for node in nodes}
    weights = {i: dict(zip(v.indices, v.values, strict=True)) for i, v in vectors.items() if v}
    found = Counter(index for vector in weights.values() for index in vector)
    query = query_vector(text)
    scores = {
        node_id: sum(
            value
            * vector[index]
            * math.log1p((len(weights) - found[index] + 0.5) / (found[index] + 0.5))
            for index, value in zip(query.indices, query.values, strict=True)
            if index in vector
        )
        for node_id, vector in weights.items()
    }
    return {node_id: score for node_id, score in scores.items() if score > 0}


def test_lexical_scores_are_bm25_over_live_nodes_only(store):
    publish(store, make_tree("gone", n=80), "gone")
    nodes = [*make_tree("one", n=20), make_node("one", text="!?", position=50)]
    publish(store, nodes, "one")
    store.drop("gone")
    questions = ("leaf 7 of one", "?!", "summary summary 4", "leaf of gone")
    for question, hits in zip(questions, store.search_text(questions, 50), strict=True):
        found = {hit.node.id: hit.score for hit in hits}
        assert found == pytest.approx(bm25(nodes, question) if question != "?!" else {}, rel=1e-4)


VALUES = st.sampled_from([1, 0, 1.5, -2, True, False, "", "1", "long " * 30])
METADATA = st.dictionaries(
    st.sampled_from(["year", "a.b", 'q"[0]', "é"]),
    VALUES | st.tuples(VALUES, VALUES),
    max_size=3,
)
WHERE = st.builds(
    Where,
    trees=st.none() | st.lists(st.sampled_from(["one", "two", "three"]), max_size=2).map(tuple),
    documents=st.none() | st.lists(st.sampled_from(["d0.md", "d1.md", "x"]), max_size=2).map(tuple),
    layers=st.none() | st.lists(st.integers(0, 2), max_size=2).map(tuple),
    ids=st.none()
    | st.lists(st.sampled_from([n.id for n in make_tree("one")] + ["x"]), max_size=5).map(tuple),
    metadata=METADATA,
)


def passes(node: Node, by_id: dict[str, Node], where: Where) -> bool:
    """Whether a node has one of the accepted values in each field, as all leaves beneath it do."""
    leaves = [by_id[child] for child in node.children] or [node]

    def shared(value_of, accepted) -> bool:
        return any(all(one in value_of(leaf) for leaf in leaves) for one in accepted)

    return (
        (where.trees is None or node.tree in where.trees)
        and (where.documents is None or shared(lambda leaf: leaf.documents, where.documents))
        and (where.layers is None or node.layer in where.layers)
        and (where.ids is None or node.id in where.ids)
        and all(
            shared(
                lambda leaf, key=key: (
                    matching_texts(leaf.metadata[key]) if key in leaf.metadata else ()
                ),
                [
                    text
                    for one in (v if isinstance(v, tuple) else (v,))
                    for text in matching_texts(one)
                ],
            )
            for key, v in where.metadata.items()
        )
    )


def test_filters_agree_with_their_meaning_on_every_call(store):
    values = [{}, {"year": 1, "a.b": "1"}, {"year": 1.0}, {"year": True}, {'q"[0]': 1.5, "é": ""}]
    nodes = [
        replace(node, metadata=values[i % len(values)])
        for tree in ("one", "two")
        for i, node in enumerate(make_tree(tree, n=20))
    ]
    for tree in ("one", "two"):
        publish(store, [node for node in nodes if node.tree == tree], tree)
    question, by_id = vectors_of(nodes[:1]), {node.id: node for node in nodes}

    @PER_STORE
    @given(WHERE)
    @example(Where(trees=("two",)))
    @example(Where(documents=("d0.md",)))
    @example(Where(layers=(1,)))
    @example(Where(metadata={"year": 1}))
    def agrees(where):
        expected = {node.id for node in nodes if passes(node, by_id, where)}
        assert {node.id for node in store.nodes(where)} == expected
        assert store.count(where) == len(expected)
        assert {hit.node.id for hit in store.search(question, 99, where)[0]} == expected
        assert {hit.node.id for hit in store.search_text(["of"], 99, where)[0]} == expected

    agrees()


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(max_size=30)
NODES = st.builds(
    make_node,
    text=TEXT,
    layer=st.integers(0, 9),
    position=st.integers(0, 10**9),
    n_tokens=st.integers(0, 10**6),
    documents=st.lists(TEXT, min_size=1, max_size=3, unique=True).map(lambda d: tuple(sorted(d))),
    children=st.lists(st.uuids().map(str), max_size=3).map(tuple),
    start=st.integers(-1, 10**9),
    end=st.integers(-1, 10**9),
    section=st.lists(TEXT, max_size=3).map(tuple),
    source=TEXT,
    context=TEXT,
    paragraphs=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9)), max_size=2).map(tuple),
    metadata=st.dictionaries(
        TEXT, TEXT | st.integers(-(2**63) + 1, 2**63 - 1) | NUMBERS | st.booleans(), max_size=3
    ),
    quality=st.dictionaries(TEXT, NUMBERS, max_size=3),
)


def exactly(node: Node) -> str:
    """Values with their types: 1 and 1.0 and True differ."""
    return repr(
        replace(node, metadata=sorted(node.metadata.items()), quality=sorted(node.quality.items()))
    )


def test_any_node_comes_back_as_it_was(store):
    @PER_STORE
    @given(st.lists(NODES, max_size=4, unique_by=lambda node: node.id))
    def comes_back(nodes):
        publish(store, nodes)
        assert sorted(map(exactly, store.nodes())) == sorted(map(exactly, nodes))

    comes_back()


def test_manifests_are_found_by_name_and_by_content(store):
    for tree in ("a", "b", "c"):
        publish(store, [make_node(tree, documents=(f"{tree}.md",))], tree)
    (found,) = store.manifests(["b"])
    assert found.content_digest == digest_contents([digest("b.md")])
    assert store.manifests_with_content([found.content_digest, digest_contents(["no"])]) == [found]
    assert store.short_manifests(["b", "no"]) == [found.short_form]
    assert (
        store.manifests_with_content([]) == store.manifests([]) == store.short_manifests([]) == []
    )


def test_a_view_of_a_tree_counts_and_names_readable_nodes_and_is_never_widened(store):
    nodes = make_tree()
    readers = {"d0.md": ("ana",), "d1.md": ("ben",), "d2.md": ("*",)}
    end = "tree.max_layers = 1 reached with 3 nodes"
    manifest = replace(make_manifest(nodes), readers=readers, end=end)
    store.publish(manifest, nodes, keyed_vectors(nodes))
    for names, sizes, n_tokens, shown_end in (
        (["ana"], (8,), 40, ""),
        (["ana", "ben"], (12, 3), 75, end),
        (["eva"], (4,), 20, ""),
    ):
        (part,) = store.for_readers(names).manifests()
        assert (part.layer_sizes, part.n_tokens, part.end) == (sizes, n_tokens, shown_end)
    assert not store.for_readers([]).manifests()
    for first, second, documents in (
        (["ana"], ["ben", "ana"], {"d0.md", "d2.md"}),
        (["ana"], ["ben"], {"d2.md"}),
        (["ana"], ["*"], {"d2.md"}),
        (["ana"], [], set()),
        ([], ["ana"], set()),
    ):
        view = store.for_readers(first).for_readers(second)
        assert {name for node in view.nodes() for name in node.documents} == documents


def test_a_lexical_score_does_not_tell_how_often_a_word_stands_in_hidden_nodes(store):
    """Or whoever may add a document could ask whether a hidden one has a word."""
    scores = []
    for hidden in ("nothing at all", "the zebra"):
        for tree, text, reader in (
            ("a", "a zebra", "ana"),
            ("b", "a horse", "ana"),
            ("c", hidden, "ben"),
        ):
            nodes = [make_node(tree, text=text, documents=(f"{tree}.md",))]
            manifest = replace(make_manifest(nodes, tree), readers={f"{tree}.md": (reader,)})
            store.publish(manifest, nodes, keyed_vectors(nodes))
        for view, where in (
            (store.for_readers(["ana"]), Where()),
            (store, Where(readers=("ana",))),
        ):
            ((hit,),) = view.search_text(["zebra"], 5, where)
            scores.append(hit.score)
    assert len(set(scores)) == 1


ROUNDS, KILLS = 50, 10


def start(*args):
    return subprocess.Popen(
        [sys.executable, store_process.__file__, *map(str, args)],
        env={"PYTHONPATH": PROCESS_PATH},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def publish_first(root):
    with open_at(root) as store:
        for tree in ("one", "two"):
            publish(store, rebuild(tree, 0), tree)


@pytest.mark.rare
@pytest.mark.slow
def test_a_reader_finds_no_mixed_tree_while_rebuilds_are_published(tmp_path):
    publish_first(tmp_path)
    with start("read_until_a_line_comes", tmp_path) as reader:
        assert reader.stdout.readline() == "reading\n"
        with start("publish_rebuilds", tmp_path, 1, ROUNDS + 1) as publisher:
            assert len(publisher.stdout.readlines()) == ROUNDS
        assert publisher.returncode == 0
        output, _ = reader.communicate("enough\n", timeout=60)
    found = json.loads(output)
    assert found["wrong"] == []
    assert found["n_builds"] > 4


@pytest.mark.rare
@pytest.mark.slow
def test_a_publisher_killed_at_any_time_is_made_good_by_the_next(tmp_path):
    publish_first(tmp_path)
    rng = random.Random(1)
    for attempt in range(KILLS):
        with start("publish_rebuilds", tmp_path, 100 * attempt, 100 * attempt + 99) as child:
            assert child.stdout.readline()
            time.sleep(rng.uniform(0, 0.4))
            child.kill()
        with open_at(tmp_path) as store:
            for tree in ("one", "two"):
                publish(store, rebuild(tree, attempt), tree)
                assert live_ids(store, tree) == sorted(n.id for n in rebuild(tree, attempt))
            assert faults(store) == []
