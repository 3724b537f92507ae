"""The hybrid strategy scores, packs and orders nodes as its signals say, also over real trees."""

from dataclasses import replace

import numpy as np
import pytest
from support.hashing import HashingEmbedder
from support.trees import leaf, outlined, summary, uid

from raptor_core.documents.base import Document
from raptor_core.retrieval import Query, Retriever
from raptor_core.retrieval.hybrid.context_packing import ContextPacking, sort_by_document
from raptor_core.retrieval.hybrid.passages import Passages
from raptor_core.retrieval.hybrid.scoring import (
    MAX_NAME_SCORE,
    CandidatePool,
    RankedNodes,
    add_second_hop,
    add_surroundings,
    standardize,
)
from raptor_core.settings import Settings
from raptor_core.settings.retrieval import HybridSettings
from raptor_core.store.base import Hit, Where
from raptor_core.store.store import VectorStore
from raptor_core.tree.build import build_trees
from raptor_core.tree.components import Components
from raptor_formats.markup.markdown import parse_markdown

LEXICAL = HybridSettings().lexical
NOTHING = {"neighbours": (), "document": 0}


def chunk(name, position, document="d", n_tokens=10, paragraphs=()):
    made = replace(leaf(name, n_tokens=n_tokens), id=uid(name), position=position)
    return replace(made, documents=(document,), paragraphs=paragraphs)


def over(name, children, **fields):
    return replace(summary(name, map(uid, children)), id=uid(name), **fields)


def pool(nodes, dense, lexical=None):
    zeros = np.zeros(len(nodes))
    words = zeros if lexical is None else lexical
    return CandidatePool(outlined(nodes), np.array(dense, float), words, zeros, zeros)


def scores(leaves, **weights):
    ranked = RankedNodes.from_pool(leaves, LEXICAL)
    return add_surroundings(ranked, HybridSettings(**{**NOTHING, **weights})).scores


def ranked(nodes, given):
    return RankedNodes(outlined(nodes), {"dense": np.array(given, float)})


def packed(nodes, given, budget=100, most=None, **how):
    return add(ContextPacking(budget, most), nodes, given, **how)


def add(packing, nodes, given, **how):
    passages = Passages.from_chunks(outlined(nodes), packing.budget_tokens, by_paragraph=True)
    leaves = ranked(nodes, given)
    packing.add_leaves(leaves, passages, **how)
    return packing


def test_scores_are_in_standard_deviations_and_equal_ones_are_zero():
    np.testing.assert_allclose(standardize(np.array([1.0, 3.0])), [-1, 1])
    np.testing.assert_allclose(standardize(np.array([2.0, 2.0])), [0, 0])
    assert len(standardize(np.array([]))) == 0


def test_dense_and_lexical_scores_are_mixed_by_their_weight():
    both = pool([chunk("a", 0), chunk("b", 1)], [0.2, 0.6], np.array([9.0, 1.0]))
    np.testing.assert_allclose(
        RankedNodes.from_pool(both, 0.25).scores, [-0.75 + 0.25, 0.75 - 0.25]
    )


def test_a_chunk_takes_in_the_better_of_its_neighbours_of_the_same_document():
    names = [chunk("a", 0), chunk("b", 1), chunk("c", 2), chunk("x", 3, "other")]
    leaves = pool(names, [4, 0, 2, 2])
    own = scores(leaves)
    found = scores(leaves, neighbours=(0.5,))
    expected = own + 0.5 * np.array([own[1], own[0], own[1], own[3]])
    np.testing.assert_allclose(found, expected)
    two_away = scores(leaves, neighbours=(0, 0.5))
    np.testing.assert_allclose(two_away, own + 0.5 * np.array([own[2], own[1], own[0], own[3]]))


def test_documents_count_only_where_several_compete():
    alone = pool([chunk("a", 0), chunk("b", 1)], [1, 2])
    np.testing.assert_allclose(scores(alone, document=3), scores(alone))
    leaves = pool([chunk("a", 0), chunk("b", 1), chunk("x", 0, "other")], [1, 5, 4])
    own = scores(leaves)
    of_d, of_other = own[:2].mean(), own[2]
    np.testing.assert_allclose(
        scores(leaves, document=3), own + 3 * np.array([of_d, of_d, of_other])
    )


@pytest.mark.parametrize(
    ("budget", "n_tokens", "is_whole"),
    [(2000, 250, True), (2000, 251, False), (400, 100, True), (400, 101, False), (150, 80, False)],
)
def test_a_paragraph_over_200_tokens_and_a_quarter_of_the_budget_is_taken_by_chunk(
    budget, n_tokens, is_whole
):
    leaves = [
        chunk(name, at, n_tokens=n_tokens, paragraphs=((90, n_tokens),))
        for at, name in enumerate("ab")
    ]
    passages = Passages.from_chunks(outlined(leaves), budget, by_paragraph=True)
    assert len(set(passages.passage.tolist())) == (1 if is_whole else 2)


