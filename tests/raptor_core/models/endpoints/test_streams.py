"""Streamed answers at the wire: what they are joined to, and their limits of time."""

import json
import threading
import time

import pytest
from support.endpoint_clients import ask, endpoint_of
from support.raw_server import RawServer
from support.streams import DONE, HEAD, USAGE, data, event

from raptor_core.errors import EndpointError
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.models.money.usage import Usage
from raptor_core.retrying import RetryPolicy

ONCE = RetryPolicy(max_retries=0)

STREAMS = {
    "openai": [
        *(event("", role="assistant"), event("One "), event("two.")),
        *(event(finish="stop"), USAGE, DONE),
    ],
    "no end": [event("One "), event("two.", "stop")],
    "reasoning": [event(reasoning_content="Hm. "), event("One "), event("two.", "eos"), DONE],
    "think": [event("<think>Hm."), event("</think>"), event("One two.", "stop"), DONE],
    "halves of a pair": [event("One two.\ud83d", "stop"), DONE],
}


def client_at(server, timeout_seconds=5.0, policy=ONCE):
    endpoint = endpoint_of(f"{server.origin}/v1", timeout_seconds=timeout_seconds)
    return EndpointClient(endpoint, policy)


def streaming(pieces, pause=0.0):
    def reply(connection, _request):
        connection.sendall(HEAD)
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(pause)

    return reply


@pytest.mark.parametrize("form", STREAMS)
def test_the_events_of_a_stream_are_joined(form):
    with RawServer(streaming(STREAMS[form])) as server:
        answer = client_at(server).chat(ask())
    assert answer.text == "One two."
    assert form != "openai" or answer.usage == Usage(1, 7, 3, usd=None)
    sent = json.loads(server.requests[0].partition(b"\r\n\r\n")[2])
    assert sent["stream"] is True
    assert sent["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ([event("One ")], "ended in the middle"),
        ([event("One "), event(finish="length"), DONE], "cut off"),
        (
            [event("One "), data({"error": {"message": "worker died", "code": 502}})],
            "^.*worker died",
        ),
        ([data({"error": {"message": "No credits", "code": 402}})], "No credits"),
        ([b"event: error\n", data({"message": "worker died"})], "worker died"),
        (
            [event("One "), data({"object": "error", "message": "worker died", "code": 500}), DONE],
            "worker died",
        ),
        ([event("One "), b"data: {half\n\n"], "not JSON"),
        ([DONE], "ended in the middle"),
    ],
)
def test_a_stream_without_a_complete_answer_is_a_fault(pieces, words):
    with RawServer(streaming(pieces)) as server, pytest.raises(EndpointError, match=words):
        client_at(server).chat(ask())


@pytest.mark.slow
def test_an_answer_that_goes_on_may_take_longer_than_the_timeout():
    pieces = [event(f"word{n} ") for n in range(10)] + [event(finish="stop"), DONE]
    with RawServer(streaming(pieces, pause=0.12)) as server:
        assert client_at(server, timeout_seconds=0.9).chat(ask()).text.endswith("word9")


@pytest.mark.slow
@pytest.mark.parametrize("first", [b"", HEAD + event("One ")])
def test_a_silent_attempt_ends_and_its_connection_is_closed(first):
    closed = threading.Event()

    def reply(connection, _request):
        connection.sendall(first)
        if connection.recv(1) == b"":
            closed.set()

    with RawServer(reply) as server:
        with pytest.raises(EndpointError, match=r"no answer within 0\.2 s"):
            client_at(server, timeout_seconds=0.2).chat(ask())
        assert closed.wait(30)
