"""Requests of `raptor serve` that wait: a bounded number, none for a client that is gone."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Event

import httpx
import pytest
from support.openai_server import FakeOpenAI
from support.ports import free_port

pytestmark = pytest.mark.slow

CODE = """
import sys
from raptor_assets.serving import calls
from raptor_assets.cli.app import main
calls.THREADS, calls.MAX_WAITING, calls.LAST_SECONDS = 1, 4, 1
main(["serve", "--home", sys.argv[1], "--port", sys.argv[2]])
"""
ASKED = {"question": "who kept the lamp burning?", "budget_tokens": 100}


@contextmanager
def slow_server(built):
    """A server with one turn whose reader answers when the event is set."""
    may_answer = Event()
    port = free_port()
    with FakeOpenAI(answer=lambda _: may_answer.wait(60) and "He did [1].") as reader:
        environ = {"RAPTOR_READER__BASE_URL": reader.base_url, "OPENAI_API_KEY": "a-key"}
        command = [sys.executable, "-c", CODE, str(built.home), str(port)]
        process = subprocess.Popen(command, env={**os.environ, **environ})
        address = f"http://127.0.0.1:{port}"
        try:
            wait_for(lambda: httpx.get(f"{address}/health").status_code == 200)
            yield address, process, reader, may_answer
        finally:
            may_answer.set()
            process.kill()
            process.wait()


def wait_for(condition):
    for _ in range(2000):
        with suppress(httpx.TransportError):
            if condition():
                return
        time.sleep(0.05)
    pytest.fail("it never came")


def ask(address, timeout=120):
    return httpx.post(f"{address}/ask", json=ASKED, timeout=timeout)


def test_a_client_that_is_gone_is_not_answered_and_more_than_may_wait_are_refused(built):
    with slow_server(built) as (address, _, reader, may_answer), ThreadPoolExecutor(16) as pool:
        first = pool.submit(ask, address)
        wait_for(lambda: reader.n_requests == 1)
        for _ in range(3):
            with pytest.raises(httpx.ReadTimeout):
                ask(address, timeout=1)
        several = [pool.submit(ask, address) for _ in range(12)]
        wait_for(lambda: sum(each.done() for each in several) >= 8)
        may_answer.set()
        answers = [each.result() for each in (first, *several)]
    statuses = [answer.status_code for answer in answers]
    assert set(statuses) == {200, 503}
    refused = answers[statuses.index(503)]
    assert (refused.json()["error"], refused.headers["Retry-After"]) == ("BusyError", "1")
    assert reader.n_requests == statuses.count(200)


def test_a_server_that_ends_refuses_what_waits_and_fails_nothing(built):
    with slow_server(built) as (address, process, reader, _), ThreadPoolExecutor(8) as pool:
        several = [pool.submit(ask, address) for _ in range(4)]
        wait_for(lambda: reader.n_requests == 1)
        process.send_signal(signal.SIGTERM)
        assert {each.result().status_code for each in several} == {503}
        process.wait(60)
