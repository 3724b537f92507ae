"""Many calls at once."""

import threading

import pytest
from support.endpoint_clients import ask, client_of

from raptor_core.models.endpoints.limits import run_concurrently


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
