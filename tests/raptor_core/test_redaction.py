"""How addresses are shown: never a password, and the proxy that a request would go through."""

import pytest

from raptor_core.errors import SourceError
from raptor_core.filesystems import open_place
from raptor_core.redaction import hide_credentials, hide_secrets, proxy_hint

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("url", "variables", "named"),
    [
        ("http://qdrant:6333", {}, None),
        ("http://qdrant:6333", {"http_proxy": "http://ada:secret@proxy:3128"}, "HTTP_PROXY"),
        ("https://qdrant:6333", {"http_proxy": "http://proxy:3128"}, None),
        ("https://qdrant:6333/v", {"HTTPS_PROXY": "http://proxy:3128"}, "HTTPS_PROXY"),
        ("https://qdrant:6333", {"all_proxy": "http://proxy:3128"}, "ALL_PROXY"),
        ("http://qdrant:6333", {"http_proxy": "http://proxy", "no_proxy": "qdrant"}, None),
        ("http://a.here:1", {"http_proxy": "http://proxy", "NO_PROXY": "x,.here"}, None),
        ("http://qdrant:6333", {"http_proxy": "http://proxy", "no_proxy": "other"}, "HTTP_PROXY"),
    ],
)
def test_a_proxy_is_named_by_its_variable(environment, url, variables, named):
    for name, value in variables.items():
        environment.setenv(name, value)
    hint = proxy_hint(url)
    assert hint == "" if named is None else f" {named}," in hint
    assert "secret" not in hint


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://ada:word@host/x@1", "http://ada:***@host/x@1"),
        ("https://secret@host/x", "https://***@host/x"),
        ("sftp://ada@host/x", "sftp://ada@host/x"),
        ("https://cdn/npm/pkg@1.2/readme.md?page=3", "https://cdn/npm/pkg@1.2/readme.md?page=3"),
        ("https://a.blob/x.pdf?sp=r&sig=secret%3D&v=1", "https://a.blob/x.pdf?sp=r&sig=***&v=1"),
        (
            "https://s3/x?X-Amz-Date=1&X-Amz-Signature=secret",
            "https://s3/x?X-Amz-Date=***&X-Amz-Signature=***",
        ),
        ("https://host/x?Token=secret", "https://host/x?Token=***"),
    ],
)
def test_what_a_url_shows_holds_no_secret(url, shown):
    assert hide_secrets(url) == shown
    assert "secret" not in hide_credentials(f"GET {url}: refused")


def test_a_place_that_cannot_be_opened_is_named_without_its_password():
    with pytest.raises(SourceError, match="FTP is not supported") as raised:
        open_place("ftp://ada:secret@127.0.0.1/papers", SourceError)
    assert "ftp://***@127.0.0.1" in str(raised.value)
