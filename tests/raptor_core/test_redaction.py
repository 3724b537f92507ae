"""What is told of addresses: never a password, and the proxy that a request would go through."""

import pytest
from support.endpoint_clients import ask
from support.ports import free_port

from raptor_core.errors import EndpointError, SourceError, StoreError
from raptor_core.filesystems import open_place
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.redaction import hide_credentials, hide_secrets, proxy_hint
from raptor_core.settings import SummarizerSettings
from raptor_core.settings.stores import StoreSettings
from raptor_core.store import stored_identity

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


def test_a_store_and_an_endpoint_that_are_not_reached_through_a_proxy_say_so(environment):
    environment.setenv("http_proxy", f"http://ada:secret@127.0.0.1:{free_port()}")
    environment.setenv("ANY_KEY", "key")
    store = StoreSettings(kind="server", url="http://127.0.0.1:1", max_retries=0)
    with pytest.raises(StoreError, match="through the proxy in HTTP_PROXY") as of_store:
        stored_identity(store, None)
    url = "http://127.0.0.1:1/v1"
    settings = SummarizerSettings(kind="openai", base_url=url, api_key_env="ANY_KEY", max_retries=0)
    with pytest.raises(EndpointError, match="through the proxy in HTTP_PROXY") as of_endpoint:
        EndpointClient(settings).chat(ask())
    assert "secret" not in f"{of_store.value}{of_endpoint.value}"


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
