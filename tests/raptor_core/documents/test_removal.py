"""The table of what may be dropped: a document that is unknown is never gone."""

import pytest

from raptor_core.documents import Document, Skipped, UnreadPlaces, decide_partitions_to_keep
from raptor_core.settings import GroupingSettings, SourceSettings


def documents(*ids, source=""):
    return [Document(name, "Text.", source=source or name) for name in ids]


def decide(published, present=(), skipped=(), by="document", **given):
    limits = {key: given.pop(key) for key in ("max_removed", "max_removed_documents")}
    return decide_partitions_to_keep(
        published,
        present,
        skipped,
        settings=SourceSettings(**limits),
        grouping=GroupingSettings(by=by),
        **given,
    )


UNBOUNDED = {"max_removed": 1.0, "max_removed_documents": 10**9}
BOUNDS = {"max_removed": 0.5, "max_removed_documents": 3}


@pytest.mark.parametrize(
    ("place", "document_id", "source", "is_held"),
    [
        ("one", "one/a.md", "one/a.md", True),
        ("one", "one/two/three.md", "one/two/three.md", True),
        ("one/a.md", "one/a.md", "one/a.md", True),
        ("on", "one/a.md", "one/a.md", False),
        ("a.md", "one/a.md", "one/a.md", False),
        ("one", "two/one/a.md", "two/one/a.md", False),
        ("one/rows.jsonl", "r7", "one/rows.jsonl", True),
        ("one", "r7", "one/rows.jsonl", True),
        ("one", "r7", "s3://bucket/kb/one/rows.jsonl", True),
        ("one/rows.jsonl", "r7", "s3://bucket/kb/one/rows.jsonl", True),
        ("one", "r7", "s3://bucket/kb/stone/rows.jsonl", False),
        ("in", "r7", "zip://::/data/a.zip/in/rows.jsonl", True),
        ("wiki", "wiki/7", "wiki", True),
    ],
)
def test_an_unread_place_holds_all_at_it_and_below(place, document_id, source, is_held):
    unread = UnreadPlaces([Skipped(place, "cannot be listed")])
    assert bool(unread.place_of(document_id, source)) is is_held


@pytest.mark.parametrize("by", ["document", "folder", "corpus"])
def test_a_partition_with_an_unknown_document_is_kept_as_a_whole(by):
    published = {"any": documents("one/a.md", "two/b.md")}
    found = decide(published, {"two/b.md"}, [Skipped("one", "cannot be listed")], by, **UNBOUNDED)
    assert found.unknown_partitions == {"any": "one"}


ROWS = {name: documents(name, source="t.jsonl") for name in ("r1", "r2")}


@pytest.mark.parametrize(
    ("published", "skipped", "unknown"),
    [
        ({"one": documents("one/b.md")}, Skipped("one/new.pdf", ""), {}),
        ({"a.md": documents("a.md")}, Skipped("a.md", "is empty", is_empty=True), {}),
        (ROWS, Skipped("t.jsonl:1", "no text", place="r1"), {"r1": "r1"}),
        ({"a.md": (), "b.md": ()}, Skipped("a.md", "cannot be read"), {"a.md": "a.md"}),
    ],
    ids=["another file", "an empty file", "a row", "a partition that was never published"],
)
def test_what_is_unknown_follows_from_what_was_not_read(published, skipped, unknown):
    assert decide(published, (), [skipped], **UNBOUNDED).unknown_partitions == unknown


@pytest.mark.parametrize(
    ("n_gone", "n_others", "is_stopped"),
    [(1, 2, False), (2, 2, False), (2, 1, True), (3, 9, False), (4, 96, True), (3, 0, True)],
)
def test_a_share_and_a_number_bound_what_is_gone(n_gone, n_others, is_stopped):
    published = {f"{n}.md": documents(f"{n}.md") for n in range(n_gone)}
    found = decide(published, n_others=n_others, **BOUNDS)
    assert bool(found.reason) is is_stopped
    assert found.unconfirmed_partitions == (published.keys() if is_stopped else set())
    confirmed = decide(published, n_others=n_others, is_confirmed=True, **BOUNDS)
    assert (confirmed.unconfirmed_partitions, confirmed.reason) == (frozenset(), "")


def test_documents_that_leave_one_tree_of_many_are_counted():
    published = {"corpus": documents("a", "b", "c", "d")}
    found = decide(published, {"a"}, by="corpus", **BOUNDS)
    assert found.unconfirmed_partitions == {"corpus"}
    assert "3 of 4 published documents are gone" in found.reason
    assert "source.max_removed = 0.5" in found.reason


def test_what_moved_is_not_counted():
    published = {f"{n}.md": documents(f"{n}.md") for n in range(4)}
    assert decide(published, moved=set(published), **BOUNDS).reason == ""
    assert decide(published, moved={"0.md", "1.md"}, **BOUNDS).unconfirmed_partitions == set()


def test_an_empty_source_makes_every_absence_doubtful():
    published = {"a.md": documents("a.md")}
    found = decide(published, n_others=99, empty_sources=["/mnt/docs"], **BOUNDS)
    assert found.unconfirmed_partitions == {"a.md"}
    assert "/mnt/docs is empty" in found.reason
    assert decide({}, n_others=99, empty_sources=["/mnt/docs"], **BOUNDS).reason == ""
