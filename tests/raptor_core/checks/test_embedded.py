"""Checks of stored vectors and of stale documents."""

from dataclasses import replace

import numpy as np
from support.trees import leaf

from raptor_core.checks.stored import embedding, staleness
from raptor_core.identity import embedding_key


def node(name):
    text = f"The text of {name}."
    return replace(leaf(name, text), embedding_key=embedding_key(text, "fingerprint"))


NODES = [node(name) for name in "abcdefgh"]


def sound():
    rows = np.random.default_rng(1).standard_normal((len(NODES), 4)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return {node.embedding_key: row for node, row in zip(NODES, rows, strict=True)}


def judge(vectors, nodes=NODES):
    return embedding(nodes, vectors)


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
