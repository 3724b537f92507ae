"""Secrets of a source's URL: they stay at the server that they are for."""

from support.raw_server import RawServer

from raptor_core.documents import load_documents
from raptor_core.settings import SourceSettings


def sending(*lines):
    """A reply of these lines."""
    reply = "\r\n".join(lines).encode()
    return lambda connection, _request: connection.sendall(reply)


def test_a_password_stays_at_the_server_that_it_is_for():
    page = sending("HTTP/1.1 200 OK", "Content-Length: 5", "Connection: close", "", "taken")
    with RawServer(page) as elsewhere:
        location = f"Location: {elsewhere.origin}/page.md"
        moved = sending("HTTP/1.1 302 Found", location, "Content-Length: 0", "", "")
        with RawServer(moved) as site:
            url = site.origin.replace("http://", "http://user:hunter2@") + "/moved.md"
            corpus = load_documents(settings=SourceSettings(paths=(url,)))
    assert [document.text for document in corpus.documents] == ["taken"]
    assert any(b"authorization" in request.lower() for request in site.requests)
    assert elsewhere.requests
    assert not any(b"authorization" in request.lower() for request in elsewhere.requests)
