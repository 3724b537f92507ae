"""Endpoint calls of all trees of a run: sent in parallel, and named where a text is too long."""

import threading
from itertools import count

import pytest
from support.openai_server import FakeOpenAI
from support.paid_build import DOCUMENTS, make_components, paid_settings

from raptor_core.documents.base import Document
from raptor_core.tree.build import build_trees

SMALL = ["One bird sings.", "Two birds sing.", "Three birds sing.", "Four birds fly away."]


def documents(n):
    texts = (f"{text} It is bird {n}." for text in SMALL)
    return [Document(f"{n}.md", "\n\n".join(texts))]


def first_together(n_calls):
    """A ``hold`` that lets the first calls go on only once so many are under way."""
    numbers, barrier = count(), threading.Barrier(n_calls, timeout=60)
    return lambda _body: barrier.wait() if next(numbers) < n_calls else None


def test_trees_of_one_summary_each_are_summarized_side_by_side():
    with FakeOpenAI(hold=first_together(12)) as server:
        settings = paid_settings(server.base_url, summarizer={"concurrency": 12})
        trees = {str(n): documents(n) for n in range(12)}
        built = build_trees(trees, components=make_components(settings))
        assert server.peak == 12
    assert all(len(tree.layers) > 1 for tree in built.values())


@pytest.mark.slow
def test_batches_of_an_embedding_endpoint_go_side_by_side_too():
    with FakeOpenAI() as server:
        part = {"kind": "openai", "model": "vectors", "base_url": server.base_url}
        settings = paid_settings(
            server.base_url,
            embedder={**part, "concurrency": 5, "batch_size": 8},
            tokens={"counter": "words"},
        )
        components = make_components(settings)
        assert components.embedder.n_dims == 8
        components.embedder.embed(["settles the length, alone"])
        server.hold = first_together(5)
        built = build_trees({"a": DOCUMENTS}, components=components)
        assert server.peak >= 5
    assert len(built["a"].layers) > 1
