"""Systems that only evaluation has: root, beginnings, fused paragraphs."""

import numpy as np
import pytest
from support.clusterers import PAIRS, clusterer_of
from support.clustering_cases import tokens
from support.evaluation_sets import records, write_lines
from support.hashing import HashingEmbedder

from raptor_core.settings import Settings
from raptor_core.store.base import Where
from raptor_core.tree.components import Components
from raptor_lab.clustering.gmm import compute_responsibilities
from raptor_lab.comparison.contexts import QuestionBatch
from raptor_lab.comparison.index import open_or_build_index
from raptor_lab.comparison.systems import make_system
from raptor_lab.datasets.load import load_dataset

SETTINGS = {
    "chunking": {"max_tokens": 24},
    "components": PAIRS,
    "tree": {"max_layers": 2},
}


@pytest.fixture
def index(tmp_path):
    rows = records()
    rows[0]["abstract"] = "We study a mill and what became of its wheel."
    dataset = load_dataset(write_lines(tmp_path / "village.jsonl", rows))
    components = Components(Settings.model_validate(SETTINGS), embedder=HashingEmbedder())
    with open_or_build_index(dataset, components, tmp_path / "cache") as opened:
        yield opened


def asked(index, at=0, *, pooled=False):
    question = index.dataset.questions[at]
    vectors = index.components.embedder.embed_queries([question.text])
    return QuestionBatch([question], vectors, index.filter_of(question, pooled=pooled))


@pytest.mark.slow
def test_title_and_abstract_are_cut_at_the_budget(index):
    system = make_system("title-abstract")
    (whole,) = system.make_contexts(index, asked(index), 400)
    assert whole.text == "Mills\n\nWe study a mill and what became of its wheel."
    assert index.components.counter.count([whole.text]) == [whole.n_tokens]
    (cut,) = system.make_contexts(index, asked(index), 4)
    assert (cut.n_tokens, whole.text.startswith(cut.text)) == (4, True)
    assert system.make_contexts(index, asked(index, 1), 400)[0].text == ""
    assert system.make_contexts(index, asked(index, pooled=True), 400)[0].n_tokens == 0


@pytest.mark.slow
def test_the_whole_document_is_read_from_its_beginning_up_to_the_budget(index):
    system = make_system("document")
    mill = next(d for d in index.dataset.documents if d.id == "mill")
    (whole,) = system.make_contexts(index, asked(index), 4000)
    assert whole.text == mill.text
    (cut,) = system.make_contexts(index, asked(index), 9)
    assert (cut.n_tokens, mill.text.startswith(cut.text)) == (9, True)
    assert system.make_contexts(index, asked(index, pooled=True), 400)[0].n_tokens == 0


@pytest.mark.slow
def test_paragraph_fusion_ranks_whole_paragraphs_by_both_searches(index):
    system = make_system("paragraph-fusion")
    (found,) = system.make_contexts(index, asked(index, pooled=True), 4000)
    texts = {document.text for document in index.dataset.documents}
    assert {node.text for node in found.nodes} == texts
    assert all(len(parts_of_chunks(index, node.tree)) > 1 for node in found.nodes)
    assert found.nodes[0].tree == "mill"
    (alone,) = system.make_contexts(index, asked(index), found.nodes[0].n_tokens)
    assert [node.id for node in alone.nodes] == [found.nodes[0].id]
    assert system.make_contexts(index, asked(index), 5)[0].nodes == ()


def parts_of_chunks(index, tree):
    """The chunks of a tree, which the paragraphs of this baseline are not cut into."""
    return index.store.nodes(Where(trees=(tree,), layers=(0,)))


def clustered(method, vectors, n_tokens, **changes):
    return clusterer_of(method, **changes).cluster(vectors, n_tokens)


def test_windows_follow_the_order_of_the_layer():
    clusters = clustered("contiguous", np.eye(22, dtype=np.float32), tokens(22))
    expected = (range(7), range(7, 14), range(14, 20), range(20, 22))
    assert clusters.members == tuple(map(tuple, expected))


def test_windows_shorten_to_keep_the_budget():
    clusters = clustered("contiguous", np.eye(6, dtype=np.float32), tokens(6, 100), max_tokens=300)
    assert clusters.members == ((0, 1, 2), (3, 4, 5))


def test_a_component_for_every_ten_nodes_and_memberships_that_sum_to_one():
    points = np.random.default_rng(0).normal(size=(60, 16))
    found = compute_responsibilities(points, 224)
    assert found.shape == (6, 60)
    np.testing.assert_allclose(found.sum(axis=0), 1)
