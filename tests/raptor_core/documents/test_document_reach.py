"""What a source's URL reaches, and what it sends there."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support.raw_server import RawServer

from raptor_core.documents import load_documents
from raptor_core.settings import SourceSettings

TEXT = "The lamp was lit in 1872."


class Site(BaseHTTPRequestHandler):
    """A page, and redirects to whatever is asked for."""

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path, _, target = self.path.partition("?to=")
        self.server.asked.append(self.path)
        moved = path == "/moved.md"
        self.send_response(302 if moved else 200)
        if moved:
            self.send_header("Location", target)
        body = b"" if moved else TEXT.encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def read(url, **settings):
    corpus = load_documents(settings=SourceSettings(paths=(url,), **settings))
    return [document.text for document in corpus.documents]


def test_a_password_stays_at_the_server_that_it_is_for(site):
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\ntaken"
    with RawServer(lambda connection, _request: connection.sendall(reply)) as elsewhere:
        target = f"/moved.md?to={elsewhere.origin}/page.md"
        url = f"http://user:hunter2@127.0.0.1:{site.server_port}{target}"
        assert read(url) == ["taken"]
    assert elsewhere.requests
    assert not any(b"authorization" in request.lower() for request in elsewhere.requests)
