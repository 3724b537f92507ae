"""Calls that meet faults, and what a client sends."""

import gc
import threading
import warnings

import pytest
from support.endpoint_clients import SECRET, ask, client_of
from support.openai_server import FakeOpenAI, Fault

from raptor_core.errors import EndpointError
from raptor_core.models.endpoints.faults import FaultError

# Fault, and words of the reason that the error must hold when it never ends.
FAULTS = {
    "rate limit": (Fault.rate_limited(), "HTTP 429"),
    "server error": (Fault.error(500), "HTTP 500"),
    "overloaded": (Fault.error(503), "HTTP 503"),
    "cut before the answer": (Fault.cut_connection(), "the connection failed"),
    "cut in the answer": (Fault.cut_connection(midway=True), "the connection failed"),
    "malformed JSON": (Fault.malformed(), "no JSON"),
    "JSON of another form": (Fault.malformed(b'{"error": "odd"}'), "odd"),
    "a list": (Fault.malformed(b"[]"), "holds no message"),
    "no choices": (Fault.malformed(b'{"choices": []}'), "holds no message"),
    "refusal": (Fault.refusing(), "refused: I will not"),
    "empty": (Fault.answering(""), "empty"),
    "white space": (Fault.answering(" \n "), "empty"),
    "truncated": (Fault.truncated(), "cut off"),
    "filtered": (Fault.filtered(), "content filter"),
    "tool call": (Fault.answering("text", "tool_calls"), "'tool_calls'"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_every_passing_fault_is_retried_until_a_whole_answer_comes(server, name):
    server.fail(FAULTS[name][0], times=2)
    answer = client_of(server).chat(ask())
    assert answer.text.startswith("In short:")
    assert answer.usage.retries == 2
    assert server.n_requests == 3


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


def test_an_answer_later_than_the_timeout_is_a_fault(server):
    server.fail(Fault.slow(2.0))
    answer = client_of(server, timeout_seconds=0.5).chat(ask())
    assert answer.usage.retries >= 1


def test_nobody_listening_is_an_error_with_the_address():
    with FakeOpenAI() as gone:
        client = client_of(gone)
    with pytest.raises(EndpointError, match=r"127\.0\.0\.1.*the connection failed"):
        client.chat(ask())


def test_an_objection_to_a_whole_answer_is_a_fault(server):
    def check(text):
        if text == "wrong":
            raise FaultError("odd")

    server.fail(Fault.answering("wrong"))
    answer = client_of(server).chat(ask(check))
    assert answer.text != "wrong"
    assert answer.usage.retries == 1


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


def test_a_client_that_nobody_holds_leaves_no_socket_open(server):
    client = client_of(server)
    client.chat(ask())
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ResourceWarning)
        del client
        gc.collect()
    assert not [w for w in warned if w.category is ResourceWarning]


def test_stopped_work_sends_nothing(server):
    stop = threading.Event()
    stop.set()
    with pytest.raises(EndpointError, match="cancelled"):
        client_of(server).chat(ask(), stop=stop)
    assert server.n_requests == 0