def test_what_does_not_fit_is_passed_over_and_smaller_ones_follow():
    leaves = [chunk("a", 0, n_tokens=60), chunk("b", 1, n_tokens=50), chunk("c", 2, n_tokens=30)]
    packing = packed(leaves, [3, 2, 1])
    assert packing.ids == [uid("a"), uid("c")]
    assert (packing.n_tokens, packing.n_passed_over) == (90, 1)


def test_scraps_fill_no_room_that_better_passages_leave():
    leaves = [chunk("a", 0, n_tokens=60), chunk("b", 1, n_tokens=50), chunk("c", 2, n_tokens=3)]
    assert packed(leaves, [3, 2, 1]).ids == [uid("a")]
    assert packed(leaves, [3, 1, 2]).ids == [uid("a"), uid("c")]
    assert packed(leaves, [3, 2, 1], budget=120).ids == [uid("a"), uid("b"), uid("c")]


def test_diversity_and_a_bound_bring_in_other_documents():
    names = {uid(name): name for name in ("a0", "a1", "a2", "a3", "b")}
    leaves = [*(chunk(f"a{i}", i, "a") for i in range(4)), chunk("b", 0, "b")]
    given = [4.0, 3.9, 3.8, 3.7, 3.0]

    def taken(**how):
        return [names[name] for name in packed(leaves, given, 30, **how).ids]

    assert taken() == ["a0", "a1", "a2"]
    assert taken(diversity=1.0) == ["a0", "a1", "b"]
    assert taken(max_per_document=1) == ["a0", "b"]
    assert packed(leaves, given, 30, most=1).ids == [uid("a0")]


def test_a_paragraph_is_taken_with_all_of_its_parts_and_nothing_else():
    nodes = [
        chunk("a", 0, n_tokens=30, paragraphs=((90, 30),)),
        chunk("b", 1, n_tokens=40, paragraphs=((90, 25), (300, 15))),
        chunk("c", 2, n_tokens=30, paragraphs=((400, 30),)),
    ]
    packing = packed(nodes, [5, 4, 0], budget=60)
    assert packing.n_tokens == 55
    assert packing.kept_parts == {uid("b"): slice(0, 1)}
    everything = packed(nodes, [5, 4, 0], budget=100)
    assert everything.n_tokens == 100


def test_the_context_reads_in_document_order_with_the_best_document_first():
    above = over("s", ("a2",), documents=("a",), position=2)
    nodes = [chunk("b1", 1, "b"), chunk("a7", 7, "a"), chunk("b0", 0, "b"), chunk("a2", 2, "a")]
    hits = [
        Hit(node, score) for node, score in zip([*nodes, above], (1, 4, 3, 2, 0.5), strict=True)
    ]
    ordered = [hit.node.id for hit in sort_by_document(hits)]
    assert ordered == [uid(name) for name in ("s", "a2", "a7", "b0", "b1")]


MANUAL = """# Settings of the log

## Level of the log

The setting log_depth takes one of three values and may be changed only when the engine starts.

With the value basic the engine writes what it needs to come back after a crash. It is a setting \
that most small installations never touch, and the log stays short with it. The value copy adds \
what a second engine needs to follow the first one, and the value full adds the old rows.

The value full makes the log grow by a half, and must be the same on both sides.

| value | log | follower |
| --- | --- | --- |
| basic | short | none |
| copy | longer | reads only |
| full | longest | reads and rows |

```
log_depth = copy
archive = on
```

## Index

log_depth, log_depth

archive, log_depth
"""


@pytest.fixture(scope="module")
def manual():
    settings = Settings.model_validate({"chunking": {"max_tokens": 30}})
    components = Components(settings, embedder=HashingEmbedder())
    parsed = parse_markdown(MANUAL.encode())
    document = Document("manual.md", parsed.text, parsed.title, sections=parsed.sections)
    return build_trees({"manual.md": [document]}, components=components), components


