"""Answers that are cut off or too long: kept in part, or requested differently."""

import numpy as np
import pytest
from support.openai_server import Fault
from support.word_counter import WordCounter
from support.workshop import prose

from raptor_core.checks.junk import find_unfit_reason
from raptor_core.identity import CUT_OFF, marked_content_key
from raptor_core.models.summarizing.base import FailedSummary, SummaryRequest
from raptor_core.models.summarizing.chat import ChatSummarizer, cut_to_whole_sentences
from raptor_core.retrying import RetryPolicy
from raptor_core.settings import preset
from raptor_core.settings.models import SummarizerSettings

QUICK = RetryPolicy(max_retries=2, base_seconds=0.001)
CUT = "The lamp was lit in May. The keeper came by boat. The storm then broke the"
REQUEST = SummaryRequest(
    "key", "node", ("The lamp was lit.", "The keeper came."), (4, 3), np.eye(2, dtype=np.float32)
)


def answer_of(server, keep=None, **values):
    settings = SummarizerSettings(kind="openai", base_url=server.base_url, **values)
    chat = ChatSummarizer(settings, WordCounter(), QUICK, keep=keep, unfit=find_unfit_reason)
    (answer,) = chat.summarize([REQUEST])
    return answer


def test_a_cut_answer_is_kept_up_to_its_last_whole_sentence_and_marked(server):
    server.fail(Fault.answering(CUT, "length"))
    kept = {}
    answer = answer_of(server, kept.__setitem__)
    assert answer.text == "The lamp was lit in May. The keeper came by boat."
    assert (answer.mark, answer.usage.retries, server.n_requests) == (CUT_OFF, 0, 1)
    assert kept == {marked_content_key("key", CUT_OFF): answer.text}


def test_an_answer_that_is_too_long_by_our_count_is_kept_up_to_a_sentence(server):
    sentences = "The sea was calm all day. The oil ran low at dusk. A gull sat on the rail."
    server.fail(Fault.answering(f"{sentences} The boat came at noon."))
    answer = answer_of(server, max_tokens=24)
    assert answer.text == sentences
    assert answer.mark == CUT_OFF


def test_a_cut_answer_without_a_whole_sentence_is_requested_again(server):
    server.fail(Fault.truncated())
    answer = answer_of(server)
    assert (answer.mark, answer.usage.retries) == ("", 1)


def test_a_loop_that_was_cut_off_is_never_kept(server):
    server.fail(Fault.answering("The prince saw the girl and danced with her. " * 8, "length"))
    answer = answer_of(server)
    assert answer.text.startswith("In short:")


def test_a_request_whose_answer_was_unusable_is_never_sent_again_as_it_was(server):
    server.fail(Fault.answering(""), times=None)
    assert isinstance(answer_of(server), FailedSummary)
    bodies = [str(body) for body in server.bodies]
    assert len(set(bodies)) == len(bodies) == 3
    assert [body["temperature"] for body in server.bodies] == [0.0, 0.3, 0.6]


def test_long_answers_reach_the_papers_length_with_one_call(server):
    server.answer = lambda _body: prose(40)
    paper = preset("paper").summarizer.model_dump(exclude={"base_url", "kind"})
    answer = answer_of(server, **paper)
    assert server.n_requests == 1
    assert 120 <= WordCounter().count([answer.text])[0] <= 150  # table 10: 131 tokens
    assert answer.text.endswith(".")


@pytest.mark.parametrize(
    ("text", "is_cut", "kept"),
    [
        ("One sentence. Another one.", True, "One sentence. Another one."),
        ("One sentence. Another", True, "One sentence."),
        ("No end at", True, ""),
        ("- first item\n- second item\n- thi", True, "- first item\n- second item"),
        ("他来了。他说话。他又", True, "他来了。他说话。"),
        ("One sentence. Another without a mark", False, "One sentence. Another without a mark"),
    ],
)
def test_whole_sentences_end_where_a_sentence_ends(text, is_cut, kept):
    assert cut_to_whole_sentences(text, WordCounter(), 100, is_cut=is_cut) == kept
