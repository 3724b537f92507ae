"""Documents are recognised by content under another id, each once."""

import pytest

from raptor_assets.corpus.changes import Changes, find_renames
from raptor_core.documents import Document, Entry, PublishedDocument


def entries(*pairs):
    return tuple(Entry.of(Document(name, text)) for name, text in pairs)


def renames(now, before):
    """By partition: what the source holds, and what is published; all of both has changed."""
    partitions = {name: {name: entries(*pairs)} for name, pairs in now.items()}
    published = {
        name: [PublishedDocument(e.id, e.content_hash) for e in entries(*pairs)]
        for name, pairs in before.items()
    }
    present = {document_id for pairs in now.values() for document_id, _ in pairs}
    found = find_renames(partitions, set(now), published, present)
    return dict(found.documents), dict(found.successors)


@pytest.mark.parametrize(
    ("now", "before", "documents", "successors"),
    [
        ({"b": ["bx"]}, {"a": ["ax"]}, {"b": "a"}, {"a": ("b",)}),
        ({"b": ["by"]}, {"a": ["ax"]}, {}, {}),
        ({"b": ["bx"], "a": ["ax"]}, {"a": ["ax"]}, {}, {}),  # a copy
        ({"c": ["cx"], "d": ["dx"]}, {"a": ["ax"], "b": ["bx"]}, {"c": "a", "d": "b"}, None),
        ({"c": ["cx"], "d": ["dx"]}, {"a": ["ax"]}, {"c": "a"}, {"a": ("c",)}),
        ({"f": ["bx", "cy"]}, {"f": ["ax", "cy"]}, {"b": "a"}, {}),  # within one partition
        ({"f": ["cy"], "g": ["bx"]}, {"f": ["ax", "cy"]}, {"b": "a"}, {"f": ("g",)}),
        ({"a": ["ay"], "b": ["bx"]}, {"a": ["ax"], "b": ["by"]}, {}, {}),  # texts were swapped
        ({}, {"a": ["ax"]}, {}, {}),
        ({"a": ["ax"]}, {}, {}, {}),
    ],
)
def test_pairs(now, before, documents, successors):
    def split(trees):
        return {name: [tuple(item) for item in items] for name, items in trees.items()}

    found = renames(split(now), split(before))
    assert found[0] == documents
    if successors is not None:
        assert found[1] == successors


def test_partitions_that_documents_leave_come_last():
    changes = Changes(successors={"a": ("c",)})
    assert changes.in_order("dcab") == ["b", "c", "d", "a"]