@pytest.mark.slow
def test_the_paragraph_that_answers_comes_whole_between_those_around_it(manual):
    trees, components = manual
    retriever = Retriever.from_trees(list(trees.values()), components)
    found = retriever.search("what does log_depth control", Query(budget_tokens=170))
    flat = " ".join(found.context.split())
    assert "With the value basic the engine writes" in flat
    assert "and the value full adds the old rows." in flat
    assert found.n_tokens == sum(hit.node.n_tokens for hit in found.hits) <= 170
    for hit in found.hits:
        assert hit.node.text == MANUAL[hit.node.start : hit.node.end]
        assert sum(hit.why.values()) == pytest.approx(hit.score, abs=1e-4)
        assert {"dense", "neighbours"} <= set(hit.why)


@pytest.mark.slow
@pytest.mark.parametrize("bound", [{"top_k": 2}, {"max_per_document": 2}])
def test_where_chunks_are_counted_each_comes_whole(manual, bound):
    trees, components = manual
    (tree,) = trees.values()
    retriever = Retriever.from_trees([tree], components)
    found = retriever.search("what does log_depth control", Query(budget_tokens=170, **bound))
    assert len(found.hits) == 2
    assert all(hit.node in tree.layers[0].nodes for hit in found.hits)
    assert any(len(hit.node.paragraphs) > 1 for hit in found.hits)


FILLER = "The {0} in row {1} was painted blue and nothing else of note happened on day {1}."


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
        {
            "chunking": {"max_tokens": 24, "max_context_tokens": 0},
            "retrieval": {"strategy": "hybrid"},
        }
    )
    components = Components(settings, embedder=HashingEmbedder())
    documents = [book("a.md", 30), book("b.md", 60, needle_at=40), book("c.md", 5)]
    trees = build_trees({document.id: [document] for document in documents}, components=components)
    return Retriever.from_trees(list(trees.values()), components)


QUESTION = "Why did the heron quarrel about eel traps?"


def test_documents_that_matched_are_looked_at_whole(retriever):
    few = HybridSettings(candidates=2, documents=1)
    found = retriever.search(QUESTION, Query(budget_tokens=10_000, top_k=1000, hybrid=few))
    of_b = [hit.node for hit in found.hits if hit.node.documents == ("b.md",)]
    everything = retriever.search("all", Query("flat", 10**6, 1000, Where(documents=("b.md",))))
    assert {node.id for node in of_b} == {hit.node.id for hit in everything.hits}
    assert sum(hit.node.documents == ("a.md",) for hit in found.hits) < 5


def test_shared_names_count_by_their_roots_and_up_to_a_bound():
    leaves = ranked([chunk(f"a{n}", n) for n in range(200)], [3.0, 5.0] * 100)
    names = np.zeros(200)
    names[:2] = 16, 1
    part = add_second_hop(leaves, names, 2.0).score_parts["hop"]
    assert part[0] == pytest.approx(2 * MAX_NAME_SCORE)
    assert part[0] > part[1] > part[2] == 0


HOPS = {
    "English": (
        "Who leads the company that built the Lark bridge?",
        "The Lark bridge was built by Tarmondel in a wet spring.",
        "Tarmondel is led by Ivo Brenn, who likes fishing.",
        "A {0} day went by at the mill, and nobody asked for it.",
    ),
    "Japanese": (
        "雲雀橋を建てた会社の社長は誰ですか",
        "雲雀橋は鳥丸組が建てた。",
        "鳥丸組を率いるのは釣り好きな男である。",
        "{0}の日も水車小屋では何も起きなかった。",
    ),
}
ORDINALS = [chr(97 + n) * 3 for n in range(26)]


@pytest.fixture(scope="module", params=sorted(HOPS))
def hop(request):
    question, first, second, filler = HOPS[request.param]
    texts = [first, second, *(filler.format(word) for word in ORDINALS)]
    documents = [Document(f"{n:02}.md", text) for n, text in enumerate(texts)]
    components = Components(embedder=HashingEmbedder())
    trees = build_trees({"all": documents}, components=components)
    return question, first, second, Retriever.from_trees(list(trees.values()), components)


WORDS = HybridSettings(lexical=1, neighbours=(), document=0)


def ask(retriever, question, where=None, **weights):
    hybrid = replace(WORDS, **weights)
    query = Query(hybrid=hybrid, kind="detail", where=where or Where())
    return {hit.node.text: hit.why for hit in retriever.search(question, query).hits_by_score}


@pytest.mark.slow
def test_a_chunk_that_shares_a_rare_name_with_the_best_one_follows_it(hop):
    question, first, second, retriever = hop
    why = ask(retriever, question, candidates=4)
    assert set(list(why)[:2]) == {first, second}
    assert why[second]["hop"] > why[first]["hop"] > 0
    assert sum("hop" in parts for parts in why.values()) == 2
    without = ask(retriever, question, candidates=4, hop=0)
    assert not any("hop" in parts for parts in without.values())


