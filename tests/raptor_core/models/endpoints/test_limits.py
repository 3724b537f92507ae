"""Calls to one endpoint at the same time: rates, pauses, outages, and the pool of calls."""

import threading
import time

import pytest
from support.endpoint_clients import QUICK, ask, endpoint_of

from raptor_core.errors import EndpointDownError, EndpointError
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.models.endpoints.dialects import EndpointState
from raptor_core.models.endpoints.faults import CallFaultError, FaultError
from raptor_core.models.endpoints.limits import MAX_FAILURES, CallLimiter, run_concurrently
from raptor_core.models.money.ledger import Ledger
from raptor_core.retrying import RetryPolicy
from raptor_core.settings import AuditSettings, EndpointSettings

NEVER = threading.Event()
DOWN = FaultError("HTTP 503", meaning="down")


def client_of(server, policy=QUICK, **values):
    return EndpointClient(endpoint_of(server.base_url, **values), policy)


def seconds(work):
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def limiter_with(**values):
    limiter = CallLimiter()
    limiter.apply_rates(EndpointSettings(**values))
    return limiter


@pytest.mark.parametrize(
    ("values", "least"),
    [
        ({}, 0.0),
        ({"requests_per_minute": 6000}, 0.09),
        ({"tokens_per_minute": 600_000}, 0.09),
        ({"requests_per_minute": 60_000, "tokens_per_minute": 600_000}, 0.09),
    ],
)
def test_calls_begin_no_faster_than_the_settings_allow(values, least):
    limiter = limiter_with(**values)
    took = seconds(lambda: [limiter.wait_for_turn(100, NEVER, "a call") for _ in range(10)])
    assert least <= took < least + 5


def test_all_clients_of_one_endpoint_and_model_share_their_limits(server):
    first = endpoint_of(server.base_url)
    second = AuditSettings(**first.model_dump(include=set(EndpointSettings.model_fields)))
    shared = EndpointState.for_endpoint(first)
    assert EndpointState.for_endpoint(second) is shared
    assert EndpointState.for_endpoint(first.model_copy(update={"model": "large"})) is not shared


@pytest.mark.parametrize("demanded", [0.1, None])
def test_a_refusal_for_the_rate_pauses_every_caller(demanded):
    limiter = CallLimiter()
    fault = FaultError("busy", meaning="limit", retry_after_seconds=demanded)
    fail(limiter, fault, RetryPolicy(base_seconds=0.2))
    assert seconds(lambda: limiter.wait_for_turn(1, NEVER, "a call")) >= 0.09


def test_a_wait_that_nobody_waits_for_pauses_nobody():
    limiter = CallLimiter()
    fault = FaultError("busy", meaning="limit", retry_after_seconds=86_400.0)
    limiter.record_fault(fault, limiter.wait_for_turn(1, NEVER, "a call"), RetryPolicy())
    assert seconds(lambda: limiter.wait_for_turn(1, NEVER, "a call")) < 5


def fail(limiter, fault=DOWN, policy=QUICK):
    limiter.record_fault(fault, limiter.wait_for_turn(1, NEVER, "a call"), policy)


@pytest.mark.slow
def test_an_endpoint_is_down_after_so_many_failures_in_a_row_and_tried_after_a_pause():
    limiter, slow = CallLimiter(), RetryPolicy(base_seconds=0.2, max_seconds=0.2)
    for _ in range(MAX_FAILURES - 1):
        fail(limiter)
    fail(limiter, policy=slow)
    with pytest.raises(EndpointDownError, match=r"a call was not sent.*HTTP 503.*base_url"):
        limiter.wait_for_turn(1, NEVER, "a call")
    time.sleep(0.25)
    fail(limiter, policy=slow)
    with pytest.raises(EndpointDownError):
        limiter.wait_for_turn(1, NEVER, "a call")
    time.sleep(0.25)
    limiter.wait_for_turn(1, NEVER, "a call")
    limiter.record_answer()
    limiter.wait_for_turn(1, NEVER, "a call")


@pytest.mark.parametrize("sound", [None, CallFaultError("cut"), FaultError("HTTP 400")])
def test_any_answer_between_failures_ends_the_row(sound):
    limiter = CallLimiter()
    for _ in range(3 * MAX_FAILURES):
        fail(limiter)
        if sound is None:
            limiter.record_answer()
        else:
            fail(limiter, sound)
    limiter.wait_for_turn(1, NEVER, "a call")


def test_calls_that_fail_together_count_as_one_failure():
    limiter = CallLimiter()
    begun = [limiter.wait_for_turn(1, NEVER, "a call") for _ in range(5 * MAX_FAILURES)]
    for at in begun:
        limiter.record_fault(DOWN, at, QUICK)
    limiter.wait_for_turn(1, NEVER, "a call")


def test_a_call_that_waits_for_its_turn_ends_when_it_is_stopped_and_costs_nothing(server):
    ledger, stop = Ledger(), threading.Event()
    endpoint = endpoint_of(server.base_url, requests_per_minute=1)
    client = EndpointClient(endpoint, QUICK, ledger=ledger)
    client.chat(ask())
    threading.Timer(0.05, stop.set).start()
    with pytest.raises(EndpointError, match="cancelled"):
        client.chat(ask(), stop=stop)
    assert server.n_requests == 1
    assert ledger.spendings[0].lost_usage.calls == 0


def test_the_pool_gives_what_is_under_way_when_one_fails_and_begins_no_other():
    begun, results = [], []

    def work(n, stop):
        begun.append(n)
        if n == 0:
            raise ValueError("the first")
        assert stop.wait_for_turn(10)
        return n

    with pytest.raises(ValueError, match="the first"):
        results.extend(run_concurrently(work, range(30), 2))  # extend keeps what came before
    assert begun in ([0], [0, 1], [1, 0])
    assert results == [n for n in begun if n]


def test_the_pool_keeps_to_its_bound_and_gives_every_result(server):
    barrier = threading.Barrier(3, timeout=60)
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
