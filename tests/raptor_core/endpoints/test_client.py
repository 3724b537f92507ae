import gc
import json
import logging
import threading
import traceback
import warnings

import numpy as np
import pytest
from support.openai_server import FakeOpenAI, Fault, hash_vector

from raptor_core.endpoints.client import EndpointClient
from raptor_core.endpoints.pool import run_concurrently
from raptor_core.endpoints.retry import RetryPolicy
from raptor_core.endpoints.values import ChatAsk, Endpoint, Meter, Objection
from raptor_core.errors import BudgetError, EndpointError, MissingKeyError
from raptor_core.money import Ledger, estimate_tokens
from raptor_core.money.usage import Usage
from raptor_core.settings import BudgetSettings

QUICK = RetryPolicy(max_retries=2, base_seconds=0.001)
SECRET = "sk-planted-4f1c9"


@pytest.fixture
def server():
    with FakeOpenAI() as fake:
        yield fake


def client_of(server, policy=QUICK, timeout_seconds=5.0, key_env="PLANTED_KEY"):
    return EndpointClient(
        Endpoint("summarizer", "small", server.base_url, key_env, timeout_seconds), policy
    )


def ask(check=lambda _text: None):
    return ChatAsk(
        system="Be brief.",
        user="Some text.",
        max_tokens=50,
        temperature=0.0,
        shorten=lambda n: f"shorter {n}",
        check=check,
    )


# Fault, and words of the reason that the error must hold when it never ends.
FAULTS = {
    "rate limit": (Fault.rate_limited(), "HTTP 429"),
    "server error": (Fault.error(500), "HTTP 500"),
    "overloaded": (Fault.error(503), "HTTP 503"),
    "cut before the answer": (Fault.cut_connection(), "the connection failed"),
    "cut in the answer": (Fault.cut_connection(midway=True), "the connection failed"),
    "malformed JSON": (Fault.malformed(), "no JSON"),
    "JSON of another form": (Fault.malformed(b'{"error": "odd"}'), "holds no message"),
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


def test_a_cut_off_answer_is_asked_again_for_a_shorter_one(server):
    server.fail(Fault.truncated(), times=2)
    client_of(server).chat(ask())
    users = [body["messages"][1]["content"] for body in server.bodies]
    assert users == ["Some text.", "Some text.\n\nshorter 1", "Some text.\n\nshorter 2"]


def test_an_objection_to_a_whole_answer_is_a_fault(server):
    server.fail(Fault.answering("wrong"))
    answer = client_of(server).chat(ask(lambda t: Objection("odd") if t == "wrong" else None))
    assert answer.text != "wrong"
    assert answer.usage.retries == 1


def test_usage_counts_answers_tokens_and_retries_also_of_what_failed(server):
    server.fail(Fault.answering("", "length"))
    server.fail(Fault.error(500))
    meter = Meter()
    answer = client_of(server).chat(ask(), meter=meter)
    assert meter.usage == answer.usage
    prompts = [4, 4 + 2]  # words; the third question asks for a shorter answer
    assert answer.usage == Usage(2, sum(prompts), len(answer.text.split()), 2, usd=None)


def test_tokens_are_estimated_where_the_endpoint_counts_none(server):
    whole = {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "small",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Six bytes per word."},
                "finish_reason": "stop",
            }
        ],
    }
    server.fail(Fault.malformed(json.dumps(whole).encode()))
    usage = client_of(server).chat(ask()).usage
    assert usage == Usage(1, estimate_tokens("Be brief.\nSome text."), 7, usd=None)


def bounded_client(base_url, account):
    endpoint = Endpoint("summarizer", "small", base_url, "PLANTED_KEY", 5.0)
    return EndpointClient(endpoint, QUICK, account=account)


def test_a_call_that_was_cut_off_counts_in_the_budget(server):
    ledger = Ledger(BudgetSettings(calls=3))
    client = bounded_client(server.base_url, ledger.account("summaries", "small"))
    server.fail(Fault.cut_connection(), times=2)
    assert client.chat(ask()).usage.calls == 1
    assert (ledger.spendings[0].usage.retries, ledger.spendings[0].lost.calls) == (2, 2)
    with pytest.raises(BudgetError, match=r"budget\.calls"):
        client.chat(ask())
    assert server.n_requests == 3


