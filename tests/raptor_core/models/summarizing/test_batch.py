"""Summaries by the batch endpoint: all arrive at its price, and a killed run pays nothing twice."""

import numpy as np
import pytest
from support.openai_batches import FakeBatches
from support.openai_server import Fault
from support.word_counter import WordCounter

from raptor_core.errors import BudgetError, EndpointError
from raptor_core.models.money.ledger import Ledger
from raptor_core.models.money.usage import SUMMARIES, estimate_summary_cost
from raptor_core.models.summarizing import batch, make_summarizer
from raptor_core.models.summarizing.base import Summary, SummaryRequest
from raptor_core.models.summarizing.batch import BatchSummarizer
from raptor_core.settings import BudgetSettings, PriceSettings, Settings, SummarizerSettings

PRICES = {"small": PriceSettings(input=1.0, output=2.0)}


class Killed(BaseException):
    """Ends a run at a given place."""


@pytest.fixture(autouse=True)
def poll_at_once(monkeypatch):
    monkeypatch.setattr(batch, "POLL_SECONDS", 0.001)


@pytest.fixture
def batches(server):
    return FakeBatches(server)


def requested(n):
    texts = (f"Child one of {n} speaks.", f"Child two of {n} answers.")
    return SummaryRequest(f"key {n}", f"node {n}", texts, (6, 6), np.eye(2, dtype=np.float32))


def requests(n):
    return [requested(i) for i in range(n)]


def summarizer(server, ledger=None, kept=None, **values):
    settings = SummarizerSettings(
        kind="openai",
        base_url=server.base_url,
        api_key_env="PLANTED_KEY",
        **{
            "model": "small",
            "batch_from": 4,
            "max_retries": 1,
            **values,
        },
    )
    return make_summarizer(
        settings,
        WordCounter(),
        "",
        ledger=ledger,
        keep=None if kept is None else kept.__setitem__,
    )


def chats(server):
    return [seen for seen in server.seen if seen.path.endswith("/chat/completions")]


def test_a_batch_gives_every_summary_at_half_the_price(server, batches):
    batches.polls, kept, ledger = 3, {}, Ledger(prices=PRICES)
    answers = list(summarizer(server, ledger=ledger, kept=kept).summarize(requests(9)))
    assert {answer.key for answer in answers} == {f"key {n}" for n in range(9)}
    assert all(isinstance(answer, Summary) for answer in answers)
    assert kept == {answer.key: answer.text for answer in answers}
    assert len(chats(server)) == 1  # which finds a wrong key, and refused fields
    spent, first = ledger.spent(SUMMARIES), answers[0].usage
    full = (spent.prompt_tokens * 1.0 + spent.completion_tokens * 2.0) / 1e6
    assert (spent.calls, spent.usd) == (9, pytest.approx((full + first.usd) / 2))
    assert ledger.spendings[0].lost_usage.calls == 0


def test_what_a_batch_sends_is_what_is_sent_at_once(server, batches):
    list(summarizer(server).summarize(requests(4)))
    list(summarizer(server, batch_from=0).summarize(requests(4)))
    streamed = {"stream": True, "stream_options": {"include_usage": True}}
    first, *single = chats(server)
    by_text = {str(body["messages"]): {**body, **streamed} for body in batches.answered}
    by_text[str(first.body["messages"])] = first.body
    assert by_text == {str(seen.body["messages"]): seen.body for seen in single}
    assert summarizer(server).fingerprint == summarizer(server, batch_from=0).fingerprint


FAULTS = {
    "error": Fault.error(500),
    "left out": Fault.cut_connection(),
    "truncated": Fault.truncated(),
    "refused": Fault.refusing(),
    "empty": Fault.answering(""),
    "too long": Fault.answering("word " * 300),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_a_batch_does_not_give_is_asked_for_at_once(server, batches, name):
    batches.fault = lambda body: FAULTS[name] if "of 3 speaks" in str(body) else None
    ledger = Ledger(prices=PRICES)
    answers = list(summarizer(server, ledger=ledger).summarize(requests(6)))
    assert sum(isinstance(answer, Summary) for answer in answers) == 6
    billed = name not in {"error", "left out"}
    assert [seen.body["temperature"] for seen in chats(server)] == [0.0, 0.3 if billed else 0.0]
    assert ledger.spent().calls == 6 + billed
    total = sum((answer.usage.usd for answer in answers), 0.0)
    assert total == pytest.approx(ledger.spent().usd)


def run_until_killed(server, batches, where, n_requests=6):
    """A run that dies once the endpoint has done its part of ``where``; its first call is lost."""
    made = summarizer(server)
    assert isinstance(made, BatchSummarizer)
    client = made._client
    done = getattr(client, where)

    def die(*args):
        done(*args)
        raise Killed

    setattr(client, where, die)
    with pytest.raises(Killed):
        list(made.summarize(requests(n_requests)))


@pytest.mark.parametrize("where", ["create", "refresh", "answers"])
def test_a_killed_run_finds_its_batch_again_and_pays_nothing_twice(server, batches, where):
    run_until_killed(server, batches, where)
    ledger = Ledger(BudgetSettings(usd=0.0), PRICES)  # what is bought needs no budget
    wanted = requests(6)[:0:-1]
    answers = list(summarizer(server, ledger).summarize(wanted))
    assert sum(isinstance(answer, Summary) for answer in answers) == 5
    assert (len(batches.batches), len(batches.answered), len(chats(server))) == (1, 5, 1)
    assert ledger.spent().calls == 5


@pytest.mark.slow
def test_an_answer_that_was_lost_on_the_way_begins_no_second_batch(server, batches):
    """The batch is begun, and the connection ends before the client hears of it."""
    batches.loses = 1
    assert len(list(summarizer(server).summarize(requests(5)))) == 5
    assert len(batches.batches) == 1
    assert batches.loses == 0


def test_the_budget_bounds_a_batch(server, batches):
    ledger, answers = Ledger(BudgetSettings(calls=5), PRICES), []
    with pytest.raises(BudgetError):
        answers.extend(summarizer(server, ledger=ledger).summarize(requests(8)))
    assert len(batches.answered) + len(chats(server)) == 5


def test_the_forecast_has_half_the_price_from_that_many_on():
    values = {"kind": "openai", "model": "small", "batch_from": 10}
    prices = {"small": {"input": 1.0, "output": 2.0}}
    settings = Settings.model_validate({"summarizer": values, "prices": prices})
    few, many = (estimate_summary_cost(n, 1000 * n, 100 * n, settings).usd for n in (9, 10))
    assert (few / 9, many / 10) == (pytest.approx(0.0012), pytest.approx(0.0006))


def test_a_failed_batch_reports_its_error_and_the_next_run_submits_a_new_one(server, batches):
    batches.status = "failed"
    for _ in range(2):
        with pytest.raises(EndpointError, match=r"line 1 is no request.*batch_from = 0"):
            list(summarizer(server).summarize(requests(5)))
    assert len(batches.batches) == 2
