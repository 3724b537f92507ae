"""Laws 3, 4 and 5 as checks, and checks that block."""

from dataclasses import replace

import numpy as np
import pytest
from support.trees import checked_clusters, checked_layer, checked_trees, leaf, summary

from raptor_core import Components, Document
from raptor_core.checks.base import CheckResult, blocking_failures, require_passed
from raptor_core.checks.sizes import chunk_length, cluster_size, compression_ratio, token_budget
from raptor_core.checks.stored import check_equal_vectors, staleness
from raptor_core.checks.structure import check_child_links, check_shrinking_layers, unreadable_nodes
from raptor_core.errors import InvariantError
from raptor_core.identity import embedding_key
from raptor_core.settings import Settings
from raptor_core.tree.leaves import make_leaves

LEAVES = [leaf(name) for name in "abcd"]


def covered(*nodes):
    return check_child_links(checked_layer(nodes, LEAVES))


def test_a_node_without_a_parent_is_named():
    found = covered(summary("s", "abc"))
    assert not found.passed
    assert [worst.node_id for worst in found.worst] == ["d"]


def test_a_cluster_of_one_and_an_unknown_child_fail():
    assert not covered(summary("s", "abc"), summary("t", "d")).passed
    assert not covered(summary("s", "abcd"), summary("t", "xa")).passed


def test_a_layer_that_is_no_smaller_than_the_one_below_fails():
    layer = [summary("s", "ab"), summary("t", "cd")]
    assert check_shrinking_layers(checked_trees([LEAVES, layer])).passed
    wide = [summary(name, "abcd") for name in "wxyz"]
    found = check_shrinking_layers(checked_trees([LEAVES, wide]))
    assert (found.passed, found.severity) == (False, "error")


@pytest.mark.parametrize(
    ("readers", "passed", "numbers"),
    [
        ({}, True, {"nodes_unreadable": 0}),
        ({"a": "xy", "b": "y", "c": "y", "d": "*"}, True, {"nodes_unreadable": 0}),
        ({"a": "x", "b": "y", "c": "y", "d": "y"}, False, {"layer_1_unreadable": 1}),
        ({"a": "x", "b": "x"}, False, {"layer_0_unreadable": 2, "layer_1_unreadable": 1}),
    ],
)
def test_nodes_that_nobody_may_read_are_counted_by_layer(readers, passed, numbers):
    leaves = [replace(node, documents=(node.id,)) for node in LEAVES]
    layer = [replace(summary(s, s), documents=tuple(s)) for s in ("ab", "cd")]
    found = unreadable_nodes(replace(checked_trees([leaves, layer]), readers=readers))
    assert (found.passed, found.severity) == (passed, "warn")
    assert numbers.items() <= found.numbers.items()


def test_a_cluster_over_the_budget_fails():
    for leaf_tokens, passed in ((125, True), (126, False)):
        below = [leaf(name, n_tokens=leaf_tokens) for name in "abcd"]
        settings = Settings.model_validate({"clustering": {"max_tokens": 500}})
        assert token_budget(checked_clusters([below], settings)).passed == passed


RESULTS = [
    CheckResult(
        passed, "Seen.", {}, remedy="Mend it.", name=f"{severity} {passed}", severity=severity
    )
    for severity in ("error", "warn")
    for passed in (True, False)
]


def test_a_failed_error_blocks_and_nothing_else_does():
    assert [result.name for result in blocking_failures(RESULTS)] == ["error False"]


def test_a_build_ends_at_a_blocking_failure_with_its_remedy():
    with pytest.raises(InvariantError, match=r"Seen.*Mend it"):
        require_passed(RESULTS)
    require_passed([result for result in RESULTS if result.name != "error False"])


@pytest.mark.parametrize(
    ("n_tokens", "passed"), [(3, False), (4, True), (11, True), (24, True), (25, False)]
)
def test_the_mean_ratio_is_held_to_its_bounds(n_tokens, passed):
    found = compression_ratio(checked_layer([summary("s", "abcd", n_tokens=n_tokens)], LEAVES))
    assert found.passed == passed
    assert found.severity == "warn"
    assert found.numbers["ratio_mean"] == pytest.approx(n_tokens / 40)


def test_children_per_parent_are_held_to_their_bounds():
    assert cluster_size(checked_clusters([LEAVES])).passed
    found = cluster_size(checked_clusters([LEAVES], min_children=2, max_children=3))
    assert (found.passed, found.worst[0].node_id) == (False, "a")


def test_nodes_with_several_parents_are_reported_as_a_share():
    clusters = checked_clusters([LEAVES[:3], LEAVES[2:]])
    assert cluster_size(clusters).numbers["several_parents_share"] == 0.25


TEXT = (
    "The lamp was lit in 1872 by its first keeper. It burned rape oil (“the good sort”).\n"
    "Paraffin came in 1911\nand with it the smell. In 1953 the sea broke the windows."
)


def judged(document=None, max_tokens=12, **chunking):
    settings = Settings(
        chunking={"max_tokens": max_tokens, **chunking}, tokens={"counter": "words"}
    )
    document = document or Document("log.md", TEXT)
    leaves = make_leaves("t", [document], Components(settings))
    return chunk_length(leaves, settings)


def test_a_chunk_over_the_limit_is_reported_though_a_custom_chunker_made_it():
    settings = Settings(tokens={"counter": "words"})
    leaves = make_leaves("t", [Document("log.md", TEXT)], Components(settings))
    found = chunk_length(leaves, Settings(chunking={"max_tokens": 8}))
    assert not found.passed
    assert found.numbers["over_limit_share"] == pytest.approx(1)
    assert "contract" in found.remedy


def test_a_chunk_over_what_the_embedder_reads_at_once_is_reported():
    text = " ".join(f"The keeper wrote line {n} of the log." for n in range(60))
    found = judged(Document("log.md", text), max_tokens=400)
    assert not found.passed
    assert found.numbers["over_window_share"] > 0
    assert "over the embedder's limit of 254 tokens" in found.summary
    assert "Lower chunking.max_tokens" in found.remedy


def node(name):
    text = f"The text of {name}."
    return replace(leaf(name, text), embedding_key=embedding_key(text, "fingerprint"))


NODES = [node(name) for name in "abcdefgh"]


def sound():
    rows = np.random.default_rng(1).standard_normal((len(NODES), 4)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return {node.embedding_key: row for node, row in zip(NODES, rows, strict=True)}


def judge(vectors, nodes=NODES):
    return check_equal_vectors(nodes, vectors)


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
