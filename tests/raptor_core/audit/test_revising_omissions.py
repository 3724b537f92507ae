"""Revision of summaries that leave children out or copy one."""

from raptor_core.audit.revising import RevisingSummarizer
from raptor_core.models.summarizing.base import Summary, SummaryRequest
from raptor_core.models.summarizing.prompts import objection_lines

LAMP = "The lamp was lit in 1872 by Agnes Moor and burned rape oil until paraffin came."
STORM = "In the storm of January the sea broke the windows and the keeper was drowned."
SCHOOL = "The village school taught forty children, and its bell was cast in Bristol."
FAIR = "Agnes Moor lit the lamp, a January storm broke windows, forty children went to school."


class Content:
    """Judge that supports every sentence."""

    name = version = "content"

    def judge(self, summaries):
        return [[] for _ in summaries]


class Copying:
    """Copies the first child until it is told what is missing; then it writes ``second``."""

    fingerprint = "copying"

    def __init__(self, second):
        self.second = second
        self.requests = []

    def summarize(self, requests):
        for request in requests:
            self.requests.append(request)
            yield Summary(request.key, self.second if request.omissions else request.texts[0])


def revised(second):
    inner = Copying(second)
    request = SummaryRequest("k", "node", (LAMP, STORM, SCHOOL), (9, 9, 9), None)
    (answer,) = RevisingSummarizer(inner, Content()).summarize([request])
    return answer.text, inner.requests


def test_a_copy_of_one_child_is_requested_again_with_the_beginnings_of_the_others():
    text, requests = revised(FAIR)
    assert text == FAIR
    assert requests[1].omissions == (
        "In the storm of January the sea broke the windows and the",
        "The village school taught forty children, and its bell was cast in",
    )
    assert "Say something of each of them" in objection_lines((), requests[1].omissions)


def test_a_second_answer_that_is_no_better_is_not_kept():
    assert revised(STORM)[0] == LAMP


def test_a_fair_summary_is_kept_at_once():
    inner = Copying(FAIR)
    request = SummaryRequest("k", "node", (FAIR, FAIR.upper()), (9, 9), None)
    list(RevisingSummarizer(inner, Content()).summarize([request]))
    assert len(inner.requests) == 2  # a copy of one of two equal children leaves out the other
