"""The default strategy: its signals by hand, and its context over real trees."""

from dataclasses import replace

import numpy as np
import pytest
from support.hashing import HashingEmbedder
from support.trees import leaf, outlined, summary, uid

from raptor_core.documents.base import Document
from raptor_core.retrieval import Query, Retriever
from raptor_core.retrieval.hybrid.context_packing import Packing, in_document_order
from raptor_core.retrieval.hybrid.pool import Pool, mixed, standardized
from raptor_core.retrieval.hybrid.scoring import Ranked, leaf_scores
from raptor_core.retrieval.hybrid.themes import theme
from raptor_core.settings import HybridSettings, Settings
from raptor_core.store.base import Hit, Where
from raptor_core.tree.build import build_trees
from raptor_core.tree.components import Components

LEXICAL = HybridSettings().lexical
NOTHING = {"parents": 0, "neighbours": (), "section": 0, "document": 0}


def chunk(name, position, document="d", section=(), n_tokens=10):
    made = replace(leaf(name, n_tokens=n_tokens), id=uid(name), position=position)
    return replace(made, documents=(document,), section=section)


def over(name, children, **fields):
    return replace(summary(name, map(uid, children)), id=uid(name), **fields)


def pool(nodes, dense, lexical=None):
    zeros = np.zeros(len(nodes))
    return Pool(outlined(nodes), np.array(dense, float), zeros if lexical is None else lexical)


EMPTY = pool((), ())


def scores(leaves, summaries=EMPTY, **weights):
    ranked = (Ranked(part.outlines, mixed(part, LEXICAL)) for part in (leaves, summaries))
    return leaf_scores(*ranked, HybridSettings(**{**NOTHING, **weights}))


def test_scores_are_in_standard_deviations_and_equal_ones_are_zero():
    np.testing.assert_allclose(standardized(np.array([1.0, 3.0])), [-1, 1])
    np.testing.assert_allclose(standardized(np.array([2.0, 2.0])), [0, 0])
    assert len(standardized(np.array([]))) == 0


def test_dense_and_lexical_scores_are_mixed_by_their_weight():
    both = pool([chunk("a", 0), chunk("b", 1)], [0.2, 0.6], np.array([9.0, 1.0]))
    np.testing.assert_allclose(mixed(both, 0.25), [-0.75 + 0.25, 0.75 - 0.25])


def test_a_chunk_takes_in_the_better_of_its_neighbours_of_the_same_document():
    names = [chunk("a", 0), chunk("b", 1), chunk("c", 2), chunk("x", 3, "other")]
    leaves = pool(names, [4, 0, 2, 2])
    own = scores(leaves)
    found = scores(leaves, neighbours=(0.5,))
    lowest = own.min()
    expected = own + 0.5 * np.array([own[1], own[0], own[1], lowest])
    np.testing.assert_allclose(found, expected)
    two_away = scores(leaves, neighbours=(0, 0.5))
    np.testing.assert_allclose(two_away, own + 0.5 * np.array([own[2], lowest, own[0], lowest]))


def test_a_chunk_takes_in_its_best_parent():
    leaves = pool([chunk("a", 0), chunk("b", 1), chunk("c", 2)], [1, 1, 4])
    above = pool([over("s", "ab"), over("t", "b"), over("u", "z")], [1, 3, 5])
    own, parents = scores(leaves), mixed(above, LEXICAL)
    expected = own + 0.5 * np.array([parents[0], parents[1], parents[0]])
    np.testing.assert_allclose(scores(leaves, above, parents=0.5), expected)


def test_a_chunk_takes_in_the_best_two_of_its_section():
    sections = [("One",)] * 3 + [("Two",)]
    nodes = [chunk("abcd"[at], at, section=section) for at, section in enumerate(sections)]
    leaves = pool(nodes, [1, 2, 6, 3])
    own = scores(leaves)
    best = own[1:3].mean()
    expected = own + np.array([best, best, best, own[3]])
    np.testing.assert_allclose(scores(leaves, section=1), expected)


