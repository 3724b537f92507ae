"""Answers of an endpoint come from its origin, have a bound, and end with their attempt."""

import gzip
import json
import time
from itertools import repeat

import pytest
from support.endpoint_clients import ask, client_of, endpoint_of
from support.openai_server import FakeOpenAI, Fault
from support.raw_server import RawServer

from raptor_core.errors import EndpointError
from raptor_core.models.endpoints import transport
from raptor_core.models.endpoints.batches import BatchClient, BatchState
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.retrying import RetryPolicy

ONCE = RetryPolicy(max_retries=0)
CALLS = {
    "chat": lambda client: client.chat(ask()),
    "embeddings": lambda client: client.embed(["a text"]),
    "batch": lambda client: BatchClient(client).create(b"{}\n", "mark"),
    "state of a batch": lambda client: BatchClient(client).state("batch-1"),
    "file of a batch": lambda client: [
        *BatchClient(client).answers(BatchState("completed", "file-1", None))
    ],
}


@pytest.fixture
def elsewhere():
    """Another origin, which would answer."""
    with FakeOpenAI(look=Fault()) as fake:
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


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_nothing_is_sent_to_another_server_that_a_redirect_names(elsewhere, name, status):
    server = RawServer(redirecting(status, f"{elsewhere.base_url}/taken"))
    with server, pytest.raises(EndpointError, match="another server") as caught:
        CALLS[name](client_at(server.origin))
    assert f"http://127.0.0.1:{elsewhere.port}" in str(caught.value)
    assert f"HTTP {status}" in str(caught.value)
    assert "base_url" in str(caught.value)
    assert (elsewhere.seen, elsewhere.looks, len(server.requests)) == ([], [], 1)


@pytest.mark.parametrize(
    "location", ["//127.0.0.1:9/v1", "https://127.0.0.1/v1", "http://localhost:9/v1", "HTTP://a/"]
)
def test_another_scheme_host_or_port_is_another_server(location):
    server = RawServer(redirecting(307, location))
    with server, pytest.raises(EndpointError, match="another server"):
        client_at(server.origin).chat(ask())


def test_a_look_at_the_model_follows_nobody_elsewhere(elsewhere):
    with RawServer(redirecting(307, f"{elsewhere.base_url}/models/small")) as server:
        client_at(server.origin).look_up()
    assert (elsewhere.seen, elsewhere.looks) == ([], [])


def test_a_redirect_within_the_server_is_followed(server):
    server.refuse = lambda seen: (
        None
        if seen.path.endswith("/completions/")
        else Fault(status=307, headers=(("Location", f"{seen.path}/"),))
    )
    assert client_of(server).chat(ask()).text.startswith("In short:")
    assert [seen.path[-12:] for seen in server.seen] == ["/completions", "completions/"]
    assert server.bodies[0] == server.bodies[1]
    assert server.seen[1].token


def test_a_redirect_that_drops_the_body_is_refused(server):
    server.fail(Fault(status=302, headers=(("Location", "/login"),)), times=None)
    with pytest.raises(EndpointError, match=r"302 redirects to /login, without the request's body"):
        client_of(server).chat(ask())
    assert server.n_requests == 1


def test_redirects_in_a_circle_end(server):
    server.fail(Fault(status=307, headers=(("Location", "/v1/chat/completions"),)), times=None)
    with pytest.raises(EndpointError, match="redirects more than 5 times"):
        client_of(server).chat(ask())
    assert server.n_requests == 6


def test_the_key_of_a_redirect_s_address_is_not_shown(server, monkeypatch):
    monkeypatch.setenv("PLANTED_KEY", "planted-key")
    location = "http://planted-key.example/?key=planted-key"
    server.fail(Fault(status=307, headers=(("Location", location),)), times=None)
    with pytest.raises(EndpointError, match="another server") as caught:
        client_of(server).chat(ask())
    assert "planted-key" not in str(caught.value)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
MEGABYTE = b" " * (1 << 20)
LONG = {
    "of a length that is told": (HEAD + b"Content-Length: 500000000\r\n\r\n", MEGABYTE),
    "in chunks": (
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
        b"100000\r\n" + MEGABYTE + b"\r\n",
    ),
    "until the connection ends": (HEAD + b"\r\n", MEGABYTE),
    "of an error": (b"HTTP/1.1 500 Error\r\n\r\n", MEGABYTE),
    "of a refusal": (b"HTTP/1.1 401 Error\r\n\r\n", MEGABYTE),
}


@pytest.mark.parametrize("way", LONG)
@pytest.mark.parametrize("name", CALLS)
def test_an_answer_of_any_length_is_read_up_to_its_bound(name, way, monkeypatch):
    monkeypatch.setattr(transport, "MAX_FILE_BYTES", 16 << 20)
    head, piece = LONG[way]
    n_sent = 0

    def reply(connection, _request):
        nonlocal n_sent
        connection.sendall(head)
        for _ in range(500):
            connection.sendall(piece)
            n_sent += len(piece)

    with (
        RawServer(reply) as server,
        pytest.raises(EndpointError, match=r"longer than [\d,]+ bytes"),
    ):
        CALLS[name](client_at(server.origin, 60.0))
    assert n_sent < 32 << 20


@pytest.mark.slow
def test_large_batches_of_long_vectors_fit():
    with FakeOpenAI(n_dims=4096, knows_base64=False) as fake:
        assert client_of(fake, timeout_seconds=60.0).embed(["a text"] * 128).shape == (128, 4096)


def test_a_small_answer_that_unpacks_to_a_large_one_is_refused(server):
    bomb = gzip.compress(b" " * (64 << 20))
    server.fail(Fault(raw=bomb, headers=(("Content-Encoding", "gzip"),)), times=None)
    with pytest.raises(EndpointError, match="compressed, though the request forbids"):
        client_of(server).chat(ask())
    assert server.seen[0].headers["Accept-Encoding"] == "identity"


def slowly(head, pieces):
    def reply(connection, _request):
        connection.sendall(head)
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(0.02)

    return reply


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chat", "embeddings", "state of a batch"])
@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (HEAD + b"Content-Length: 100000\r\n\r\n", b" "),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (b"HTTP/1.1 200 OK\r\nX-Drops: ", b"x"),
        (b"HTTP/1.1 ", b"2"),
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    ],
    ids=["body", "chunks", "headers", "status", "hints"],
)
def test_drops_that_are_no_progress_end_with_the_wait_for_the_first_token(
    name, head, piece, monkeypatch
):
    monkeypatch.setattr(transport, "NEARBY_FACTOR", 1.0)
    told = r"no (whole )?answer within 0\.5 s"  # a slow machine pauses longer than a drop
    with RawServer(slowly(head, repeat(piece))) as server, pytest.raises(EndpointError, match=told):
        CALLS[name](client_at(server.origin, 0.5))


ODD_VALUES = [None, [], {}, "x", -1, 1.5, 10**400, True, [None], [[]], ["x"], {"a": 1}]
ODD_BYTES = [b"\xff\xfe", b"[" * 200_000, b"9" * 10_000, b"\x00", b"", b"NaN", b'{"a":' * 100_000]
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
