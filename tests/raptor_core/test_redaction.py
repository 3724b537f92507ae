"""Keys that no request can carry are refused, and no address is shown with its password."""

import pytest
from support.command import raptor
from support.stores import open_at

from raptor_core.credentials import require_sendable_key
from raptor_core.errors import MissingKeyError, SourceError
from raptor_core.filesystems import open_file_system
from raptor_core.models.endpoints.dialects import find_api_key
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
        open_file_system("ftp://ada:secret@127.0.0.1/papers", SourceError)
    assert "ftp://***@127.0.0.1" in str(raised.value)


BAD_KEYS = {
    "empty": "",
    "white space": " \t",
    "a space before": " planted-key",
    "a space after": "planted-key ",
    "a line break after": "planted-key\n",
    "a line break inside": "planted\nkey",
    "a letter beyond ASCII": "planted-kéy",
    "a letter of another alphabet": "рlanted-key",
    "a byte that is no UTF-8": "planted\udcff",
    "an escape sequence": "planted\x1b]0;key\x07",
    "quotes": '"planted-key"',
    "quotes of a shell": "'planted-key'",
    "longer than a header": "planted" * 1000,
}


@pytest.mark.parametrize("key", BAD_KEYS.values(), ids=BAD_KEYS)
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(key):
    with pytest.raises(MissingKeyError, match=r"SOME_KEY.*no usable key for the reader") as caught:
        require_sendable_key(key, "SOME_KEY", "the reader")
    assert "lanted" not in str(caught.value)


@pytest.mark.parametrize("key", ["k", "sk-proj_1.2~3+4/5==", "a key of the tests", 'say "x"'])
def test_any_key_of_printable_letters_is_good(key):
    assert require_sendable_key(key, "SOME_KEY", "the reader") == key


@pytest.mark.parametrize("variable", ["RAPTOR_API_KEY", "RAPTOR_WRITING_KEY"])
@pytest.mark.parametrize("name", ["empty", "a line break inside"])
def test_no_server_starts_with_a_key_that_no_request_can_send(variable, name, tmp_path):
    refused = raptor("serve", "--home", tmp_path / "none", **{variable: BAD_KEYS[name]})
    assert refused.code == 7
    assert variable in refused.err
    assert "lanted" not in refused.err + refused.out


@pytest.mark.parametrize("key", ["planted-kéy", "planted\nkey", '"planted"'])
def test_keys_of_endpoints_and_of_qdrant_are_checked_before_the_first_request(key, monkeypatch):
    monkeypatch.setenv("QDRANT_API_KEY", key)
    with pytest.raises(MissingKeyError, match="QDRANT_API_KEY"):
        open_at(None, "server", url="http://127.0.0.1:9")
    with pytest.raises(MissingKeyError, match="QDRANT_API_KEY"):
        find_api_key("QDRANT_API_KEY", "http://127.0.0.1:9/v1", "reader")
