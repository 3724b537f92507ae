"""Judge by inference, with a tiny cross-encoder whose weights the test sets."""

import pytest
from support.cross_encoder import make_cross_encoder
from support.trees import leaf, summary

from raptor_core.audit import make_judge
from raptor_core.audit.base import AuditedSummary
from raptor_core.errors import ModelError
from raptor_core.settings import AuditSettings

pytestmark = [pytest.mark.slow, pytest.mark.rare]

LABELS = {0: "contradiction", 1: "entailment", 2: "neutral"}
CHILDREN = (leaf("a", "the pump failed"), leaf("b", "the bridge is open"))


def cross_encoder(folder, favoured, labels=LABELS):
    """One whose head always prefers one label."""

    def prefer(model):
        model.classifier.weight.zero_()
        model.classifier.bias.zero_()
        model.classifier.bias[favoured] = 4.0

    return make_cross_encoder(folder, labels, prefer)


def judged(model, text="The pump failed. The bridge is closed."):
    judge = make_judge(AuditSettings(judge="nli", model=model))
    (found,) = judge.judge([AuditedSummary(summary("s", "ab", text=text), CHILDREN)])
    return found


@pytest.mark.parametrize(
    ("favoured", "judgement", "reason"),
    [
        (1, "supported", ""),
        (0, "unsupported", "a child contradicts it"),
        (2, "unsupported", "no child entails it"),
    ],
)
def test_a_sentence_is_as_supported_as_a_child_entails_it(tmp_path, favoured, judgement, reason):
    found = judged(cross_encoder(tmp_path / "model", favoured))
    assert [finding.judgement for finding in found] == [judgement] * 2
    assert {finding.reason for finding in found} == {reason}
    assert found[0].score == pytest.approx(0.965 if favoured == 1 else 0.018, abs=0.002)
    assert [finding.evidence_child for finding in found] == ["a", "b"]
    assert found[0].evidence == "the pump failed"


def test_labels_are_found_wherever_they_stand(tmp_path):
    model = cross_encoder(tmp_path / "model", 0, {0: "ENTAILMENT", 1: "neutral"})
    assert judged(model)[0].judgement == "supported"


def test_a_model_that_is_none_for_inference_is_named(tmp_path):
    model = cross_encoder(tmp_path / "model", 0, {0: "good", 1: "bad"})
    with pytest.raises(ModelError, match="not an inference model: it has the labels good, bad"):
        judged(model)
    with pytest.raises(ModelError, match=r"'/nosuch/model' cannot be loaded.*audit\.model"):
        judged("/nosuch/model")


def test_without_children_or_sentences_no_model_is_loaded():
    judge = make_judge(AuditSettings(judge="nli", model="/nosuch/model"))
    alone = AuditedSummary(summary("s", "", text="The pump failed."), ())
    blank = AuditedSummary(summary("t", "ab", text=" "), CHILDREN)
    found = judge.judge([alone, blank])
    assert [[finding.judgement for finding in of_one] for of_one in found] == [["unsupported"], []]


def test_another_model_is_another_version():
    versions = {make_judge(AuditSettings(judge="nli", model=m)).version for m in "ab"}
    assert len(versions) == 2
