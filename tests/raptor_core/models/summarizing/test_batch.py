"""Summaries by the batch endpoint: all arrive at its price, and a killed run pays nothing twice."""

import logging
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from support import paid_build
from support.openai_batches import FakeBatches
from support.openai_server import FakeOpenAI, Fault
from support.paid_build import DOCUMENTS, make_components, paid_settings
from support.stores import PROCESS_PATH
from support.word_counter import WordCounter

from raptor_core.errors import BudgetError, EndpointError
from raptor_core.models.money.ledger import Ledger
from raptor_core.models.money.usage import SUMMARIES, summary_cost
from raptor_core.models.summarizing import make_summarizer
from raptor_core.models.summarizing.base import Summary, SummaryRequest
from raptor_core.models.summarizing.batch import BatchSummarizer
from raptor_core.settings import BudgetSettings, PriceSettings, Settings, SummarizerSettings
from raptor_core.tree.build import build_tree

PRICES = {"small": PriceSettings(input=1.0, output=2.0)}


SECRET = "sk-planted-batch"


class Killed(BaseException):
    """Ends a run at a given place."""


@pytest.fixture
def server():
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture
def batches(server):
    return FakeBatches(server)


def requested(n):
    texts = (f"Child one of {n} speaks.", f"Child two of {n} answers.")
    return SummaryRequest(f"key {n}", f"node {n}", texts, (6, 6), np.eye(2, dtype=np.float32))


def requests(n):
    return [requested(i) for i in range(n)]


