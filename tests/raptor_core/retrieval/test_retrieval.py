"""Retrieval against the definitions of the paper, computed by hand over the same trees."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from support.hashing import HashingEmbedder
from support.workshop import SMALL, prose

from raptor_core.documents.base import Document
from raptor_core.errors import InvariantError, SettingsError, StoreMismatchError
from raptor_core.retrieval import STRATEGIES, Query, Retriever, base
from raptor_core.retrieval.trace import trace_node
from raptor_core.settings import Settings
from raptor_core.store.base import Where
from raptor_core.store.store import VectorStore
from raptor_core.tree.build import build_tree, build_trees
from raptor_core.tree.components import Components

TOPICS = ("tide gauge drift", "seed vault humidity", "vessel engine refit", "night shift handover")


def make_document(name, start):
    paragraphs = [
        f"On day {start + n} the {TOPICS[n % 4]} was checked by crew {n}. "
        f"Its value was {n * 3.5:.1f} and nothing else was done about {TOPICS[(n + 1) % 4]}."
        for n in range(40)
    ]
    return Document(name, "\n\n".join(paragraphs), title=name, metadata={"site": name[0]})


@pytest.fixture(scope="module")
def components():
    settings = Settings.model_validate({"chunking": {"max_tokens": 40}})
    return Components(settings, embedder=HashingEmbedder())


@pytest.fixture(scope="module")
def documents():
    return {name: [make_document(name, start)] for name, start in (("a.md", 0), ("b.md", 500))}


@pytest.fixture(scope="module")
def trees(components, documents):
    return build_trees(
        {**documents, "c.md": [Document("c.md", "One line.")]}, components=components
    )


@pytest.fixture(scope="module")
def retriever(components, trees):
    return Retriever.from_trees(list(trees.values()), components)


def ranked(vector, nodes, trees):
    scores = {node.id: float(trees[node.tree].vector(node.id) @ vector) for node in nodes}
    return sorted(nodes, key=lambda node: (-round(scores[node.id], 5), node.id)), scores


QUESTION = "what happened to the seed vault humidity on day 12?"


def test_trees_of_another_embedder_are_refused(trees):
    with pytest.raises(StoreMismatchError, match=r"'a\.md' do not come from the embedder .*MiniLM"):
        Retriever.from_trees(list(trees.values()))


@pytest.mark.slow
def test_collapsed_returns_the_most_similar_nodes_of_all_layers(retriever, trees, components):
    vector = components.embedder.embed([QUESTION])[0]
    everything = [node for tree in trees.values() for node in tree.nodes()]
    expected, scores = ranked(vector, everything, trees)
    found = retriever.search(QUESTION, Query("collapsed", top_k=9, budget_tokens=100_000))
    got = [hit.score for hit in found.hits]
    np.testing.assert_allclose(got, [scores[node.id] for node in expected[:9]], atol=1e-3)
    assert found.n_tokens == sum(hit.node.n_tokens for hit in found.hits)


def test_a_node_that_does_not_fit_is_passed_over_and_the_next_is_taken(retriever):
    wide = retriever.search(QUESTION, Query("collapsed", top_k=20, budget_tokens=100_000))
    budget = wide.hits[0].node.n_tokens + min(hit.node.n_tokens for hit in wide.hits)
    tight = retriever.search(QUESTION, Query("collapsed", top_k=20, budget_tokens=budget))
    assert 0 < tight.n_tokens <= budget
    assert tight.hits[0] == wide.hits[0]
    assert tight.n_passed_over > 0
    nothing = retriever.search(QUESTION, Query("collapsed", budget_tokens=1))
    assert nothing.hits == ()
    assert nothing.context == ""


NEAR = [f"The {TOPICS[0]} of {n} was checked by both crews of the ship." for n in range(60)]
SHORT = "The tide."


@pytest.fixture(scope="module")
def uneven(components):
    """Many chunks that are near in meaning, and a short one that is not."""
    texts = {"a.md": [Document("a.md", "\n\n".join(NEAR))], "b.md": [Document("b.md", SHORT)]}
    return Retriever.from_trees(
        list(build_trees(texts, components=components).values()), components
    )


@pytest.mark.slow
@pytest.mark.parametrize("strategy", sorted(set(STRATEGIES) - {"traversal"}))
@pytest.mark.parametrize("top_k", [None, 1])
def test_a_small_budget_gets_a_node_that_fits_however_many_nearer_ones_do_not(
    uneven, strategy, top_k
):
    found = uneven.search(NEAR[0], Query(strategy, budget_tokens=5, top_k=top_k))
    assert found.context == SHORT


@pytest.mark.parametrize("top_k", [None, 1])
def test_a_budget_that_nothing_fits_does_not_read_the_whole_corpus(uneven, monkeypatch, top_k):
    monkeypatch.setattr(base, "MAX_CANDIDATES", 25)
    monkeypatch.setattr(base, "LAYER_TOP_K", 2)
    store_class = VectorStore
    limits, search = [], store_class.search

    def counted(store, vectors, limit, *given, **named):
        limits.append(limit)
        return search(store, vectors, limit, *given, **named)

    monkeypatch.setattr(store_class, "search", counted)
    found = uneven.search(NEAR[0], Query("flat", budget_tokens=1, top_k=top_k))
    assert found.hits == ()
    assert 25 <= max(limits) < len(NEAR)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("budget", [1, 5, 60, 2000])
def test_a_question_beside_one_that_takes_a_longer_search_gets_what_it_gets_alone(
    uneven, strategy, budget
):
    questions, query = [NEAR[0], SHORT, "crews", "nosuch"], Query(strategy, budget)
    alone = [uneven.search(question, query) for question in questions]
    assert uneven.search_many(questions, query) == alone


def test_traversal_follows_algorithm_one(retriever, trees, components):
    tree = trees["a.md"]
    vector = components.embedder.embed([QUESTION])[0]
    chosen, _ = ranked(vector, tree.layers[-1].nodes, trees)
    expected = chosen = chosen[:3]
    while any(node.children for node in chosen):
        children = {child.id: child for node in chosen for child in tree.children(node.id)}
        chosen = ranked(vector, list(children.values()), trees)[0][:3]
        expected = expected + chosen
    query = Query("traversal", top_k=3, budget_tokens=100_000, where=Where(trees=("a.md",)))
    found = retriever.search(QUESTION, query)
    assert [hit.node.layer for hit in found.hits] == [node.layer for node in expected]
    assert {hit.node.id for hit in found.hits} == {node.id for node in expected}


def test_traversal_over_all_trees_starts_in_each_trees_own_top(retriever, trees):
    found = retriever.search(QUESTION, Query("traversal", top_k=50, budget_tokens=100_000))
    tops = {tree.layers[-1].nodes[0].id for tree in trees.values()}
    assert tops <= {hit.node.id for hit in found.hits}


def test_a_filter_on_layers_is_for_collapsed_only(retriever):
    found = retriever.search(QUESTION, Query("collapsed", where=Where(layers=(1, 2))))
    assert {hit.node.layer for hit in found.hits} <= {1, 2}
    with pytest.raises(SettingsError, match="start_layer"):
        retriever.search(QUESTION, Query("traversal", where=Where(layers=(1,))))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_context_is_over_its_budget(retriever, strategy):
    for budget in (1, 45, 200, 900):
        found = retriever.search(QUESTION, Query(strategy, budget_tokens=budget))
        assert found.n_tokens == sum(hit.node.n_tokens for hit in found.hits) <= budget
        assert len({hit.node.id for hit in found.hits}) == len(found.hits)


def test_flat_and_lexical_return_the_best_chunks(retriever, trees, components):
    vector = components.embedder.embed([QUESTION])[0]
    leaves = [leaf for tree in trees.values() for leaf in tree.layers[0].nodes]
    expected, scores = ranked(vector, leaves, trees)
    found = retriever.search(QUESTION, Query("flat", top_k=7, budget_tokens=100_000))
    got = [hit.score for hit in found.hits]
    np.testing.assert_allclose(got, [scores[leaf.id] for leaf in expected[:7]], atol=1e-3)
    words = retriever.search("crew 17", Query("lexical", top_k=3, budget_tokens=100_000))
    assert "crew 17." in words.hits[0].node.text
    assert {hit.node.layer for hit in (*found.hits, *words.hits)} == {0}
    with pytest.raises(SettingsError, match="only chunks"):
        retriever.search(QUESTION, Query("flat", where=Where(layers=(1,))))


@pytest.mark.parametrize("strategy", ["flat", "lexical", "collapsed", "collapsed-lexical"])
def test_without_a_number_of_nodes_the_budget_is_filled(retriever, strategy):
    question = f"{QUESTION} {' '.join(TOPICS)} crew"
    known = [hit.node for hit in retriever.search(question, Query(strategy, 90_000)).hits]
    assert len(known) > 40
    budget = sum(node.n_tokens for node in known[:40])
    found = retriever.search(question, Query(strategy, budget))
    assert len(found.hits) >= 40
    assert found.n_tokens > budget - max(node.n_tokens for node in known)
    assert len(retriever.search(question, Query(strategy, budget, top_k=20)).hits) == 20


@pytest.mark.parametrize("strategy", ["collapsed", "collapsed-lexical", "traversal"])
def test_a_context_about_a_detail_is_mostly_chunks(retriever, trees, strategy):
    question = trees["a.md"].layers[-1].nodes[0].text

    def summaries(query):
        hits = retriever.search(question, query).hits
        assert any(hit.node.is_leaf for hit in hits)
        return sum(hit.node.n_tokens for hit in hits if not hit.node.is_leaf)

    detail = Query(strategy, 500, kind="detail")
    assert 0 < summaries(detail) <= 125
    assert summaries(replace(detail, summary_share=1.0)) > 125
    assert summaries(replace(detail, kind="general")) > 125


def test_a_tree_is_named_by_its_documents(components):
    one, two = Document("a.md", "x y"), Document("b.md", "z z")
    names = [build_tree(part, components=components).name for part in ([one], [two, one])]
    assert names == ["a.md", "a.md and 1 more"]
    again = build_tree(
        [two], components=components, previous=build_tree([one], components=components)
    )
    assert again.name == "a.md"


def test_a_summary_traces_to_the_exact_spans_under_it(retriever, trees, documents):
    tree = trees["a.md"]
    for node in (tree.layers[-1].nodes[0], tree.layers[1].nodes[0], tree.layers[0].nodes[3]):
        traced = retriever.trace(node.id)
        below = {node.id} if node.is_leaf else set()
        front = [node]
        while front:
            front = [child for item in front for child in tree.children(item.id)]
            below |= {item.id for item in front if item.is_leaf}
        assert {span.node_id for span in traced.spans} == below
        for span in traced.spans:
            assert documents["a.md"][0].text[span.start : span.end] == span.text
        assert [span.start for span in traced.spans] == sorted(span.start for span in traced.spans)


class LosingStore:
    """Store of a tree that lacks one of its nodes."""

    def __init__(self, tree, lost):
        self.remaining = [node for node in tree.nodes() if node.id != lost]

    def nodes(self, where):
        return [node for node in self.remaining if node.id in where.ids]


def test_a_trace_fails_if_the_store_lacks_a_child(trees):
    top = trees["a.md"].layers[-1].nodes[0]
    store = LosingStore(trees["a.md"], top.children[0])
    with pytest.raises(InvariantError, match=f"1 nodes below {top.id} are not in the store"):
        trace_node(store, top.id)


@pytest.mark.slow
def test_a_passage_without_a_letter_or_digit_is_never_returned(components):
    documents = {
        "marks.md": [Document("marks.md", "? ! ? !")],
        "stars.md": [Document("stars.md", "🌟🌟🌟")],
        "d.md": [make_document("d.md", 0)],
    }
    built = list(build_trees(documents, components=components).values())
    reader = Retriever.from_trees(built, components)
    for query in (Query(strategy, top_k=top_k) for strategy in STRATEGIES for top_k in (None, 3)):
        retrieval = reader.search("? ! 🌟 ?", query)
        assert retrieval.n_tokens == sum(hit.node.n_tokens for hit in retrieval.hits)
        assert {hit.node.tree for hit in retrieval.hits} <= {"d.md"}


TEXTS = {
    "pumps.md": "The harbour pump failed in March, since silt had blocked its intake. Engineer "
    "Oduya replaced the filter, and the pump ran again after three hours.",
    "bridge.md": "Traffic over the northern bridge rose by 12 percent after the toll was "
    "abolished. The council did not extend the night ferry.",
    "lamps.md": "The keeper trims the wick each evening. The lamp burns rape oil, and its glass "
    "is polished with chalk on Saturdays.",
}


@pytest.fixture(scope="module")
def over_texts():
    components = Components()
    trees = build_trees({n: [Document(n, t)] for n, t in TEXTS.items()}, components=components)
    return Retriever.from_trees(list(trees.values()), components)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["hybrid", "collapsed", "traversal"])
@pytest.mark.parametrize(
    ("question", "is_answered"),
    [
        ("Why did the pump stop working?", True),
        ("Who repaired the machine that drains the port?", True),
        ("How did traffic change without a toll?", True),
        ("What fuel does the lighthouse use?", True),
        ("Summarize everything.", True),
        ("How do I score in cricket?", False),
        ("Which vaccine does a puppy need first?", False),
        ("Was kostet eine Wohnung in Berlin?", False),
        ("Quel est le meilleur vin de Bordeaux ?", False),
        ("如何申请签证", False),
    ],
)
def test_a_question_that_nothing_answers_has_a_note(over_texts, strategy, question, is_answered):
    found = over_texts.search(question, Query(strategy))
    assert found.hits
    assert ("nearer to the question than chance" in found.note) is not is_answered


QUESTIONS = [f"{prose(2, seed)} {seed}" for seed in range(24)]


@pytest.fixture(scope="module")
def over_prose():
    settings = Settings.model_validate({part: SMALL[part] for part in ("chunking", "components")})
    components = Components(settings, embedder=HashingEmbedder())
    documents = {name: [Document(name, prose(60, seed))] for seed, name in enumerate("ab")}
    return Retriever.from_trees(
        list(build_trees(documents, components=components).values()), components
    )


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_searches_at_once_give_what_each_gives_alone(over_prose, strategy):
    query = Query(strategy, budget_tokens=120, top_k=4)
    alone = [over_prose.search(question, query) for question in QUESTIONS]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda asked: over_prose.search(asked, query), QUESTIONS)) == alone
    assert all(found.hits for found in alone)
