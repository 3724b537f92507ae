"""Checks of stored vectors and of stale documents."""

from dataclasses import replace

import numpy as np
import pytest
from support.trees import leaf

from raptor_core.checks.stored import embedding, staleness
from raptor_core.identity import embedding_key
from raptor_core.store.base import StoreIdentity

IDENTITY = StoreIdentity("corpus", "model", "fingerprint", 4)


def node(name):
    text = f"The text of {name}."
    return replace(leaf(name, text), embedding_key=embedding_key(text, "fingerprint"))


NODES = [node(name) for name in "abcdefgh"]


def sound():
    rows = np.random.default_rng(1).standard_normal((len(NODES), 4)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return {node.embedding_key: row for node, row in zip(NODES, rows, strict=True)}


def judge(vectors, nodes=NODES):
    return embedding(nodes, vectors, IDENTITY)


def test_sound_vectors_pass():
    found = judge(sound())
    assert (found.name, found.passed, found.severity) == ("embedding", True, "error")
    assert (found.numbers["nodes"], found.numbers["n_dims"]) == (8, 4)
    assert judge({}, []).passed


@pytest.mark.parametrize(
    ("vector", "number"),
    [
        (None, "vectors_missing"),
        (np.array([1, 0, 0], dtype=np.float32), "vectors_of_other_dimension"),
        (np.array([np.nan, 0, 0, 1], dtype=np.float32), "vectors_not_finite"),
        (np.array([2, 0, 0, 0], dtype=np.float32), "vectors_not_unit"),
        (np.zeros(4, dtype=np.float32), "vectors_not_unit"),
    ],
)
def test_a_wrong_vector_fails_and_its_node_is_named(vector, number):
    vectors = sound()
    if vector is None:
        del vectors[NODES[2].embedding_key]
    else:
        vectors[NODES[2].embedding_key] = vector
    found = judge(vectors)
    assert not found.passed
    assert found.numbers[number] == 1
    assert [worst.node_id for worst in found.worst] == ["c"]
    assert found.remedy


def test_a_node_of_another_embedder_fails():
    other = replace(NODES[0], embedding_key=embedding_key(NODES[0].text, "another"))
    vectors = {**sound(), other.embedding_key: sound()[NODES[1].embedding_key]}
    found = judge(vectors, [other, *NODES[1:]])
    assert not found.passed
    assert found.numbers["vectors_foreign"] == 1


def test_an_embedder_that_answers_every_text_alike_fails():
    row = np.array([1, 0, 0, 0], dtype=np.float32)
    found = judge({node.embedding_key: row for node in NODES})
    assert not found.passed
    assert found.numbers["vectors_equal_share"] == 1


def test_texts_that_differ_in_case_alone_may_share_a_vector():
    loud = replace(NODES[0], id="z", text=NODES[0].text.upper())
    loud = replace(loud, embedding_key=embedding_key(loud.text, "fingerprint"))
    vectors = sound()
    vectors[loud.embedding_key] = vectors[NODES[0].embedding_key]
    assert judge(vectors, [*NODES, loud]).numbers["vectors_equal"] == 0


def test_changed_added_and_vanished_documents_are_named():
    built = {"t": {"a": "1", "b": "1"}, "u": {"c": "1"}}
    there = {"t": {"a": "2", "b": "1"}, "v": {"d": "1"}}
    found = staleness(built, there)
    assert not found.passed
    assert {(w.tree, w.text, w.why) for w in found.worst} == {
        ("t", "a", "document changed"),
        ("v", "d", "document added"),
        ("u", "c", "document vanished"),
    }
    counted = [found.numbers[f"documents_{what}"] for what in ("changed", "added", "vanished")]
    assert counted == [1, 1, 1]


def test_what_the_source_holds_is_not_stale():
    found = staleness({"t": {"a": "1"}}, {"t": {"a": "1"}})
    assert (found.name, found.passed, found.severity) == ("staleness", True, "warn")
    assert staleness({}, {}).passed
