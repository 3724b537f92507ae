"""Strategies side by side on small trees."""

from dataclasses import replace

import pytest
from support.clusterers import PAIRS
from support.evaluation_sets import records, write_lines
from support.hashing import HashingEmbedder
from support.trees import leaf, summary

from raptor_core.documents.base import Document
from raptor_core.errors import SettingsError
from raptor_core.evaluation.golden_file import Question
from raptor_core.retrieval import Query, Retrieval
from raptor_core.settings import Settings
from raptor_core.store.base import Hit
from raptor_core.tree.components import Components
from raptor_lab.comparison.compare import compare
from raptor_lab.comparison.contexts import Context
from raptor_lab.comparison.index import index_key, open_or_build_index
from raptor_lab.comparison.measures import (
    content_recall,
    document_recall_of_first,
    evidence_recall,
    measure_answering_documents,
)
from raptor_lab.comparison.systems import make_system
from raptor_lab.datasets.base import Dataset
from raptor_lab.datasets.load import load_dataset

SETTINGS = {
    "chunking": {"max_tokens": 24},
    "components": PAIRS,
    "tree": {"max_layers": 2},
}


def components(**settings):
    return Components(Settings.model_validate(SETTINGS | settings), embedder=HashingEmbedder())


@pytest.fixture
def village(tmp_path):
    return load_dataset(write_lines(tmp_path / "village.jsonl", records()))


def run(dataset, cache, *names, budgets=(30, 4000), given=None, **options):
    with open_or_build_index(dataset, given or components(), cache) as index:
        return compare(index, [make_system(name) for name in names], budgets, **options)


def figure(found, system, budget, measure):
    (line,) = [i for i in found.rows if (i.system, i.budget_tokens) == (system, budget)]
    return line.figures[measure]


def test_evidence_recall_counts_runs_of_four_words():
    evidence = ["She sold the wheel to a smith."]  # four runs of four words
    assert evidence_recall(evidence, "She sold the wheel, then slept.") == 0.25
    assert evidence_recall(evidence, "SHE SOLD THE\n\nWHEEL TO a smith!") == 1
    assert evidence_recall([*evidence, "two crabs"], "of two crabs and a smith") == 0.2
    assert evidence_recall(["to a smith"], "It went to a smith in Osby.") == 1
    assert evidence_recall(["..."], "to a smith") == 0


def test_a_document_is_found_with_a_node_of_its_own():
    named = [leaf("a"), summary("s", ["a"])]
    assert measure_answering_documents(["d"], named) == {"document_hit": 1}
    assert measure_answering_documents(["other"], named) == {"document_hit": 0}
    assert measure_answering_documents(["d", "other"], named) == {
        "document_hit": 1,
        "document_recall": 0.5,
    }
    assert measure_answering_documents(["d"], []) == {"document_hit": 0}


def test_content_recall_leave_out_common_ones_and_the_questions():
    asked = Question("q", "Who bought the wheel?", answers=("The wheel's smith", "Aud of Bergen"))
    assert content_recall(asked, "a smith and the wheel") == 0.5  # of "s" and "smith"
    assert content_recall(asked, "Aud lived in Bergen") == 1
    assert content_recall(asked, "wheel") == 0
    assert content_recall(Question("q", "Who was it?", answers=("It was.",)), "it was") is None


@pytest.mark.slow
def test_everything_is_found_where_everything_fits(village, tmp_path):
    found = run(village, tmp_path, "collapsed@0", "collapsed")
    assert figure(found, "collapsed", 4000, "evidence_recall").mean.value == 1
    assert figure(found, "collapsed@0", 4000, "evidence_recall").n_questions == 2
    assert "content_recall" not in found.measures
    assert all(item.n_tokens <= item.budget_tokens for item in found.scores)
    leaves, everything = (i for i in found.rows if i.budget_tokens == 4000)
    assert leaves.layers == {0: 1.0}
    assert sum(everything.layers.values()) == pytest.approx(1)
    assert max(everything.layers) > 0


@pytest.mark.slow
def test_the_first_way_is_what_the_others_are_compared_with(village, tmp_path):
    found = run(village, tmp_path, "collapsed@0", "collapsed@1-2", "traversal", budgets=[4000])
    assert figure(found, "collapsed@0", 4000, "evidence_recall").difference is None
    worse = figure(found, "collapsed@1-2", 4000, "evidence_recall")
    assert worse.difference.interval.value == pytest.approx(worse.mean.value - 1)
    with pytest.raises(SettingsError, match="each strategy once"):
        run(village, tmp_path, "collapsed", "collapsed")
    with pytest.raises(SettingsError, match="each budget once"):
        run(village, tmp_path, "collapsed", budgets=[])


def test_a_layer_is_searched_alone_and_a_walk_is_cut(village, tmp_path):
    found = run(village, tmp_path, "collapsed@1", "traversal@0", "traversal@0-1", budgets=[9000])
    by_way = {line.system: set(line.layers) for line in found.rows}
    assert by_way == {"collapsed@1": {1}, "traversal@0": {0}, "traversal@0-1": {0, 1}}


def test_the_best_documents_come_first():
    scores = {"x": 0.2, "y": 0.9}
    hits = [Hit(replace(leaf(name), documents=(name,)), score) for name, score in scores.items()]
    query = Query("flat")
    context = Context.of(Retrieval("?", query, tuple(hits), 2, 2, 0))
    assert context.documents == ("y", "x")
    assert document_recall_of_first(["y", "z"], context.documents)["document_recall_at_2"] == 0.5
    assert document_recall_of_first(["y"], context.documents) == {}


def test_trees_are_built_once_and_finished_ones_are_kept(village, tmp_path):
    built_counts = []
    for _ in range(2):
        with open_or_build_index(
            village, components(), tmp_path, lambda *n: built_counts.append(n)
        ) as index:
            assert len(index.manifests) == 3
    assert built_counts == [(3, 3)]
    key = index_key(village, components())
    assert key != index_key(village, components(tree={"max_layers": 1}))
    assert key != index_key(village, Components(components().settings))
    renamed = Dataset("other", village.documents, village.questions)
    assert key == index_key(renamed, components())
    changed = Dataset("village", (*village.documents[1:], Document("mill", "A.")), ())
    assert key != index_key(changed, components())
