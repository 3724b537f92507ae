"""The laws that a whole build keeps, over random documents and settings."""

import threading
from itertools import count, pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.clusterers import named
from support.examples import examples
from support.hashing import HashingEmbedder
from support.invariants import violations
from support.openai_server import FakeOpenAI
from support.paid_build import DOCUMENTS, paid_settings
from support.paid_build import make_components as paid_components

from raptor_core.checks.base import CheckedLayer
from raptor_core.checks.registry import check_layer
from raptor_core.clustering.base import Clusters
from raptor_core.documents.base import Document
from raptor_core.errors import InvariantError, SummaryError
from raptor_core.models.summarizing.base import Summary
from raptor_core.settings import Settings
from raptor_core.tree.build import build_tree, build_trees
from raptor_core.tree.cache import NodeCache
from raptor_core.tree.cluster import end_reason
from raptor_core.tree.components import Components

SENTENCES = st.lists(
    st.sampled_from(
        [
            "The tide gauge drifted by 3.14 millimetres.",
            "Dr. Moreau logged the fault at 04:30.",
            "Nobody answered.",
            "水位計は正常です。",
            "كان البحر هادئا.",
            "Power failed; the vault warmed to minus 15.2 degrees before the relay closed.",
            "🌊🌊",
            "x",
        ]
    ),
    min_size=1,
    max_size=12,
)
PARAGRAPHS = st.lists(SENTENCES.map(" ".join), min_size=1, max_size=12)
TEXTS = PARAGRAPHS.map("\n\n".join)
CORPORA = st.lists(TEXTS, min_size=1, max_size=3).map(
    lambda texts: [Document(f"{number}.md", text) for number, text in enumerate(texts)]
)
METHODS = st.sampled_from(["raptor", "contiguous", "gmm"])


def make_settings(method="raptor", **tree):
    return Settings.model_validate(
        {
            "chunking": {"max_tokens": 24, "max_context_tokens": 0},
            "summarizer": {"max_tokens": 40, "min_tokens": 8},
            "components": named(method),
            "clustering": {"max_tokens": 200},
            "tree": tree,
        }
    )


def make_components(method="raptor", **tree):
    return Components(make_settings(method, **tree), embedder=HashingEmbedder())


@pytest.mark.slow
@examples(60)
@given(CORPORA, METHODS)
def test_every_tree_is_sound_and_covers_its_documents(documents, method):
    tree = build_tree(documents, components=make_components(method))
    assert violations(tree) == []
    by_id = {document.id: document for document in documents}
    for leaf in tree.layers[0].nodes:
        assert leaf.text == by_id[leaf.documents[0]].text[leaf.start : leaf.end]
    kept = sum(len("".join(leaf.text.split())) for leaf in tree.layers[0].nodes)
    assert kept == sum(len("".join(document.text.split())) for document in documents)
    order = {node.id: node.document_order_key for node in tree.nodes()}
    for node in tree.nodes():
        assert list(node.children) == sorted(node.children, key=order.get)


@examples(25)
@given(CORPORA, METHODS)
def test_layers_shrink_and_no_cluster_exceeds_the_budget(documents, method):
    tree = build_tree(documents, components=make_components(method))
    sizes = [len(layer.nodes) for layer in tree.layers]
    assert all(above < below for below, above in pairwise(sizes))
    for node in tree.nodes():
        assert sum(child.n_tokens for child in tree.children(node.id)) <= 200
    for layer in tree.layers[:-1]:
        assert all(tree.parents(node.id) for node in layer.nodes)


@examples(10)
@given(CORPORA)
def test_a_second_build_on_the_same_cache_embeds_and_summarizes_nothing(documents):
    cache = NodeCache()
    build_tree(documents, components=make_components().with_cache(cache))
    again = make_components()
    summarizer = Refusing(again.summarizer.fingerprint)
    second = Components(again.settings, embedder=again.embedder, summarizer=summarizer, cache=cache)
    build_tree(documents, components=second)
    assert again.embedder.n_embedded == 0


class Refusing:
    """A summarizer that must not be asked."""

    def __init__(self, fingerprint):
        self.fingerprint = fingerprint

    def summarize(self, requests):
        raise AssertionError(f"asked for {len(requests)} summaries")


def test_trees_built_side_by_side_equal_trees_built_alone():
    documents = {
        "a": [Document("a", "\n\n".join(f"Gauge {n} reads {n} cm." for n in range(30)))],
        "b": [Document("b", "One line only.")],
    }
    together = build_trees(documents, components=make_components())
    for name, docs in documents.items():
        alone = build_tree(docs, components=make_components(), name=name)
        assert list(alone.nodes()) == list(together[name].nodes())
        assert alone.end == together[name].end


def test_a_tree_says_where_and_why_it_ended():
    long = [
        Document("a", "\n\n".join(f"Gauge {n} reads {n} centimetres today." for n in range(60)))
    ]
    assert build_tree([Document("a", "One line.")], components=make_components()).end.layer == 0
    capped = build_tree(long, components=make_components(max_layers=1))
    assert capped.end.layer == 1
    assert "max_layers" in capped.end.reason
    wide = build_tree(long, components=make_components(top_nodes=11))
    assert len(wide.layers[-1].nodes) <= 11
    assert "top_nodes" in wide.end.reason


