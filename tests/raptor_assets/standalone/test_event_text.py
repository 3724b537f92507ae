"""Events as they are kept: packed by a dictionary that every later version has to know."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raptor_assets.project.event_text import pack, unpack

TEXT = '{"label": "n_trees"} 東京'
KEPT = bytes.fromhex("78bb05576da7ab463424f3e2412d01604352e1d9dc8d4f76ad0100861f0b69")
"""``TEXT`` as the first version that packed events kept it."""


def test_what_was_kept_once_is_read_for_ever():
    assert unpack(KEPT) == TEXT


@given(st.text())
def test_a_text_is_packed_and_unpacked(text):
    assert unpack(pack(text)) == text


def test_what_an_earlier_version_kept_is_text():
    assert unpack(TEXT) == TEXT


def test_damaged_bytes_are_no_text():
    with pytest.raises(zlib.error):
        unpack(KEPT[:8] + b"\xff" * 8)
