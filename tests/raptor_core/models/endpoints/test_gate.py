"""The gate at the wire: what all callers of one endpoint do together."""

import threading
import time

import pytest
from support.endpoint_clients import endpoint_of
from support.openai_server import FakeOpenAI, Fault

from raptor_core.errors import EndpointDownError, EndpointError
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.models.endpoints.gate import Gate
from raptor_core.models.endpoints.pool import run_concurrently
from raptor_core.models.endpoints.values import ChatAsk
from raptor_core.models.money.ledger import Ledger
from raptor_core.retrying import RetryPolicy
from raptor_core.settings import AuditSettings, EndpointPart

pytestmark = pytest.mark.slow

QUICK = RetryPolicy(max_retries=4, base_seconds=0.001, max_seconds=0.01)


@pytest.fixture
def server():
    with FakeOpenAI() as fake:
        yield fake


def client_of(server, policy=QUICK, **values):
    return EndpointClient(endpoint_of(server.base_url, **values), policy)


def ask(text="Some text."):
    return ChatAsk("Be brief.", text, 50, 0.0, shorten=lambda n: f"shorter {n}")


def call_all(client, n_calls, concurrency):
    work = run_concurrently(
        lambda n, stop: client.chat(ask(f"Text {n}."), stop=stop), range(n_calls), concurrency
    )
    return list(work)


class Arrivals:
    """When requests came, by a clock that does not jump."""

    def __init__(self, server):
        self.times = []
        server.hold = lambda _body: self.times.append(time.monotonic())

    @property
    def gaps(self):
        return [after - before for before, after in zip(self.times, self.times[1:], strict=False)]


def seconds(work):
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def test_calls_come_no_faster_than_the_settings_say(server):
    client = client_of(server, requests_per_minute=1200)
    assert seconds(lambda: call_all(client, 12, 12)) >= 11 * 0.05
    assert server.n_requests == 12


def test_tokens_are_counted_with_the_answers_upper_bound(server):
    tokens = ask("Text 0.").worst("Text 0.").prompt_tokens + ask().max_tokens
    client = client_of(server, tokens_per_minute=tokens * 60 * 10)  # ten calls a second
    assert seconds(lambda: call_all(client, 6, 6)) >= 5 * 0.1


def test_processes_that_share_an_endpoint_take_their_part(server):
    client = client_of(server, requests_per_minute=4800, shared_by=4)
    assert seconds(lambda: call_all(client, 9, 9)) >= 8 * 0.05
    shares = [endpoint_of(server.base_url, concurrency=9, shared_by=n).share for n in (1, 4, 20)]
    assert shares == [9, 2, 1]


def test_all_clients_of_one_endpoint_and_model_share_a_gate(server):
    one = endpoint_of(server.base_url)
    other = AuditSettings(**one.model_dump(include=set(EndpointPart.model_fields)))
    gate = Gate.of(one)
    assert Gate.of(other) is gate
    assert Gate.of(one.model_copy(update={"model": "large"})) is not gate


def test_a_refusal_for_the_rate_holds_every_caller_back(server):
    """The first call is refused and asks for 0.4 s; the second is another one's."""
    arrivals = Arrivals(server)
    server.fail(Fault.rate_limited("0.4"))
    refused, other = client_of(server), client_of(server)
    thread = threading.Thread(target=lambda: refused.chat(ask()))
    thread.start()
    deadline = time.monotonic() + 60
    while not refused._gate._pace._paused_until and time.monotonic() < deadline:
        time.sleep(0.001)  # until the refusal is heard
    other.chat(ask())
    thread.join(10)
    assert min(arrivals.times[1:]) - arrivals.times[0] >= 0.4


def test_nothing_is_sent_while_the_endpoint_says_that_nothing_is_left(server):
    arrivals = Arrivals(server)
    told = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "300ms"}
    server.say = lambda _seen: told
    client = client_of(server)
    for _ in range(3):
        client.chat(ask())
    assert min(arrivals.gaps) >= 0.3
    assert server.n_requests == 3


def test_what_is_left_for_longer_than_anybody_waits_is_left_to_the_endpoint(server):
    server.say = lambda _seen: {
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "24h0m0s",
    }
    client = client_of(server)
    assert [client.chat(ask()).usage.calls for _ in range(2)] == [1, 1]


class Bucket:
    """A server that allows so many requests a second and refuses what is above."""

    def __init__(self, per_second, size):
        self.per_second, self.size = per_second, size
        self.left, self.at = float(size), time.monotonic()
        self.n_refused = 0

    def __call__(self, _seen):
        now = time.monotonic()
        self.left = min(self.size, self.left + (now - self.at) * self.per_second)
        self.at = now
        if self.left >= 1:
            self.left -= 1
            return None
        self.n_refused += 1
        return Fault.rate_limited("0.1")


def test_forty_callers_of_a_slow_endpoint_learn_its_rate_and_all_get_through(server):
    bucket = server.refuse = Bucket(per_second=60, size=4)
    answers = call_all(client_of(server, RetryPolicy(8)), 100, 40)
    assert len(answers) == 100
    assert bucket.n_refused < 200


def test_calls_wait_for_an_endpoint_that_is_down_for_a_while_and_fail_none(server):
    """Two thirds of a second of 503, which without the circuit are more than five retries."""
    since = time.monotonic()
    server.refuse = lambda _seen: Fault.error(503) if time.monotonic() - since < 0.7 else None
    answers = call_all(client_of(server, down_after=6), 30, 8)
    assert len(answers) == 30
    assert server.n_requests < 30 + 8 + 6 + 8  # and it was not hammered meanwhile


def test_an_endpoint_that_stays_down_is_told_once_it_was_waited_for(server):
    server.fail(Fault.error(503, "no capacity"), times=None)
    client = client_of(server, down_after=4, down_seconds=1.0)
    failed = []

    def work(n, stop):
        try:
            client.chat(ask(f"Text {n}."))
        except EndpointError as error:
            failed.append(error)

    list(run_concurrently(work, range(40), 6))
    down = [error for error in failed if isinstance(error, EndpointDownError)]
    assert len(failed) == 40
    assert len(down) >= 30
    assert server.n_requests < 20
    for word in ("is down", "no capacity", "summarizer.base_url", "what is finished is kept"):
        assert word in str(down[0])


def test_an_endpoint_that_comes_back_is_called_again_after_it_was_given_up(server, monkeypatch):
    monkeypatch.setattr("raptor_core.models.endpoints.gate.LONGEST_PROBE_SECONDS", 0.2)
    server.fail(Fault.error(503), times=7)
    client = client_of(server, RetryPolicy(3, 0.001), down_after=4, down_seconds=0.0)
    failed = 0
    for _ in range(40):
        try:
            client.chat(ask())
        except EndpointError:
            failed += 1
            time.sleep(0.03)
    assert 3 <= failed < 40
    assert client.chat(ask()).usage.calls == 1


def test_a_call_that_waits_for_its_turn_ends_when_it_is_stopped_and_costs_nothing(server):
    ledger, stop = Ledger(), threading.Event()
    endpoint = endpoint_of(server.base_url, requests_per_minute=1)
    client = EndpointClient(endpoint, QUICK, account=ledger.account("summaries", "small"))
    client.chat(ask())
    told = []

    def call():
        try:
            client.chat(ask(), stop=stop)
        except EndpointError as error:
            told.append(str(error))

    thread = threading.Thread(target=call)
    thread.start()
    time.sleep(0.05)
    stop.set()
    thread.join(5)
    assert "cancelled" in told[0]
    assert server.n_requests == 1
    assert ledger.spendings[0].lost.calls == 0