def test_a_layer_of_as_many_nodes_as_the_settings_name_is_the_top():
    components = make_components(top_nodes=11)
    assert "top_nodes" in end_reason(11, 1, components)
    assert end_reason(12, 1, components) == ""


def test_metadata_of_a_summary_is_what_its_children_agree_on():
    text = "\n\n".join(f"Gauge {n} reads {n} centimetres today." for n in range(20))
    documents = [
        Document("a", text, metadata={"site": "north", "year": 1}),
        Document("b", text, metadata={"site": "north", "year": 2}),
    ]
    tree = build_tree(documents, components=make_components())
    tops = tree.layers[-1].nodes
    assert {top.metadata["site"] for top in tops} == {"north"}
    assert all("year" not in top.metadata for top in tops if len(top.documents) == 2)


class LosingClusterer:
    """A clusterer that leaves out the last node of a layer."""

    fingerprint = "losing"
    anchorable = False

    def cluster(self, vectors, n_tokens):
        rows = range(len(n_tokens) - 1)
        return Clusters(tuple(tuple(rows[at : at + 3]) for at in rows[::3]), {})


def test_a_tree_that_breaks_a_law_is_an_error():
    documents = [Document("a", "\n\n".join(f"Gauge {n} reads {n} cm." for n in range(30)))]
    components = Components(
        make_settings(), embedder=HashingEmbedder(), clusterer=LosingClusterer()
    )
    with pytest.raises(InvariantError, match="nodes without a parent"):
        build_tree(documents, components=components)


class Apologizing:
    """A summarizer that hands a refusal on as if it were a summary."""

    fingerprint = "apologizing"

    def summarize(self, requests):
        for request in requests:
            yield Summary(request.key, "I'm sorry, but I can't assist with that request.")


def test_junk_that_a_summarizer_lets_through_fails_by_name_and_is_never_cached():
    documents = [Document("a", "\n\n".join(f"Gauge {n} reads {n} cm." for n in range(30)))]
    cache = NodeCache()
    broken = Components(
        make_settings(), embedder=HashingEmbedder(), summarizer=Apologizing(), cache=cache
    )
    with pytest.raises(SummaryError, match=r"node [0-9a-f-]{36} of tree 'a'.*junk \(refusal\)"):
        build_tree(documents, components=broken)
    assert cache.count_wanted_summaries() == 0


CONTENTS = ["Of Name List. Set 36.17. Set Name by", "Use It is the"]
PIECES = st.sampled_from(
    [
        *("36.17. ", "List. ", "Set ", "Name ", "It ", "a. ", "Parameters of the ", "and "),
        *("(", ", ", "[truncated] ", "\ufffd" * 9),
        *("It ended. ", "Error: rate limit exceeded. ", "I cannot help with that. ", "x" * 60),
        *("0.1 | 2 | ", "🌊", "水位計", "كان ", "\u200b", "la la la la la la la la ", "\n", "\n\n"),
    ]
)
NASTY = (
    st.lists(PIECES | st.text(max_size=12), min_size=1, max_size=60).map("".join).filter(str.strip)
)
SETTINGS = Settings.model_validate(
    {
        "chunking": {"max_tokens": 16, "max_context_tokens": 0},
        "summarizer": {"ratio": 0.9, "max_tokens": 40, "min_tokens": 8},
        "components": named("contiguous"),
        "clustering": {"max_tokens": 200},
        "tree": {"top_nodes": 1},
    }
)


@examples(40)
@given(st.lists(NASTY, min_size=1, max_size=4))
@example(CONTENTS)
def test_any_text_is_built_and_passes_the_checks_that_block(texts):
    components = Components(SETTINGS, embedder=HashingEmbedder())
    documents = [Document(f"{n}.html", text) for n, text in enumerate(texts)]
    tree = build_tree(documents, components=components)
    for below, layer in pairwise(tree.layers):
        known = {node.id: node for node in below.nodes}
        verdicts = check_layer(
            CheckedLayer(layer.nodes, known, SETTINGS, is_extractive=components.is_extractive)
        )
        assert not [v for v in verdicts if not v.passed and v.severity == "error"]


BIRDS = ["One bird sings.", "Two birds sing.", "Three birds sing.", "Four birds fly away."]


def bird_documents(n):
    texts = (f"{text} It is bird {n}." for text in BIRDS)
    return [Document(f"{n}.md", "\n\n".join(texts))]


def first_together(n_calls):
    """A ``hold`` that lets the first calls go on only once so many are under way."""
    numbers, barrier = count(), threading.Barrier(n_calls, timeout=60)
    return lambda _body: barrier.wait() if next(numbers) < n_calls else None


def test_trees_of_one_summary_each_are_summarized_side_by_side():
    with FakeOpenAI(hold=first_together(12)) as server:
        settings = paid_settings(server.base_url, summarizer={"concurrency": 12})
        trees = {str(n): bird_documents(n) for n in range(12)}
        built = build_trees(trees, components=paid_components(settings))
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
        components = paid_components(settings)
        assert components.embedder.n_dims == 8
        components.embedder.embed(["settles the length, alone"])
        server.hold = first_together(5)
        built = build_trees({"a": DOCUMENTS}, components=components)
        assert server.peak >= 5
    assert len(built["a"].layers) > 1