def test_what_never_reached_the_endpoint_does_not_count():
    ledger = Ledger(BudgetSettings(calls=1))
    with FakeOpenAI() as gone:
        client = bounded_client(gone.base_url, ledger.account("summaries", "small"))
    with pytest.raises(EndpointError, match="after 3 attempts"):
        client.chat(ask())
    assert ledger.spendings[0].lost == Usage()


def test_a_call_that_waits_for_the_budget_is_not_begun_once_it_is_stopped(server):
    ledger, stop = Ledger(BudgetSettings(calls=1)), threading.Event()
    account = ledger.account("summaries", "small")
    under_way = account.reserve(1, 1)
    client = bounded_client(server.base_url, account)
    told = []

    def call():
        try:
            client.chat(ask(), stop=stop)
        except EndpointError as error:
            told.append(str(error))

    thread = threading.Thread(target=call)
    thread.start()
    stop.set()
    under_way.forgive()
    thread.join(10)
    assert "cancelled" in told[0]
    assert server.n_requests == 0


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
    }
    assert server.seen[0].token == SECRET


def test_a_closed_client_opens_again(server):
    client = client_of(server)
    client.close()
    client.chat(ask())
    client.close()
    client.close()
    assert client.chat(ask()).usage.calls == 1


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


def test_openai_itself_is_not_called_without_a_key(monkeypatch):
    monkeypatch.delenv("PLANTED_KEY", raising=False)
    endpoint = Endpoint("reader", "m", "https://api.openai.com/v1", "PLANTED_KEY", 1.0)
    with pytest.raises(MissingKeyError, match="PLANTED_KEY"):
        EndpointClient(endpoint, QUICK).chat(ask())


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


@pytest.mark.parametrize("knows_base64", [True, False])
def test_embeddings_come_in_the_order_of_the_texts(knows_base64):
    with FakeOpenAI(knows_base64=knows_base64) as server:
        vectors = client_of(server).embed(["b", "a", "c"])
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, [hash_vector(text, 8) for text in "bac"])


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        b'{"data": []}',
        b'{"data": [{"index": 1, "embedding": [1.0]}]}',
        b'{"data": [{"index": 0, "embedding": []}]}',
        b'{"data": [{"index": 0, "embedding": "?"}]}',
        b'{"data": [{"index": 0, "embedding": [NaN]}]}',
        b'{"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]}',
    ],
)
def test_embeddings_that_are_no_vectors_are_faults(server, raw):
    server.fail(Fault.malformed(raw), times=None)
    with pytest.raises(EndpointError, match="after 3 attempts"):
        client_of(server).embed(["one"])


def test_the_pool_gives_what_is_under_way_when_one_fails_and_begins_no_other():
    begun, results = [], []

    def work(n, stop):
        begun.append(n)
        if n == 0:
            raise ValueError("the first")
        assert stop.wait(10)
        return n

    with pytest.raises(ValueError, match="the first"):
        results.extend(run_concurrently(work, range(30), 2))  # extend keeps what came before
    assert begun in ([0], [0, 1], [1, 0])
    assert results == [n for n in begun if n]


def test_the_pool_keeps_to_its_bound_and_gives_every_result(server):
    barrier = threading.Barrier(3, timeout=10)
    server.hold = lambda _body: barrier.wait()
    client = client_of(server)
    results = run_concurrently(lambda n, stop: (n, client.chat(ask(), stop=stop)), range(12), 3)
    assert sorted(n for n, _ in results) == list(range(12))
    assert server.peak == 3


def test_closing_the_pool_drops_what_was_not_begun():
    begun, release = [], threading.Event()

    def work(n, stop):
        begun.append(n)
        if n:
            release.wait(5)
        return stop

    results = run_concurrently(work, range(50), 2)
    stop = next(results)
    results.close()
    release.set()
    assert stop.is_set()
    assert len(begun) <= 3


def test_an_empty_pool_gives_nothing():
    assert list(run_concurrently(lambda n, _stop: n, [], 4)) == []
