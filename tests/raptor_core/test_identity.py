"""Keys and ids depend only on content and settings."""

from hypothesis import given
from hypothesis import strategies as st

from raptor_core.identity import (
    digest,
    embedding_key,
    fingerprint,
    leaf_content_key,
    leaf_id,
    normalize_text,
    summary_content_key,
    summary_id,
)


def test_known_values_stay_the_same_on_every_machine():
    assert leaf_content_key("A tide gauge.", 0, "f") == leaf_content_key("A  tide\ngauge. ", 0, "f")
    assert digest("a", "b") == "3c9d591045bc8876f9d0399bbfb05c6a"
    assert summary_id("t", 1, "k") == "668b7298-5d94-560a-9a15-45c5d24a4b89"


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_digests_of_different_parts_differ(left, right):
    assert (digest(*left) == digest(*right)) == (left == right)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=6), st.randoms())
def test_a_summary_key_ignores_the_order_of_children(keys, random):
    shuffled = keys[:]
    random.shuffle(shuffled)
    assert summary_content_key(keys, "f") == summary_content_key(shuffled, "f")
    assert summary_content_key(keys, "f") != summary_content_key(keys, "g")
    assert summary_content_key([*keys, keys[0]], "f") != summary_content_key(keys, "f")


def test_equal_chunks_of_two_documents_are_two_nodes_of_equal_content():
    key = leaf_content_key("Same words.", 0, "f")
    assert leaf_id("t", "a.md", key) != leaf_id("t", "b.md", key)
    assert leaf_id("t", "a.md", key) == leaf_id("t", "a.md", key)
    assert leaf_content_key("Same words.", 1, "f") != key


def test_copies_of_a_summary_are_told_apart():
    assert summary_id("t", 1, "k", 0) != summary_id("t", 1, "k", 1)
    assert summary_id("t", 1, "k") != summary_id("t", 2, "k")


@given(st.text())
def test_normalizing_twice_is_the_same_as_once(text):
    assert normalize_text(normalize_text(text)) == normalize_text(text)


def test_a_fingerprint_ignores_the_order_of_keys():
    assert fingerprint("k", {"a": 1, "b": 2}) == fingerprint("k", {"b": 2, "a": 1})
    assert embedding_key("text", "a") != embedding_key("text", "b")
