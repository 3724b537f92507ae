"""UnifiedQA as a reader, by a tiny T5 made here."""

import pytest
from support.tiny_models import build_tiny_t5

from raptor_core.evaluation.golden_file import Question
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
