"""Requests without a key cannot fill the memory of `raptor serve`, nor keep others from it."""

import contextlib
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from support.command import raptor
from support.ports import free_port

pytestmark = [pytest.mark.slow, pytest.mark.rare]

CODE = """
import sys
from raptor_assets.cli.commands.servers import run_server
from raptor_assets.serving.http import make_app
run_server(make_app(None, "key"), "127.0.0.1", int(sys.argv[1]), "critical")
"""
MEGABYTE = 1 << 20
SENT = 20 * MEGABYTE
GET = b"GET /health HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
FLOODS = {
    "an endless request line": (b"GET /", b"x" * 65_536),
    "an endless method": (b"", b"G" * 65_536),
    "an endless query": (b"GET /trees?name_contains=", b"%41" * 20_000),
    "an endless header": (GET + b"X-Long: ", b"x" * 65_536),
    "headers without end": (GET, b"X: y\r\n" * 10_000),
    "a key without end": (GET + b"Authorization: Bearer ", b"k" * 65_536),
    "a body in chunks": (
        POST + b"Transfer-Encoding: chunked\r\n\r\n",
        b"8000\r\n%b\r\n" % (b"x" * 32_768),
    ),
    "an endless name of a chunk": (POST + b"Transfer-Encoding: chunked\r\n\r\n1;", b"x" * 65_536),
    "endless trailers": (POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n" * 10_000),
    "a body of a length that is told": (POST + b"Content-Length: 600000000\r\n\r\n", b"x" * 65_536),
    "requests in a row": (b"", (GET + b"\r\n") * 2_000),
}


@contextlib.contextmanager
def serving_floods():
    port = free_port()
    command = [sys.executable, "-c", CODE, str(port)]
    process = subprocess.Popen(command)
    try:
        while process.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                is_up(port)
                break
            time.sleep(0.05)
        yield port, process.pid
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def server():
    with serving_floods() as served:
        yield served


def is_up(port):
    return httpx.get(f"http://127.0.0.1:{port}/health", timeout=20).json()["status"] == "ok"


def connected(port):
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def memory(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def flood(connection, head, piece):
    """Send until the server hangs up or takes no more; the bytes that it took."""
    n_sent = 0
    connection.settimeout(2)
    with contextlib.suppress(OSError):
        connection.sendall(head)
        while n_sent < SENT:
            n_sent += connection.send(piece)
    return n_sent


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_of_a_request_is_cut_off_and_others_are_answered(server, name):
    port, pid = server
    assert is_up(port)
    before = memory(pid)
    with contextlib.ExitStack() as stack:
        for _ in range(8):
            connection = stack.enter_context(connected(port))
            assert flood(connection, *FLOODS[name]) < SENT
            assert is_up(port)
        assert memory(pid) - before < 32 * MEGABYTE


def test_an_ordinary_request_after_a_refused_one_is_answered(server):
    port, _ = server
    with connected(port) as connection:
        connection.sendall(GET + b"X: " + b"x" * 200_000)
        answer = connection.recv(1000)
    assert answer.startswith(b"HTTP/1.1 400")
    long_question = "q" * 10_000
    refused = httpx.get(f"http://127.0.0.1:{port}/window/find", params={"words": long_question})
    assert refused.status_code == 401


@pytest.mark.parametrize(("command", "more"), [("serve", ()), ("mcp", ("--port", "8701"))])
def test_every_server_of_ours_is_bounded(built, monkeypatch, command, more):
    given = {}
    monkeypatch.setattr("uvicorn.Server.run", lambda server: given.update(vars(server.config)))
    assert raptor(command, *more, "--home", built.home).code == 0
    assert (given["http"], given["limit_concurrency"]) == ("h11", 512)
    assert given["h11_max_incomplete_event_size"] <= 1 << 16
    assert given["ws"] == "none"
