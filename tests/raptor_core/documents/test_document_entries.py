"""Packed readings, entries and partitions say what was put into them."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from raptor_core.documents import (
    Catalog,
    Document,
    Entries,
    Entry,
    FileReading,
    Inventory,
    Partitions,
    Skipped,
    partition_key,
    tree_name,
)
from raptor_core.documents.catalog.entries import EntryCollector, FileEntries
from raptor_core.identity import digest
from raptor_core.settings import GroupingSettings

TEXTS = st.text(st.characters(), max_size=12)
"""Lone surrogates and NUL included."""


def entry(name, text=""):
    return Entry.of(Document(name, text or name))


def reading(*named, skipped=()):
    return FileReading(
        digest("stamp"), digest("content"), 7.5, True, FileEntries.of(named), tuple(skipped)
    )


@examples(30)
@given(st.lists(st.tuples(TEXTS, TEXTS)), st.lists(st.builds(Skipped, TEXTS, TEXTS, st.booleans())))
def test_a_packed_reading_is_read_as_it_was(named, skipped):
    pairs = [(name, entry(document_id)) for name, document_id in named]
    read = FileReading.unpack(reading(*pairs, skipped=skipped).pack())
    assert list(read.documents) == pairs
    assert read.ids == [found.id for _, found in pairs]
    assert (len(read.documents), read.skipped) == (len(pairs), tuple(skipped))
    assert (read.stamp, read.content) == (digest("stamp"), digest("content"))
    assert (read.first_seen, read.is_final) == (7.5, True)


def test_a_reading_that_failed_has_no_content_and_is_forgotten():
    failed = FileReading(digest("stamp"), "", 1.0, False, FileEntries(), (Skipped("a", "no"),))
    catalog = Catalog({b"a" * 16: failed.pack(), b"b" * 16: reading().pack()})
    assert catalog.reading(b"a" * 16) == failed
    catalog.forget_unread()
    assert list(catalog) == [b"b" * 16]


def test_a_catalog_is_current_a_final_stamp_alone():
    later = FileReading(digest("stamp"), digest("content"), 1.0, False)
    catalog = Catalog({b"a" * 16: reading().pack(), b"b" * 16: later.pack()})
    assert catalog.is_current(b"a" * 16, digest("stamp"))
    assert not catalog.is_current(b"a" * 16, digest("another"))
    assert not catalog.is_current(b"b" * 16, digest("stamp"))
    assert not catalog.is_current(b"c" * 16, digest("stamp"))


def test_rows_are_packed_into_less_than_fifty_bytes_each():
    named = [(f"papers.jsonl:{n}", entry(f"paper-{n}")) for n in range(1000)]
    assert len(reading(*named).pack()) < 50_000


def test_a_packed_reading_that_was_cut_is_not_read():
    with pytest.raises(struct.error):
        FileReading.unpack(reading().pack()[:20])


@examples(30)
@given(st.lists(st.lists(st.tuples(TEXTS, st.sampled_from("xy")), max_size=5), max_size=5))
def test_gathered_entries_are_the_first_of_each_id_in_order(files):
    gathered, first, taken = EntryCollector(), {}, set()
    for file in files:
        entries = [entry(name, text) for name, text in file]
        gathered.add(FileEntries.of((found.id, found) for found in entries))
        for found in entries:
            if found.id in first:
                taken.add(found.id)
            first.setdefault(found.id, found)
    entries, again = gathered.ordered()
    expected = [first[name] for name in sorted(first)]
    assert list(entries) == expected
    assert list(entries.ids()) == sorted(first)
    assert [entries[at] for at in range(len(entries))] == expected
    assert set(again) == taken
    assert entries == Entries.of(reversed(expected))


def test_their_digest_changes_with_any_version_and_with_nothing_else():
    entries = [entry(name) for name in "abc"]
    assert Entries.of(entries).digest == Entries.of(reversed(entries)).digest
    assert Entries.of(entries).digest != Entries.of(entries[1:]).digest
    moved = Entry("a", entries[0].content_hash, digest("elsewhere"))
    assert Entries.of(entries).digest != Entries.of([moved, *entries[1:]]).digest
    assert Entries.of(entries) != Entries.of(entries[1:])
    assert Entries.of([]).digest == Entries.of(()).digest


@examples(30)
@given(
    st.sets(st.text("ab/%.é", max_size=6)),
    st.sampled_from(["document", "folder", "corpus"]),
    st.integers(0, 3),
)
def test_partitions_are_what_grouping_makes(names, by, shards):
    grouping = GroupingSettings(by=by, shards=shards)
    entries = Entries.of(map(entry, names))
    partitions = Partitions(entries, grouping)
    whole: dict = {}
    for found in entries:
        tree = tree_name(found.id, grouping)
        trees = whole.setdefault(partition_key(tree, grouping), {})
        trees[tree] = (*trees.get(tree, ()), found)
    whole = {key: dict(sorted(whole[key].items())) for key in sorted(whole)}
    assert {name: dict(trees) for name, trees in partitions.items()} == whole
    assert list(partitions) == list(whole)
    assert len(partitions) == len(whole)
    assert [list(trees) for trees in partitions.values()] == [list(t) for t in whole.values()]
    documents = [Document(name, "text") for name in sorted(names)]
    of_documents = Partitions(documents, grouping)
    assert {
        name: {tree: [d.id for d in members] for tree, members in trees.items()}
        for name, trees in of_documents.items()
    } == {
        name: {tree: [e.id for e in members] for tree, members in trees.items()}
        for name, trees in whole.items()
    }
    inventory = Inventory(entries)
    assert inventory.partitions(grouping) is inventory.partitions(grouping.model_copy())
    assert "nowhere" not in partitions
