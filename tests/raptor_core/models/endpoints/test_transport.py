"""Redirects are not followed, and any answer is read or an error of the endpoint."""

import json

import pytest
from openai.types import Batch
from support.endpoint_clients import ask, client_of, endpoint_of
from support.openai_server import FakeOpenAI, Fault
from support.raw_server import RawServer

from raptor_core.errors import EndpointError
from raptor_core.models.endpoints.batches import BatchClient
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.retrying import RetryPolicy

ONCE = RetryPolicy(max_retries=0)
BATCH = Batch.model_construct(
    id="batch-1", status="completed", output_file_id="file-1", error_file_id=None, metadata=None
)
CALLS = {
    "chat": lambda client: client.chat(ask()),
    "embeddings": lambda client: client.embed(["a text"]),
    "batch": lambda client: BatchClient(client).create(b"{}\n", "mark"),
    "state of a batch": lambda client: BatchClient(client).refresh(BATCH),
    "file of a batch": lambda client: list(BatchClient(client).answers(BATCH)),
}


@pytest.fixture
def elsewhere():
    """Another origin, which would answer."""
    with FakeOpenAI() as fake:
        yield fake


def client_at(origin, timeout_seconds=5.0):
    return EndpointClient(endpoint_of(f"{origin}/v1", timeout_seconds=timeout_seconds), ONCE)


def sending(*pieces):
    """A reply of these pieces."""
    return lambda connection, _request: [connection.sendall(piece) for piece in pieces]


def redirecting(status, location):
    return sending(
        f"HTTP/1.1 {status} Elsewhere\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()
    )


@pytest.mark.parametrize(
    ("name", "status"), [(name, 307) for name in CALLS] + [("chat", 301), ("chat", 303)]
)
def test_no_redirect_is_followed(elsewhere, name, status):
    server = RawServer(redirecting(status, f"{elsewhere.base_url}/taken"))
    with server, pytest.raises(EndpointError, match=f"HTTP {status}.*set base_url"):
        CALLS[name](client_at(server.origin))
    assert (elsewhere.seen, len(server.requests)) == ([], 1)


def test_the_key_of_a_redirect_s_address_is_not_shown(server, monkeypatch):
    monkeypatch.setenv("PLANTED_KEY", "planted-key")
    location = "http://planted-key.example/?key=planted-key"
    server.fail(Fault(status=307, headers=(("Location", location),)), times=None)
    with pytest.raises(EndpointError, match="redirects") as caught:
        client_of(server).chat(ask())
    assert "planted-key" not in str(caught.value)


ODD_VALUES = [None, {}, "x", 10**400]
ODD_BYTES = [b"\xff\xfe", b"[" * 200_000, b"9" * 10_000, b"", b"NaN"]
CHAT = {
    "choices": [{"index": 0, "message": {"content": "Fine."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1},
}
EMBEDDINGS = {
    "data": [{"index": 0, "embedding": [1.0, 2.0]}],
    "usage": {"prompt_tokens": 1, "total_tokens": 1},
}
LINES = {"custom_id": "k", "response": {"status_code": 200, "body": CHAT}}


def variants(value):
    """The value with each of its parts replaced by every odd value."""
    yield from ODD_VALUES
    parts = enumerate(value) if isinstance(value, list) else ()
    for key, part in value.items() if isinstance(value, dict) else parts:
        for odd in variants(part):
            copied = value.copy()
            copied[key] = odd
            yield copied


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "answer"),
    [("chat", CHAT), ("embeddings", EMBEDDINGS), ("file of a batch", LINES)],
)
def test_whatever_an_endpoint_answers_is_read_or_an_error_of_the_endpoint(server, name, answer):
    client = EndpointClient(endpoint_of(server.base_url), ONCE)
    for raw in [*ODD_BYTES, *(json.dumps(odd).encode() for odd in variants(answer))]:
        server.more = lambda _command, _seen, _sent, raw=raw: raw
        try:
            CALLS[name](client)
        except EndpointError:
            continue
