"""UnifiedQA as a reader, by a tiny T5 made here."""

import pytest
from support.tiny_models import build_tiny_t5

from raptor_core.errors import MissingExtraError, ModelError
from raptor_core.evaluation.golden_file import Question
from raptor_lab import transformer
from raptor_lab.readers import Ask
from raptor_lab.unifiedqa import UnifiedQa, unifiedqa_prompt


@pytest.fixture
def one_thread():
    """Threads that wait for one another cost a tiny model more than it computes."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


WHEEL = Question("q", "Who bought the wheel?", options=("A smith.", "A king."), gold=0)


def test_the_prompt_has_the_question_first_in_lower_case():
    prompt = unifiedqa_prompt(Ask(WHEEL, "The wheel\nwas sold."))
    assert prompt == "who bought the wheel? \\n (a) a smith. (b) a king. \\n the wheel was sold."
    assert unifiedqa_prompt(Ask(Question("q", "Who?"), "")) == "who?"


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_answers_do_not_depend_on_the_batch_and_stop_reading_at_512_tokens(tmp_path):
    reader = UnifiedQa(str(build_tiny_t5(tmp_path)))
    asks = [Ask(WHEEL, "the smith paid " * n) for n in (1, 200, 3, 40, 5, 9, 2, 7, 11, 4)]
    together = dict(reader.read(asks))
    assert sorted(together) == list(range(10))
    assert len(set(together.values())) > 1
    for at in (0, 1, 9):
        assert dict(reader.read([asks[at]])) == {0: together[at]}
    longer = Ask(WHEEL, asks[1].context + "and a king came " * 99)
    assert dict(reader.read([longer])) == {0: together[1]}
    assert reader.fingerprint != UnifiedQa().fingerprint


@pytest.mark.slow
def test_a_model_that_is_not_there_or_needs_a_package_is_an_error(tmp_path, monkeypatch):
    with pytest.raises(ModelError, match="Check --reader unifiedqa:MODEL"):
        list(UnifiedQa(str(tmp_path / "none")).read([Ask(WHEEL, "")]))
    build_tiny_t5(tmp_path)
    for path in tmp_path.glob("*token*"):
        path.unlink()
    (tmp_path / "spiece.model").write_bytes(b"no model of sentencepiece")
    monkeypatch.setattr(transformer, "find_spec", lambda _name: None)
    with pytest.raises(MissingExtraError, match=r"raptor-assets\[lab\]"):
        list(UnifiedQa(str(tmp_path)).read([Ask(WHEEL, "")]))
