"""Keys that no request can carry are refused at the start, and never shown."""

import pytest
from support.command import raptor
from support.stores import open_at

from raptor_core.credentials import check_key
from raptor_core.errors import MissingKeyError
from raptor_core.models.endpoints.dialects import find_key

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
        check_key(key, "SOME_KEY", "the reader")
    assert "lanted" not in str(caught.value)


@pytest.mark.parametrize("key", ["k", "sk-proj_1.2~3+4/5==", "a key of the tests", 'say "x"'])
def test_any_key_of_printable_letters_is_good(key):
    assert check_key(key, "SOME_KEY", "the reader") == key


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
        find_key("QDRANT_API_KEY", "http://127.0.0.1:9/v1", "reader")
