"""The check of chunks: their lengths."""

import pytest

from raptor_core import Components, Document, Settings
from raptor_core.checks.sizes import chunk_length
from raptor_core.tree.leaves import make_leaves

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


def test_chunks_within_the_limit_pass():
    found = judged()
    assert found.passed
    assert found.numbers["chunks"] > 2
    assert found.numbers["chunk_tokens_maximum"] <= 12
    assert (found.numbers["over_limit_share"], found.numbers["over_window_share"]) == (0, 0)


def test_a_chunk_over_the_limit_is_told_though_a_chunker_of_ones_own_made_it():
    settings = Settings(tokens={"counter": "words"})
    leaves = make_leaves("t", [Document("log.md", TEXT)], Components(settings))
    found = chunk_length(leaves, Settings(chunking={"max_tokens": 8}))
    assert not found.passed
    assert found.numbers["over_limit_share"] == pytest.approx(1)
    assert "contract" in found.remedy


def test_a_chunk_over_what_the_embedder_reads_at_once_is_told():
    text = " ".join(f"The keeper wrote line {n} of the log." for n in range(60))
    found = judged(Document("log.md", text), max_tokens=400)
    assert not found.passed
    assert found.numbers["over_window_share"] > 0
    assert "254 tokens that the embedder reads at once" in found.summary
    assert "Lower chunking.max_tokens" in found.remedy
