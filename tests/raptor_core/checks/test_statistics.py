"""Compression, cluster size and chunk length against their bounds, and the list of checks."""

import pytest
from support.trees import checked_clusters, checked_layer, leaf, summary

from raptor_core import Components, Document, Settings
from raptor_core.checks.sizes import chunk_length, cluster_size, compression_ratio
from raptor_core.tree.leaves import make_leaves

LEAVES = [leaf(name) for name in "abcd"]


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