def summarizer(server, folder=None, ledger=None, kept=None, **values):
    settings = SummarizerSettings(
        kind="openai",
        base_url=server.base_url,
        api_key_env="PLANTED_KEY",
        **{
            "model": "small",
            "batch_from": 4,
            "batch_poll_seconds": 0.001,
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
        batches=folder,
    )


def chats(server):
    return [seen for seen in server.seen if seen.path.endswith("/chat/completions")]


def test_a_batch_gives_every_summary_at_half_the_price(server, batches):
    batches.polls, kept, ledger = 3, {}, Ledger(prices=PRICES)
    answers = list(summarizer(server, ledger=ledger, kept=kept).summarize(requests(9)))
    assert {answer.key for answer in answers} == {f"key {n}" for n in range(9)}
    assert all(isinstance(answer, Summary) for answer in answers)
    assert kept == {answer.key: answer.text for answer in answers}
    assert chats(server) == []
    spent = ledger.spent(SUMMARIES)
    full = (spent.prompt_tokens * 1.0 + spent.completion_tokens * 2.0) / 1e6
    assert (spent.calls, spent.usd) == (9, pytest.approx(full / 2))
    assert ledger.spendings[0].lost.calls == 0


def test_what_a_batch_sends_is_what_is_sent_at_once(server, batches):
    list(summarizer(server).summarize(requests(4)))
    list(summarizer(server, batch_from=0).summarize(requests(4)))
    streamed = {"stream": True, "stream_options": {"include_usage": True}}
    by_text = {str(body["messages"]): {**body, **streamed} for body in batches.answered}
    assert by_text == {str(seen.body["messages"]): seen.body for seen in chats(server)}
    assert summarizer(server).fingerprint == summarizer(server, batch_from=0).fingerprint


def test_a_few_summaries_are_asked_for_at_once(server, batches):
    assert len(list(summarizer(server).summarize(requests(3)))) == 3
    assert list(summarizer(server).summarize([])) == []
    assert (batches.batches, len(chats(server))) == ({}, 3)


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
    assert len(chats(server)) == 1
    billed = name not in {"error", "left out"}
    assert ledger.spent().calls == 6 + billed
    total = sum((answer.usage.usd for answer in answers), 0.0)
    assert total == pytest.approx(ledger.spent().usd)


def test_answers_of_a_batch_lose_their_reasoning_as_others_do(server, batches):
    batches.fault = lambda _body: Fault.answering("<think>\nHm.\n</think>\n\nTwo people speak.")
    answers = list(summarizer(server).summarize(requests(4)))
    assert [answer.text for answer in answers] == ["Two people speak."] * 4
    assert chats(server) == []


def test_a_batch_that_ran_out_of_time_gives_what_it_has(server, batches):
    batches.status = "expired"
    batches.fault = lambda body: Fault.cut_connection() if "of 1 " in str(body) else None
    answers = list(summarizer(server).summarize(requests(5)))
    assert sum(isinstance(answer, Summary) for answer in answers) == 5
    assert len(chats(server)) == 1


def test_a_batch_that_is_refused_says_why_and_is_forgotten(server, batches, tmp_path):
    batches.status = "failed"
    with pytest.raises(EndpointError, match=r"line 1 is no request.*summarizer\.batch_from = 0"):
        list(summarizer(server, tmp_path).summarize(requests(5)))
    assert list(tmp_path.glob("*.json")) == []


def run_until_killed(server, batches, folder, where):
    """A run that dies once the endpoint has done its part of ``where``."""
    made = summarizer(server, folder)
    assert isinstance(made, BatchSummarizer)
    client = made._client
    done = getattr(client, where)

    def die(*args):
        done(*args)
        raise Killed

    setattr(client, where, die)
    with pytest.raises(Killed):
        list(made.summarize(requests(6)))


@pytest.mark.parametrize("where", ["create", "state", "answers"])
def test_a_killed_run_finds_its_batch_again_and_pays_nothing_twice(
    server, batches, tmp_path, where
):
    """``create``: it died before it knew the batch's id; the mark finds it."""
    run_until_killed(server, batches, tmp_path, where)
    assert len(list(tmp_path.glob("*.json"))) == 1
    ledger = Ledger(BudgetSettings(usd=0.0), PRICES)  # what is bought needs no budget
    answers = list(summarizer(server, tmp_path, ledger).summarize(requests(6)[::-1]))
    assert sum(isinstance(answer, Summary) for answer in answers) == 6
    assert (len(batches.batches), len(batches.answered), len(chats(server))) == (1, 6, 0)
    assert ledger.spent().calls == 6
    assert list(tmp_path.glob("*.json")) == []


def test_a_run_that_wants_more_takes_what_is_left_and_asks_for_the_rest(server, batches, tmp_path):
    run_until_killed(server, batches, tmp_path, "state")
    answers = list(summarizer(server, tmp_path).summarize(requests(12)))
    assert len({answer.key for answer in answers}) == 12
    assert len(batches.batches) == 2
    assert len(batches.answered) == 12


def test_a_record_of_a_batch_that_is_gone_costs_no_more_than_asking_anew(server, batches, tmp_path):
    run_until_killed(server, batches, tmp_path, "state")
    batches.batches.clear()
    answers = list(summarizer(server, tmp_path).summarize(requests(6)))
    assert sum(isinstance(answer, Summary) for answer in answers) == 6
    assert list(tmp_path.glob("*.json")) == []


def test_another_model_leaves_the_batch_of_the_first_alone(server, batches, tmp_path):
    run_until_killed(server, batches, tmp_path, "state")
    list(summarizer(server, tmp_path, model="large").summarize(requests(6)))
    assert len(batches.batches) == 2
    assert len(list(tmp_path.glob("*.json"))) == 1


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
    few, many = (summary_cost(n, 1000 * n, 100 * n, settings).usd for n in (9, 10))
    assert (few / 9, many / 10) == (pytest.approx(0.0012), pytest.approx(0.0006))


def test_a_build_by_batches_is_the_build_at_once(server, batches, tmp_path):
    more = {"batch_from": 5, "batch_poll_seconds": 0.001}
    settings = paid_settings(server.base_url, summarizer=more)
    components = make_components(settings, tmp_path / "answers")
    tree = build_tree(DOCUMENTS, components=components)
    assert len(batches.batches) >= 2
    assert list((tmp_path / "answers" / "batches").glob("*.json")) == []
    at_once = build_tree(DOCUMENTS, components=make_components(paid_settings(server.base_url)))
    assert [node.id for node in tree.nodes()] == [node.id for node in at_once.nodes()]


def test_the_key_is_in_no_word_of_a_batch(server, batches, monkeypatch, caplog, tmp_path):
    monkeypatch.setenv("PLANTED_KEY", SECRET)
    caplog.set_level(logging.DEBUG)
    batches.fault = lambda _body: Fault.error(401, f"no such key: {SECRET}")
    server.refuse = lambda _seen: Fault.error(401, f"no such key: {SECRET}")
    answers = list(summarizer(server, tmp_path).summarize(requests(5)))
    assert len(answers) == 5
    told = [*map(str, answers), caplog.text, *(p.read_text() for p in tmp_path.glob("*.json"))]
    assert "check the key" in str(answers)
    assert SECRET not in "".join(told)


@pytest.mark.slow
def test_a_build_that_is_killed_while_it_waits_is_completed_and_asks_for_nothing_twice(
    server, batches, tmp_path
):
    batches.polls = 10**9  # never done
    command = [sys.executable, paid_build.__file__, server.base_url, str(tmp_path), "5"]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": PROCESS_PATH}) as process:
        deadline = time.monotonic() + 120
        while not batches.looks and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    assert len(batches.batches) == 1
    batches.polls = 0
    tree = paid_build.build(server.base_url, tmp_path, 5)
    asked = [str(body) for body in (*batches.answered, *(seen.body for seen in chats(server)))]
    assert len(asked) == len(set(asked)) == sum(len(layer.nodes) for layer in tree.layers[1:])
