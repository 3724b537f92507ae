"""Calls that meet faults, what a client sends and counts, and keys, which it shows nowhere."""

import logging
import threading
import traceback

import pytest
from support.endpoint_clients import QUICK, SECRET, ask, client_of, endpoint_of
from support.openai_server import FakeOpenAI, Fault

from raptor_core.errors import BudgetError, EndpointError
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.models.money.ledger import Ledger
from raptor_core.models.money.usage import Usage
from raptor_core.settings import BudgetSettings

# Fault, and words of the reason that the error must hold when it never ends.
FAULTS = {
    "rate limit": (Fault.rate_limited(), "HTTP 429"),
    "server error": (Fault.error(500), "HTTP 500"),
    "cut before the answer": (Fault.cut_connection(), "the connection failed"),
    "cut in the answer": (Fault.cut_connection(midway=True), "the connection failed"),
    "malformed JSON": (Fault.malformed(), "not JSON"),
    "refusal": (Fault.refusing(), "refused: I will not"),
    "truncated": (Fault.truncated(), "cut off"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_every_lasting_fault_ends_in_an_error_that_says_the_reason(server, name):
    fault, words = FAULTS[name]
    server.fail(fault, times=None)
    with pytest.raises(EndpointError, match="after 3 attempts") as caught:
        client_of(server).chat(ask())
    assert words in str(caught.value)
    assert "summarizer" in str(caught.value)
    assert "'small'" in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault.error(400, "no such parameter"), "no such parameter"),
        (Fault.error(401, "bad key"), "check the key"),
        (Fault.error(403), "may use this model"),
        (Fault.error(404), "check base_url"),
        (Fault.rate_limited(code="insufficient_quota"), "HTTP 429"),
    ],
)
def test_what_cannot_get_better_is_asked_once(server, fault, words):
    server.fail(fault, times=None)
    with pytest.raises(EndpointError, match="after 1 attempt:") as caught:
        client_of(server).chat(ask())
    assert words in str(caught.value)
    assert server.n_requests == 1


@pytest.mark.slow
def test_an_answer_later_than_the_timeout_is_a_fault(server):
    server.fail(Fault.slow(1.0))
    answer = client_of(server, timeout_seconds=0.5).chat(ask())
    assert answer.usage.retries >= 1


def test_a_call_sends_what_the_settings_say(server, monkeypatch):
    monkeypatch.setenv("PLANTED_KEY", SECRET)
    client_of(server).chat(ask())
    assert server.bodies[0] == {
        "model": "small",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Some text."},
        ],
        "temperature": 0.0,
        "max_tokens": 50,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert server.seen[0].token == SECRET


def test_stopped_work_sends_nothing(server):
    stop = threading.Event()
    stop.set()
    with pytest.raises(EndpointError, match="cancelled"):
        client_of(server).chat(ask(), stop=stop)
    assert server.n_requests == 0


def bounded_client(base_url, ledger):
    return EndpointClient(endpoint_of(base_url), QUICK, ledger=ledger, purpose="summaries")


def test_a_call_that_was_cut_off_counts_in_the_budget(server):
    ledger = Ledger(BudgetSettings(calls=3))
    client = bounded_client(server.base_url, ledger)
    server.fail(Fault.cut_connection(), times=2)
    assert client.chat(ask()).usage.calls == 1
    assert (ledger.spendings[0].usage.retries, ledger.spendings[0].lost_usage.calls) == (2, 2)
    with pytest.raises(BudgetError, match=r"budget\.calls"):
        client.chat(ask())
    assert server.n_requests == 3


def test_what_never_reached_the_endpoint_does_not_count():
    ledger = Ledger(BudgetSettings(calls=1))
    with FakeOpenAI() as gone:
        client = bounded_client(gone.base_url, ledger)
    with pytest.raises(EndpointError, match="after 3 attempts"):
        client.chat(ask())
    assert ledger.spendings[0].lost_usage == Usage()


def everything_about(error):
    """Text of the error, its causes and contexts, and the locals that a debugger would print."""
    seen = []
    while error is not None:
        seen += [str(error), repr(error), repr(vars(error))]
        error = error.__cause__ or error.__context__
    return "\n".join(seen)


@pytest.mark.parametrize(
    "fault",
    [
        Fault.error(401, f"Incorrect API key provided: {SECRET}"),
        Fault.malformed(SECRET.encode()),
        Fault.refusing(f"I will not show {SECRET}"),
        Fault.cut_connection(),
        Fault.error(500, SECRET),
    ],
)
def test_the_key_is_in_no_error_log_or_repr(server, monkeypatch, caplog, fault):
    monkeypatch.setenv("PLANTED_KEY", SECRET)
    caplog.set_level(logging.DEBUG)
    server.fail(fault, times=None)
    client = client_of(server)
    with pytest.raises(EndpointError) as caught:
        client.chat(ask())
    shown = "".join(traceback.format_exception(caught.value))
    for text in (shown, everything_about(caught.value), repr(client), caplog.text):
        assert SECRET not in text