def test_documents_count_only_where_several_compete():
    alone = pool([chunk("a", 0), chunk("b", 1)], [1, 2])
    np.testing.assert_allclose(scores(alone, document=3), scores(alone))
    leaves = pool([chunk("a", 0), chunk("b", 1), chunk("x", 0, "other")], [1, 5, 4])
    own = scores(leaves)
    of_d, of_other = own[:2].mean(), own[2]
    np.testing.assert_allclose(
        scores(leaves, document=3), own + 3 * np.array([of_d, of_d, of_other])
    )


def test_a_fact_leads_and_a_theme_is_spread():
    assert theme(np.array([5.0] + [0.0] * 9)) == 0.0
    assert theme(np.array([0.1] + [0.0] * 9)) == 1.0
    assert 0 < theme(np.array([0.65] + [0.0] * 9)) < 1
    assert theme(np.array([1.0])) == 0.0


def test_what_does_not_fit_is_passed_over_and_smaller_ones_follow():
    leaves = [chunk("a", 0, n_tokens=60), chunk("b", 1, n_tokens=50), chunk("c", 2, n_tokens=30)]
    packing = Packing(100)
    packing.add_leaves(outlined(leaves), np.array([3.0, 2.0, 1.0]))
    assert packing.ids == [uid("a"), uid("c")]
    assert (packing.n_tokens, packing.n_passed_over) == (90, 1)


def test_diversity_and_a_bound_bring_in_other_documents():
    names = {uid(name): name for name in ("a0", "a1", "a2", "a3", "b")}
    leaves = outlined([*(chunk(f"a{i}", i, "a") for i in range(4)), chunk("b", 0, "b")])
    given = np.array([4.0, 3.9, 3.8, 3.7, 3.0])

    def taken(budget=30, **how):
        packing = Packing(budget)
        packing.add_leaves(leaves, given, **how)
        return [names[name] for name in packing.ids]

    assert taken() == ["a0", "a1", "a2"]
    assert taken(diversity=1.0) == ["a0", "a1", "b"]
    assert taken(max_per_document=1) == ["a0", "b"]
    bounded = Packing(30, 1)
    bounded.add_leaves(leaves, given)
    assert bounded.ids == [uid("a0")]


def test_summaries_keep_to_their_share():
    packing = Packing(100)
    nodes = [over("s", "ab", n_tokens=30), over("t", "cd", n_tokens=20)]
    packing.add_summaries(outlined(nodes), np.array([1.0, 2.0]), 0.4)
    assert packing.ids == [uid("t")]
    packing.add_leaves(outlined([chunk("a", 0, n_tokens=80)]), np.array([1.0]))
    assert packing.n_tokens == 100


def test_a_bound_on_nodes_is_shared_too():
    packing = Packing(1000, 2)
    above = outlined([over("s", "ab"), over("t", "cd")])
    packing.add_summaries(above, np.array([1.0, 2.0]), 0.5)
    packing.add_leaves(outlined([chunk("a", 0), chunk("b", 1)]), np.array([1.0, 2.0]))
    assert packing.ids == [uid("t"), uid("b")]


def test_the_context_reads_in_document_order_with_the_best_document_first():
    above = over("s", ("a2",), documents=("a",), position=2)
    nodes = [chunk("b1", 1, "b"), chunk("a7", 7, "a"), chunk("b0", 0, "b"), chunk("a2", 2, "a")]
    hits = [
        Hit(node, score) for node, score in zip([*nodes, above], (1, 4, 3, 2, 0.5), strict=True)
    ]
    ordered = [hit.node.id for hit in in_document_order(hits)]
    assert ordered == [uid(name) for name in ("s", "a2", "a7", "b0", "b1")]


FILLER = "The {0} in row {1} was painted blue and nothing else of note happened on day {1}."

