"""Calls at once at a server of this machine."""

import threading

import pytest
from support.endpoint_clients import QUICK, ask
from support.openai_server import FakeOpenAI

from raptor_core.models.endpoints.addresses import is_here, is_nearby
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.models.endpoints.pool import run_concurrently
from raptor_core.models.endpoints.width import FIRST_CALLS, PATIENCE_ROUNDS, Width
from raptor_core.settings import SummarizerSettings


def served(width, n_calls, seconds_of, now=0.0):
    """Serve calls of 100 tokens, as many at once as the width says; the time at the end."""
    while n_calls > 0:
        n_calls -= width.n_calls
        n, seconds = width.n_calls, seconds_of(width.n_calls)
        for _ in range(n):
            width.begin(now)
        now += seconds
        for _ in range(n):
            width.end(100, seconds, now, is_answered=True)
    return now


def test_a_server_that_answers_one_call_after_the_other_gets_few_at_once():
    width = Width()
    served(width, 60, seconds_of=lambda n_calls: 3.0 * n_calls)
    assert width.n_calls <= 2 * FIRST_CALLS
    assert width._best_calls == FIRST_CALLS


def test_a_server_with_many_slots_gets_more_until_they_are_used():
    width = Width()
    served(width, 400, seconds_of=lambda n_calls: 3.0 * max(1, n_calls / 16))
    assert width._best_calls == 16


def test_quick_answers_let_the_width_grow():
    width = Width()
    served(width, 400, seconds_of=lambda n_calls: 0.001 * n_calls)
    assert width.n_calls >= 64


def test_a_failure_halves_the_width_and_it_grows_again():
    width = Width()
    now = served(width, 100, seconds_of=lambda _n_calls: 3.0)
    before = width.n_calls
    width.begin(now)
    width.end(100, 60.0, now, is_answered=False)
    assert width.n_calls == before // 2
    served(width, 10 * before, seconds_of=lambda _n_calls: 3.0, now=now)
    assert width.n_calls > before // 2


def test_a_wider_width_is_tried_again_later():
    width = Width()
    now = served(width, 60, seconds_of=lambda n_calls: 3.0 * n_calls)
    served(width, 8 * FIRST_CALLS * PATIENCE_ROUNDS, seconds_of=lambda _n_calls: 3.0, now=now)
    assert width.n_calls > 2 * FIRST_CALLS


@pytest.mark.parametrize(("values", "n_first"), [({}, FIRST_CALLS), ({"concurrency": 6}, 6)])
def test_few_calls_begin_at_this_machine_unless_the_settings_say_how_many(values, n_first):
    release, first = threading.Event(), threading.Barrier(n_first + 1, timeout=60)

    def hold(_body):
        if not release.is_set():
            first.wait()
            release.wait(60)

    with FakeOpenAI(hold=hold) as server:
        endpoint = SummarizerSettings(kind="openai", base_url=server.base_url, **values)
        client = EndpointClient(endpoint, QUICK)
        calls = run_concurrently(lambda _n, stop: client.chat(ask(), stop=stop), range(24), 6)
        answers = []
        thread = threading.Thread(target=lambda: answers.extend(calls))
        thread.start()
        first.wait()
        assert server.peak == n_first
        release.set()
        thread.join(60)
    assert len(answers) == 24


@pytest.mark.parametrize(
    ("url", "here", "nearby"),
    [
        ("http://localhost:8080/v1", True, True),
        ("http://127.0.0.1:8080/v1", True, True),
        ("http://[::1]:8080/v1", True, True),
        ("http://192.168.1.7/v1", False, True),
        ("http://10.0.0.3/v1", False, True),
        ("http://gpu-host:8000/v1", False, True),
        ("http://llm.internal/v1", False, True),
        ("https://api.openai.com/v1", False, False),
        ("https://8.8.8.8/v1", False, False),
    ],
)
def test_servers_of_this_machine_and_its_network_are_known_by_their_address(url, here, nearby):
    assert (is_here(url), is_nearby(url)) == (here, nearby)