def test_long_documents_get_no_hop(retriever):
    hits = retriever.search(QUESTION, Query(budget_tokens=10_000)).hits
    assert len({hit.node.documents for hit in hits}) > 1
    assert not any("hop" in hit.why for hit in hits)


def test_a_hop_takes_one_further_request(hop, monkeypatch):
    question, *_, retriever = hop
    requests = []
    for name in ("search_candidates", "nodes"):
        real = getattr(VectorStore, name)
        monkeypatch.setattr(
            VectorStore, name, lambda *given, real=real: requests.append(given) or real(*given)
        )

    def count(weight):
        requests.clear()
        ask(retriever, question, candidates=4, hop=weight)
        return len(requests)

    assert count(2.0) == count(0) + 1


REPORTS = {
    "reports/Brightwell-2021.md": "The {0} pump of Halvorsen turned as in every year.",
    "reports/Brightwell-2022.md": "The {0} pump of Halvorsen turned as in every year.",
    "reports/Coldmere-2022.md": "The {0} pump turned, and Tarmondel oiled it.",
    "notes.md": "A {0} pump was seen by Ostrander.",
}


@pytest.fixture(scope="module")
def reports():
    components = Components(embedder=HashingEmbedder())
    numerals = [a + b for a in ORDINALS[:4] for b in ORDINALS[:4]]
    documents = [
        Document(name, "\n\n".join(f"{text.format(word)} " * 8 for word in numerals))
        for name, text in REPORTS.items()
    ]
    trees = build_trees({document.id: [document] for document in documents}, components=components)
    return Retriever.from_trees(list(trees.values()), components)


def named_parts(retriever, question, budget=10_000, top_k=None, **weights):
    hybrid = HybridSettings(candidates=100, **weights)
    query = Query(hybrid=hybrid, kind="detail", budget_tokens=budget, top_k=top_k)
    hits = retriever.search(question, query).hits
    return {hit.node.documents[0]: hit.why.get("named") for hit in hits}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which pump did Tarmondel oil?", {"reports/Coldmere-2022.md": 6.0}),
        (
            "Did Tarmondel oil the pump that Ostrander saw?",
            {"reports/Coldmere-2022.md": 6.0, "notes.md": 6.0},
        ),
        ("Which pump did tarmondel oil?", {}),
        ("Which pump had Halvorsen?", {}),
        ("Which pump turned in FY2022?", {"reports/Brightwell-2021.md": -6.0}),
        ("Which pump turned in 2022?", {"reports/Brightwell-2021.md": -2.0}),
        ("What does Brightwell of 2022 say of the pump?", {"reports/Brightwell-2021.md": -6.0}),
        ("Which pump turned in 2021 and 2022?", {}),
        ("Which pump turned in the years 2019-2022?", {}),
        ("Which pump turned after FY2021?", {}),
        ("Which pump turned in 2022 or later?", {}),
        ("How did the pump turn in 2022, compared to the year before?", {}),
        ("Welche Pumpe lief seit dem Jahr 2022?", {}),
        ("Welche Pumpe lief im Geschäftsjahr 2022?", {"reports/Brightwell-2021.md": -6.0}),
        ("Quelle pompe tournait avant 2022 ?", {}),
        ("¿Qué bomba giró a partir de 2022?", {}),
        ("Quale pompa girava dal 2022?", {}),
        ("Que bomba girou depois de 2021?", {}),
        ("2022年以降にどのポンプが回りましたか", {}),
        ("2022年之前哪个泵在转", {}),
        ("Which pump turned in 2023?", {}),
        ("Which pump turned?", {}),
    ],
)
def test_a_document_is_named_by_a_name_of_its_own_or_by_the_year_of_its_edition(
    reports, question, expected
):
    parts = named_parts(reports, question, 10**6, top_k=1000)
    assert parts.keys() >= expected.keys()
    assert {name: part for name, part in parts.items() if part is not None} == expected
    if expected:
        assert not any(named_parts(reports, question, named=0).values())


def test_a_named_document_fills_the_context(reports):
    question = "Which pump turned as in every year, says Tarmondel?"
    assert named_parts(reports, question, 1000, named=99).keys() == {"reports/Coldmere-2022.md"}
    assert len(named_parts(reports, question, 1000, named=0)) > 1


def test_the_year_of_an_event_leaves_the_other_editions_in(reports):
    question = "How much was paid for the pump of Halvorsen that turned in 2021?"
    editions = {"reports/Brightwell-2021.md", "reports/Brightwell-2022.md"}
    assert named_parts(reports, question, 1000).keys() >= editions
    assert "other years" not in reports.search(question, Query(kind="detail")).note
