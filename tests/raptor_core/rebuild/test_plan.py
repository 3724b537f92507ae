"""A plan is exact for trees that continue, an estimate for others, and pays for nothing."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.clusterers import FOURS
from support.hashing import HashingEmbedder
from support.invariants import violations
from support.library import SMALL, FailingSummarizer, Library

from raptor_core.curation import CURATED
from raptor_core.documents import load_documents
from raptor_core.documents.base import Document
from raptor_core.identity import FALLBACK
from raptor_core.nodes import Layer
from raptor_core.rebuild import plan_rebuild
from raptor_core.rebuild.audits import predict_audit_usage
from raptor_core.rebuild.values import LayerPlan, TreePlan
from raptor_core.settings import Settings
from raptor_core.settings.base import BudgetSettings
from raptor_core.tree.build import build_tree
from raptor_core.tree.cache import NodeCache
from raptor_core.tree.cluster import cluster_top_layer
from raptor_core.tree.components import Components
from raptor_core.tree.published import read_published_tree

WORDS = (
    *("harbour", "gauge", "vault", "relay", "seed", "crew"),
    *("engine", "tide", "lantern", "copper", "meadow", "window"),
)


def paragraph(number):
    first, second = WORDS[number % 12], WORDS[(number // 3) % 12]
    return f"The {first} of the {second} was seen on day {number}, and then the {second} again."


def text(n_paragraphs, changed=()):
    kept = [paragraph(number) for number in range(n_paragraphs)]
    for at in changed:
        kept[at] = f"Nobody expected entry {at} about the {WORDS[at % 12]} to change."
    return "\n\n".join(kept)


def make_components(*, maker=None, given=None, counter=None, **settings):
    return Components(
        Settings.model_validate({**SMALL, **settings}),
        counter=counter,
        embedder=given or HashingEmbedder(),
        summarizer=maker or FailingSummarizer(),
    )


def built(n_paragraphs=120, **settings):
    return build_tree(
        [Document("a", text(n_paragraphs))], name="a", components=make_components(**settings)
    )


class RefusingEmbedder(HashingEmbedder):
    """Stands for an endpoint that must not be asked."""

    def embed(self, texts):
        raise AssertionError(f"asked to embed {len(texts)} texts")


def test_a_plan_asks_no_summarizer_and_keeps_nothing():
    summarizer, cache = FailingSummarizer(), NodeCache()
    components = make_components(maker=summarizer)
    documents = {"a": [Document("a", text(120, changed=[50]))]}
    plan = plan_rebuild({"a": built()}, documents, components=components, known=cache)
    assert plan.exact
    assert summarizer.n_made == 0
    assert not cache.vectors(["x"])
    assert (cache.unfinished_trees(), cache.count_wanted_summaries()) == ([], 0)


def test_nothing_changed_is_nothing_to_do():
    plan = plan_rebuild(
        {"a": built()}, {"a": [Document("a", text(120))]}, components=make_components()
    )
    assert plan.trees[0].action == "keep"
    assert (plan.summary_usage.calls, plan.lower_bound, plan.cost.usd) == (0, 0, 0.0)


def test_clusters_over_unchanged_nodes_stay_whatever_their_vectors_are():
    previous, components = built(), make_components()
    layer = previous.layers[0]
    vectors = np.random.default_rng(0).normal(size=layer.vectors.shape).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    kept = cluster_top_layer("a", [Layer(layer.nodes, vectors)], components, previous)
    assert set(kept.groups) == {node.children for node in previous.layers[1].nodes}
    assert set(kept.slots) == {node.slot for node in previous.layers[1].nodes}
    assert kept.fit.reason == ""


CONTIGUOUS = {"components": FOURS}


@pytest.mark.parametrize(
    ("n_paragraphs", "changed", "quality", "action"),
    [
        (40, {}, {}, "keep"),
        (41, {}, {}, "rebuild"),
        (40, {"tree": {"max_layers": 1}}, {}, "rebuild"),
        (40, {"summarizer": {"max_tokens": 90}}, {}, "rebuild"),
        (40, {}, {FALLBACK: 1.0}, "rebuild"),
        (40, {}, {CURATED: 1.0}, "rebuild"),
    ],
)
def test_a_tree_that_a_method_cuts_anew_is_kept_only_with_equal_inputs(
    n_paragraphs, changed, quality, action
):
    tree = built(40, **CONTIGUOUS)
    *below, top = tree.layers
    nodes = tuple(replace(node, quality={**node.quality, **quality}) for node in top.nodes)
    published = replace(
        tree,
        layers=(*below, replace(top, nodes=nodes)),
        settings_fingerprint=make_components(**CONTIGUOUS).settings_fingerprint,
    )
    documents = {"a": [Document("a", text(n_paragraphs))]}
    components = make_components(**CONTIGUOUS, **changed)
    (plan,) = plan_rebuild({"a": published}, documents, components=components).trees
    assert plan.action == action
    assert bool(plan.summary_usage.calls) == (n_paragraphs == 41)


def test_the_plan_of_an_edit_lists_its_layers():
    tree = built()
    documents = {"a": [Document("a", text(120, changed=[50]))]}
    (plan,) = plan_rebuild({"a": tree}, documents, components=make_components()).trees
    assert plan.action == "rebuild"
    assert plan.n_leaves_added == plan.n_leaves_removed == 1
    assert [layer.layer for layer in plan.layers] == list(range(1, len(tree.layers)))
    for layer, was in zip(plan.layers, tree.layers[1:], strict=True):
        assert layer.n_kept + layer.n_removed == len(was.nodes)
        assert layer.n_touched >= 1
        assert layer.cost.calls == layer.n_added - layer.n_reused >= layer.lower_bound >= 1


def test_an_endpoint_is_not_asked_to_embed_and_the_plan_says_that_it_is_an_estimate():
    settings = {
        "embedder": {"kind": "openai", "model": "embed"},
        "tokens": {"counter": "tiktoken"},
        "summarizer": {"kind": "openai", "model": "chat"},
        "prices": {"embed": {"input": 0.5}, "chat": {"input": 1.0, "output": 4.0}},
    }
    counter = make_components().counter  # tiktoken would fetch its vocabulary
    components = make_components(given=RefusingEmbedder(), counter=counter, **settings)
    documents = {"a": [Document("a", text(120, changed=[50, 51]))]}
    plan = plan_rebuild({"a": built()}, documents, components=components)
    assert not plan.exact
    assert plan.embedding.calls >= 1
    usd = plan.summary_usage.prompt_tokens * 1.0 + plan.summary_usage.completion_tokens * 4.0
    usd += plan.embedding.prompt_tokens * 0.5
    assert plan.cost.usd == pytest.approx(usd / 1e6)


@pytest.mark.parametrize("kind", ["openai", pytest.param("bundled", marks=pytest.mark.rare)])
@pytest.mark.slow
def test_the_range_of_a_first_build_holds_what_comes(kind):
    """With vectors of leaves their clusters are exact; no vectors come from an endpoint."""
    documents = load_documents("examples/handbook").documents
    remote = {"embedder": {"kind": kind, "model": "m"}} if kind == "openai" else {}
    tables = {"chunking": {"max_tokens": 60}, "tokens": {"counter": "words"}, **remote}
    components = Components(
        Settings.model_validate(tables),
        embedder=HashingEmbedder(),
        summarizer=FailingSummarizer(),
    )
    by_tree = {document.id: [document] for document in documents}
    plan = plan_rebuild({}, by_tree, components=components)
    made = 0
    for tree in plan.trees:
        assert (tree.action, tree.reason) == ("build", "first fit")
        built = build_tree(by_tree[tree.tree], name=tree.tree, components=components)
        sizes = [len(layer.nodes) for layer in built.layers]
        assert tree.n_leaves_added == sizes[0]
        made += sum(sizes[1:])
        if kind != "openai":
            assert tree.layers[0].n_added == sizes[1]
    least, most = plan.summaries_range
    assert least <= made <= most
    width = most - least
    assert 0 < width <= (0.3 if kind != "openai" else 1.1) * made


def test_a_forecast_of_a_models_calls_and_money_has_room_for_repeats():
    priced = {"prices": {"chat": {"input": 1.0, "output": 4.0}}}
    summarizer = FailingSummarizer()
    summarizer.calls_model = True
    chat = {"kind": "openai", "model": "chat"}
    components = make_components(maker=summarizer, summarizer=chat, **priced)
    plan = plan_rebuild({}, {"a": [Document("a", text(120))]}, components=components)
    (least, most), (fewest, greatest) = plan.summaries_range, plan.calls_range
    assert (fewest, greatest) == (least, most + math.ceil(most / 2))
    cheapest, dearest = plan.usd_range
    assert cheapest < plan.cost.usd < 1.5 * plan.cost.usd < dearest
    assert plan.exceeded_limits(BudgetSettings(calls=0, usd=100)) == ("calls",)
    free = plan_rebuild({}, {"a": [Document("a", text(120))]}, components=make_components())
    assert free.usd_range == (0.0, 0.0)
    assert free.calls_range == free.summaries_range


def test_a_tree_without_documents_is_dropped_and_costs_nothing():
    tree = built()
    for documents in ({}, {"a": []}, {"a": [Document("a", " \n")]}):
        plan = plan_rebuild({"a": tree}, documents, components=make_components())
        assert plan.trees[0].action == "drop"
        assert plan.trees[0].n_leaves_removed == len(tree.layers[0].nodes)
        assert plan.summary_usage.calls == 0


def test_changed_clustering_settings_build_the_tree_anew_and_say_so():
    documents = {"a": [Document("a", text(120))]}
    changed = make_components(clustering={**SMALL["clustering"], "threshold": 0.2})
    plan = plan_rebuild({"a": built()}, documents, components=changed)
    assert plan.trees[0].reason == "the clustering settings changed"


@pytest.mark.slow
def test_edits_cost_little_more_than_the_least_possible(tmp_path):
    """Law 7, summed over many rebuilds of one long document."""
    library = Library(tmp_path)
    library.documents["north/a"] = [paragraph(number) for number in range(150)]
    library.rebuild()
    made = least = 0
    for at in range(5, 150, 29):
        library.documents["north/a"][at] = f"Nobody expected entry {at} to change like this."
        least += library.plan().lower_bound
        made += library.rebuild()[1]
    assert least <= made <= 1.3 * least


NINE_WORDS = ("harbour", "gauge", "vault", "relay", "seed", "crew", "engine", "tide", "lantern")


def paragraphs(n, seed=0):
    days = range(seed, n + seed)
    return [
        f"The {NINE_WORDS[d % 9]} of the {NINE_WORDS[d * d % 9]} was seen on day {d}." for d in days
    ]


def edited_library(root):
    """Two documents of one tree, edited one by one until a fit would arrange them otherwise."""
    library = Library(root)
    library.documents = {"north/a": paragraphs(60), "north/b": paragraphs(40, seed=7)}
    library.rebuild()
    for at in range(4, 40, 6):
        library.documents["north/a"][at] = (
            f"Nobody expected entry {at} of the {NINE_WORDS[at % 9]}."
        )
        library.rebuild()
    return library


@pytest.mark.slow
def test_a_renamed_document_of_a_larger_tree_costs_nothing(tmp_path):
    library = edited_library(tmp_path)
    n_embedded = library.embedder.n_embedded
    library.documents["north/renamed"] = library.documents.pop("north/a")
    plan = library.plan()
    trees, n_made = library.rebuild()
    assert (n_made, plan.summary_usage.calls) == (0, 0)
    assert library.embedder.n_embedded == n_embedded
    assert violations(trees["north"]) == []
    assert {d for n in library.store.nodes() for d in n.documents} == {"north/renamed", "north/b"}


@pytest.mark.slow
def test_a_renamed_tree_costs_nothing_and_keeps_its_clusters(tmp_path):
    library = edited_library(tmp_path)
    before = [len(layer.nodes) for layer in read_published_tree(library.store, "north").layers]
    library.documents = {
        name.replace("north", "south"): found for name, found in library.documents.items()
    }
    plan = library.plan()
    trees, n_made = library.rebuild()
    assert (n_made, plan.summary_usage.calls) == (0, 0)
    assert [len(layer.nodes) for layer in trees["south"].layers] == before
    assert violations(trees["south"]) == []
    assert [manifest.tree for manifest in library.store.manifests()] == ["south"]


@pytest.mark.parametrize(
    ("layer", "n_known", "expected"),
    [
        (LayerPlan(1, n_added=20), 0, (10, 10)),
        (LayerPlan(1, n_kept=20), 10, (0, 0)),
        (LayerPlan(1, n_kept=20), 4, (6, 6)),
        (LayerPlan(1, n_kept=16, n_added=4, n_removed=4), 10, (2, 10)),
    ],
)
def test_summaries_that_were_judged_are_not_judged_again(layer, n_known, expected):
    settings = Settings.model_validate(
        {"audit": {"judge": "llm", "model": "m", "max_retries": 0}, "checks": {"audit_rate": 0.5}}
    )
    tree = TreePlan("t", "rebuild", layers=(layer,))
    planned = predict_audit_usage([tree], {("t", 1): n_known}, settings)
    assert tuple(usage.calls for usage in planned) == expected