NEEDLE = (
    "The heron quarrelled with the harbourmaster about eel traps near the old pier.",
    "He paid it back in spring, with interest, and both men were content afterwards.",
)


def book(name, n_paragraphs, needle_at=None):
    lines = [FILLER.format(("door", "wall", "gate")[n % 3], n) for n in range(n_paragraphs)]
    if needle_at is not None:
        lines[needle_at] = (
            "The heron quarrelled with the harbourmaster about eel traps near the old pier."
        )
        lines[needle_at + 1] = (
            "He paid it back in spring, with interest, and both men were content afterwards."
        )
    return Document(name, "\n\n".join(lines), title=name)


@pytest.fixture(scope="module")
def retriever():
    settings = Settings.model_validate(
        {"chunking": {"max_tokens": 24, "context": False}, "retrieval": {"strategy": "hybrid"}}
    )
    components = Components(settings, embedder=HashingEmbedder())
    documents = [book("a.md", 30), book("b.md", 60, needle_at=40), book("c.md", 5)]
    trees = build_trees({document.id: [document] for document in documents}, components=components)
    return Retriever.from_trees(list(trees.values()), components)


QUESTION = "Why did the heron quarrel about eel traps?"


def test_the_passage_after_a_match_comes_with_it(retriever):
    found = retriever.search(QUESTION, Query(budget_tokens=64))
    assert "quarrelled" in found.context
    assert "paid it back" in found.context
    assert "paid it back" not in retriever.search(QUESTION, Query("flat", budget_tokens=64)).context


def test_documents_that_matched_are_looked_at_whole(retriever):
    few = HybridSettings(candidates=2, documents=1, summaries=0)
    found = retriever.search(QUESTION, Query(budget_tokens=10_000, hybrid=few))
    of_b = [hit.node for hit in found.hits if hit.node.documents == ("b.md",)]
    everything = retriever.search("?", Query("flat", 10**6, 1000, Where(documents=("b.md",))))
    assert {node.id for node in of_b} == {hit.node.id for hit in everything.hits}
    assert sum(hit.node.documents == ("a.md",) for hit in found.hits) < 5


def test_documents_and_children_are_looked_into_at_once_and_children_that_are_known_not(
    retriever, monkeypatch
):
    store, seen = retriever._store, []
    real = store.candidates
    monkeypatch.setattr(store, "candidates", lambda *given: seen.append(given) or real(*given))
    retriever.search("What was painted?", Query(hybrid=HybridSettings(candidates=30, documents=3)))
    everywhere, (inside, children) = (given[-1] for given in seen)
    assert (everywhere, inside) == (Where(), Where(documents=("a.md", "b.md", "c.md")))
    near, matching = (set(found.outlines.ids()) for found in real(*seen[0])[0])
    assert children.ids
    assert (near & matching).isdisjoint(children.ids)
    retriever.search(QUESTION, Query(hybrid=HybridSettings(candidates=2000)))
    assert seen[-1][-1] == Where()


def test_summaries_come_in_when_chunks_are_near_in_score(retriever):
    generous = HybridSettings(summaries=0.5)
    question = "What was painted?"
    framed = retriever.search(question, Query(budget_tokens=400, hybrid=generous))
    assert any(not hit.node.is_leaf for hit in framed.hits)
    plain = retriever.search(question, Query(budget_tokens=400, hybrid=HybridSettings(summaries=0)))
    assert all(hit.node.is_leaf for hit in plain.hits)


def test_a_filter_on_layers_leaves_summaries_alone(retriever):
    found = retriever.search(QUESTION, Query(where=Where(layers=(1, 2))))
    assert found.hits
    assert {hit.node.layer for hit in found.hits} <= {1, 2}


def test_ranks_are_by_score_whatever_the_order(retriever):
    found = retriever.search(QUESTION, Query(budget_tokens=300))
    given = [hit.score for hit in found.ranked]
    assert given == sorted(given, reverse=True)
    assert [hit.score for hit in found.hits] != given
