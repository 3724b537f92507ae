"""Golden sets: files, figures of a retrieval, and the check."""

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from support.clusterers import FOURS
from support.hashing import HashingEmbedder
from support.trees import leaf, summary

from raptor_core.documents import Document, load_documents
from raptor_core.errors import SettingsError
from raptor_core.evaluation.golden import (
    GoldenReport,
    evaluate_golden,
    measure_golden,
    measure_retrieval,
)
from raptor_core.evaluation.golden_file import Question, load_golden
from raptor_core.identity import normalize_text
from raptor_core.retrieval import Query, Retrieval
from raptor_core.settings import CheckSettings, Settings
from raptor_core.store import open_store
from raptor_core.store.base import Hit
from raptor_core.tree.build import build_tree
from raptor_core.tree.components import Components
from raptor_core.tree.publish import make_manifest

SPAN = "The lamp was lit in 1872 by Agnes Moor with oil."


def of(document, node):
    return replace(node, documents=(document,))


def retrieval(*nodes):
    hits = tuple(Hit(node, 1.0) for node in nodes)
    return Retrieval("?", Query(), hits, sum(n.n_tokens for n in nodes), len(nodes), 0)


NODES = (
    of("b.md", leaf("1", "Herring was shipped until 1914.")),
    replace(summary("2", "xy", text="Of both."), documents=("a.md", "b.md")),
    of("a.md", leaf("3", "It is told that the lamp was lit in 1872 by Agnes Moor with oil.")),
)


def case(text, sources=(), evidence=(), document=None):
    return Question("line 1", text, document, sources, evidence)


def test_the_rank_is_of_the_first_node_of_an_expected_document_alone():
    hit = measure_retrieval(case("?", ("a.md",)), retrieval(*NODES))
    assert (hit.rank, hit.found_document_share, hit.found_evidence_share) == (3, 1.0, None)
    assert measure_retrieval(case("?", ("b.md",)), retrieval(*NODES)).rank == 1
    assert measure_retrieval(case("?", ("a.md", "b.md")), retrieval(*NODES[1:])).rank == 1


def test_the_rank_of_a_span_is_of_the_node_that_holds_half_of_it():
    hit = measure_retrieval(case("?", evidence=(SPAN,)), retrieval(*NODES))
    assert (hit.rank, hit.found_evidence_share, hit.found_document_share) == (3, 1.0, None)


def test_a_span_over_two_nodes_is_found_in_part():
    halves = (leaf("1", "The lamp was lit in 1872"), leaf("2", "by Agnes Moor with oil."))
    hit = measure_retrieval(case("?", evidence=(SPAN,)), retrieval(*halves))
    assert 0 < hit.found_evidence_share < 1


def report(*ranks):
    hit = measure_retrieval(case("Who lit it?", ("a.md",)), retrieval(*NODES))
    return GoldenReport(tuple(replace(hit, rank=rank) for rank in ranks))


def test_the_figures_are_those_of_the_ranks():
    numbers = report(1, 4, 0, 2).figures()
    assert numbers["hit_rate"] == 0.75
    assert (numbers["hit_rate_at_1"], numbers["hit_rate_at_3"], numbers["hit_rate_at_5"]) == (
        0.25,
        0.5,
        0.75,
    )
    assert numbers["mrr"] == pytest.approx((1 + 0.25 + 0.5) / 4, abs=1e-4)
    assert "evidence_recall" not in numbers
    assert GoldenReport(()).figures() == {"questions": 0.0, "missed": 0.0}


def test_the_check_warns_under_the_bound_and_names_what_was_missed():
    checks = CheckSettings(min_golden_hit_rate=0.8)
    found = evaluate_golden(report(1, 0), checks)
    assert (found.name, found.passed, found.severity) == ("golden_retrieval", False, "warn")
    (worst,) = found.worst
    assert (worst.node_id, worst.tree, worst.text) == ("1", "t", "Who lit it?")
    assert worst.why == "expected a.md; found b.md"
    assert evaluate_golden(report(1, 1), checks).passed


