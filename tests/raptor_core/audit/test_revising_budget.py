"""Budget that ends while summaries are judged: no paid answer is lost."""

import pytest

from raptor_core.audit.base import SentenceFinding
from raptor_core.audit.revising import RevisingSummarizer
from raptor_core.errors import BudgetError
from raptor_core.models.money.usage import Usage
from raptor_core.models.summarizing.base import Summary, SummaryRequest

N = 5


class Bounded:
    """Summarizes until its calls are used up."""

    fingerprint = "bounded"

    def __init__(self, n_calls):
        self.left = n_calls

    def summarize(self, requests):
        for request in requests:
            if not self.left:
                raise BudgetError("no call is left")
            self.left -= 1
            text = "better" if request.objections else f"text {request.key}"
            yield Summary(request.key, text, Usage(calls=1))


class Doubting:
    """Finds the first summaries of these keys unsupported, as long as it may judge."""

    name = version = "doubting"

    def __init__(self, *wrong, n_calls=99):
        self.wrong = wrong
        self.left = n_calls

    def judge(self, summaries):
        if not self.left:
            raise BudgetError("no call is left")
        self.left -= 1
        return [
            [SentenceFinding(s.node.id, s.node.text, "unsupported", 0.0)]
            if s.node.id in self.wrong and s.node.text != "better"
            else []
            for s in summaries
        ]


def summarized(n_calls, judge):
    """Texts by key before the budget ended, and all calls; whether it ended."""
    requests = [SummaryRequest(str(at), "node", ("a", "b"), (1, 1), None) for at in range(N)]
    found = {}
    usage = Usage()
    ended = False
    try:
        for answer in RevisingSummarizer(Bounded(n_calls), judge).summarize(requests):
            assert answer.key not in found
            found[answer.key] = answer.text
            usage += answer.usage
    except BudgetError:
        ended = True
    return found, usage.calls, ended


@pytest.mark.parametrize("n_calls", range(N + 3))
def test_every_paid_call_is_told_wherever_the_calls_end(n_calls):
    found, calls, ended = summarized(n_calls, Doubting("1", "3"))
    assert calls == n_calls if ended else calls == N + 2
    assert ended == (n_calls < N + 2)
    assert len(found) == min(n_calls, N)
    assert (found.get("1") == "better") == (n_calls > N)
    assert (found.get("3") == "better") == (n_calls > N + 1)


@pytest.mark.parametrize(("n_judged", "calls"), [(0, N), (1, N + 2)])
def test_what_could_not_be_judged_any_more_is_kept(n_judged, calls):
    found, counted, ended = summarized(99, Doubting("1", "3", n_calls=n_judged))
    assert (len(found), counted, ended) == (N, calls, True)
