"""Readings, entries and partitions say what was put into them."""

from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from raptor_core.documents import (
    Catalog,
    Document,
    Entry,
    FileReading,
    Inventory,
    Skipped,
)
from raptor_core.identity import digest

TEXTS = st.text(st.characters(), max_size=12)
"""Lone surrogates and NUL included."""


def entry(name, text=""):
    return Entry.of(Document(name, text or name))


def reading(*named, skipped=()):
    return FileReading(digest("stamp"), digest("content"), True, tuple(named), tuple(skipped))


@examples(30)
@given(st.lists(st.tuples(TEXTS, TEXTS)), st.lists(st.builds(Skipped, TEXTS, TEXTS, st.booleans())))
def test_a_reading_in_a_row_is_read_as_it_was(named, skipped):
    pairs = [(name, entry(document_id)) for name, document_id in named]
    catalog, copy = Catalog({b"a": reading(*pairs, skipped=skipped)}), Catalog()
    copy.add_rows(catalog.rows())
    assert copy == catalog
    assert copy[b"a"].ids == [found.id for _, found in pairs]


def test_a_reading_that_failed_has_no_content_and_is_forgotten():
    failed = FileReading(digest("stamp"), "", False, (), (Skipped("a", "no"),))
    catalog = Catalog({b"a" * 16: failed, b"b" * 16: reading()})
    assert catalog[b"a" * 16] == failed
    catalog.forget_unread()
    assert list(catalog) == [b"b" * 16]


def test_a_catalog_is_current_a_final_stamp_alone():
    later = FileReading(digest("stamp"), digest("content"), False)
    catalog = Catalog({b"a" * 16: reading(), b"b" * 16: later})
    assert catalog.is_current(b"a" * 16, digest("stamp"))
    assert not catalog.is_current(b"a" * 16, digest("another"))
    assert not catalog.is_current(b"b" * 16, digest("stamp"))
    assert not catalog.is_current(b"c" * 16, digest("stamp"))


def test_their_digest_changes_with_any_version_and_with_nothing_else():
    entries = [entry(name) for name in "abc"]
    whole = Inventory(tuple(entries))
    assert whole.digest == Inventory(tuple(map(entry, "abc"))).digest
    assert whole.digest != whole.without({"a"}).digest
    moved = Entry("a", entries[0].content_hash, digest("elsewhere"))
    assert whole.digest != Inventory((moved, *entries[1:])).digest