@pytest.fixture
def published():
    """Two trees in a store in memory, and the embedder."""
    settings = Settings.model_validate({"components": FOURS, "chunking": {"max_tokens": 24}})
    components = Components(settings, embedder=HashingEmbedder())
    store = open_store(settings.store, None, components.store_identity)
    texts = {"a.md": SPAN * 3 + " It burned for years.", "b.md": "Herring was shipped. " * 8}
    for name, text in texts.items():
        documents = [Document(name, text)]
        tree = build_tree(documents, components=components, name=name)
        manifest = make_manifest(tree, documents, components.settings_fingerprint)
        store.publish(manifest, tuple(tree.nodes()), tree.vectors())
    yield store, components.embedder
    store.close()


def test_a_golden_set_is_measured_with_the_retriever(published):
    store, embedder = published
    cases = [
        case("Who lit the lamp in 1872?", ("a.md",), (SPAN,)),
        case("Was herring shipped?", ("b.md",), document="b.md"),
        case("Who lit the lamp in 1872?", ("a.md",), document="b.md"),
    ]
    found = measure_golden(cases, embedder, lambda: nullcontext(store), Query())
    assert [hit.question for hit in found.results] == cases
    assert [hit.rank > 0 for hit in found.results] == [True, True, False]
    assert found.results[0].found_evidence_share == 1.0
    assert {hit.node.tree for hit in found.results[2].retrieval.hits} == {"b.md"}


EXAMPLE = Path(__file__).parents[3] / "examples" / "questions.jsonl"


def load(tmp_path, text):
    path = tmp_path / "golden.jsonl"
    path.write_text(text, encoding="utf-8")
    return load_golden(path)


def test_documents_spans_and_trees_are_read(tmp_path):
    lines = (
        '{"question": "When was it lit?", "expected": "point.md", "answer": "1872"}\n\n'
        '{"question": "Who?", "span": ["Agnes Moor lit it."], "tree": "point.md", "kind": "x"}\r\n'
    )
    first, second = load(tmp_path, "\ufeff" + lines)
    assert (first.text, first.sources, first.evidence, first.id) == (
        "When was it lit?",
        ("point.md",),
        (),
        "line 1",
    )
    assert (second.sources, second.evidence, second.document, second.id) == (
        (),
        ("Agnes Moor lit it.",),
        "point.md",
        "line 3",
    )


@pytest.fixture(scope="module")
def rows():
    return [json.loads(line) for line in EXAMPLE.read_text(encoding="utf-8").splitlines()]


def test_every_passage_stands_in_an_expected_document_and_each_of_these_has_one(rows):
    documents = load_documents(EXAMPLE.parent / "handbook").documents
    texts = {document.id: normalize_text(document.text) for document in documents}
    for row in rows:
        assert set(row["expected"]) <= texts.keys(), row["question"]
        found = [
            {name for name in row["expected"] if normalize_text(span) in texts[name]}
            for span in row["span"]
        ]
        assert all(found), row["question"]
        assert set().union(*found) == set(row["expected"]), row["question"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "it is not JSON"),
        ("[1]", "expected an object"),
        ('{"expected": ["a.md"]}', "as 'question', it is missing"),
        ('{"question": " ", "expected": ["a.md"]}', "as 'question'"),
        ('{"question": "Who?"}', "got neither"),
        ('{"question": "Who?", "expected": [1]}', "as 'expected', got [1]"),
        ('{"question": "Who?", "expected": "a", "tree": 3}', "as 'tree', got 3"),
        ('{"question": "Who?", "expcted": "a"}', "unknown key 'expcted'; did you mean 'expected'?"),
    ],
)
def test_a_mistake_names_file_line_and_what_to_write(tmp_path, line, reason):
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, f'{{"question": "Who?", "expected": "a"}}\n{line}\n')
    assert reason in str(caught.value)
    assert "golden.jsonl, line 2" in str(caught.value)
    assert "a line reads {" in str(caught.value)
