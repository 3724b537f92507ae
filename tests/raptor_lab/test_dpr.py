"""DPR without and with the tree, by tiny encoders made here."""

import numpy as np
import pytest
from support.clusterers import PAIRS
from support.evaluation_sets import records, write_lines
from support.hashing import HashingEmbedder
from support.tiny_models import build_tiny_dpr

from raptor_core.evaluation.golden_file import Question
from raptor_core.settings import Settings
from raptor_core.tree.components import Components
from raptor_lab.comparison.compare import compare
from raptor_lab.comparison.index import open_or_build_index
from raptor_lab.comparison.systems import make_system
from raptor_lab.datasets.load import load_dataset
from raptor_lab.readers import ReaderInput
from raptor_lab.unifiedqa import unifiedqa_prompt

pytestmark = [pytest.mark.slow, pytest.mark.rare]

SETTINGS = {
    "chunking": {"max_tokens": 24},
    "components": PAIRS,
    "tree": {"max_layers": 2},
}


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("village")
    dataset = load_dataset(write_lines(folder / "village.jsonl", records()))
    components = Components(Settings.model_validate(SETTINGS), embedder=HashingEmbedder())
    with open_or_build_index(dataset, components, folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    names = ("DPRQuestionEncoder", "DPRContextEncoder")
    return tuple(str(build_tiny_dpr(folder / name, name)) for name in names)


def encoded(model, class_name, *texts):
    """The vector at [CLS], by the classes of transformers and nothing of ours."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    read = tokenizer(*texts, truncation=True, max_length=64, return_tensors="pt")
    encoder = getattr(transformers, class_name).from_pretrained(model).eval()
    return encoder(input_ids=read["input_ids"]).pooler_output[0].detach().numpy()


@pytest.mark.slow
@pytest.mark.rare
def test_nodes_are_ranked_by_the_inner_product_of_two_encoders(index, encoders):
    names = ("dpr", "collapsed-dpr")
    found = compare(
        index, [make_system(n, encoders) for n in names], [4000], pooled=True, keep_contexts=True
    )
    question = index.dataset.questions[0]
    asked = encoded(encoders[0], "DPRQuestionEncoder", question.text)
    nodes = index.store.nodes()
    scores = [
        asked @ encoded(encoders[1], "DPRContextEncoder", n.metadata.get("title", ""), n.text)
        for n in nodes
    ]
    ranked = [nodes[at] for at in np.argsort(np.negative(scores), kind="stable")]
    contexts = {s.system: s.context for s in found.scores if s.question == question}
    assert contexts["collapsed-dpr"] == "\n\n".join(node.text for node in ranked)
    leaves = [node.text for node in ranked if node.is_leaf]
    assert contexts["dpr"].split() == "\n\n".join(leaves).split()
    shares = {line.system: set(line.layers) for line in found.rows}
    assert shares == {"dpr": {0}, "collapsed-dpr": {0, 1}}


@pytest.mark.slow
def test_a_question_is_asked_of_its_own_document_within_the_budget(index, encoders):
    found = compare(index, [make_system("collapsed-dpr", encoders)], [30], keep_contexts=True)
    by_id = {document.id: document.text for document in index.dataset.documents}
    for score in found.scores:
        assert 0 < score.n_tokens <= 30
        assert set(score.context.split()) <= set(by_id[score.question.document].split())


WHEEL = Question("q", "Who bought the wheel?", options=("A smith.", "A king."), gold=0)


def test_the_prompt_has_the_question_first_in_lower_case():
    prompt = unifiedqa_prompt(ReaderInput(WHEEL, "The wheel\nwas sold."))
    assert prompt == "who bought the wheel? \\n (a) a smith. (b) a king. \\n the wheel was sold."
    assert unifiedqa_prompt(ReaderInput(Question("q", "Who?"), "")) == "who?"
