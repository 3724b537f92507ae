"""Laws of sections and grouping."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raptor_core.documents import (
    Document,
    Partitions,
    partition_key,
    tree_name,
)
from raptor_core.errors import SourceError
from raptor_core.identity import to_nfc
from raptor_core.settings import GroupingSettings
from raptor_formats.markup.html import parse_html
from raptor_formats.markup.markdown import parse_markdown
from raptor_formats.markup.rst import parse_rst

NAMES = st.text(max_size=40) | st.text("a. %/\t", max_size=12) | st.text("ab", min_size=150)


@pytest.mark.parametrize("field", ["id", "text", "title", "source"])
def test_a_document_refuses_none_in_words(field):
    values = {"id": "a.md", "text": "A text.", field: None}
    with pytest.raises(SourceError, match=rf"expected a text as {field}, got None; leave it out"):
        Document(**values)


@given(
    st.text(st.characters(exclude_categories=["Cc", "Cs"]) | st.sampled_from("\n\t"))
    | st.text("<>/!-&;'\"= #ap1hrtdliun\n", max_size=80)
)
def test_any_text_can_be_parsed(text):
    for parse in (parse_markdown, parse_rst, parse_html):
        parsed = parse(b"Text. " * 9 + text.encode("utf-8", "replace"))
        assert all(0 <= s.start < s.end <= len(parsed.text) for s in parsed.sections)
        assert not any(ord(char) < 32 and char not in "\n\t" for char in parsed.text)


@pytest.mark.slow
@given(st.sets(NAMES))
def test_partition_keys_are_safe_and_never_shared(names):
    keys = [partition_key(name, GroupingSettings()) for name in names]
    assert len(set(keys)) == len(names)
    for key in keys:
        assert key == key.strip() != ""
        assert "..." not in key
        assert not any(unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} for char in key)
        assert len(key.encode()) <= 200


READERS = st.sets(st.sampled_from(["*", "ana", "ana, ben", "ben", "everyone", "group:hr"]))


@given(
    st.dictionaries(NAMES.map(to_nfc), READERS),
    st.sampled_from(["document", "folder", "corpus"]),
    st.sampled_from([0, 3]),
    st.booleans(),
)
def test_every_document_is_in_exactly_one_tree(names, by, shards, separate):
    grouping = GroupingSettings(by=by, shards=shards, separate_readers=separate)
    documents = [Document(name, "Text.", readers=tuple(of)) for name, of in names.items()]
    groups = Partitions(sorted(documents, key=lambda document: document.id), grouping)
    placed = [
        (partition, tree, document)
        for partition, trees in groups.items()
        for tree, members in trees.items()
        for document in members
    ]
    assert sorted(document.id for *_, document in placed) == sorted(names)
    for partition, tree, document in placed:
        assert tree == tree_name(document.id, document.readers, grouping)
        assert partition == partition_key(tree, grouping)
    assert list(groups) == sorted(groups)
    assert all(list(trees) == sorted(trees) for trees in groups.values())
    if separate and by != "document":
        sets = {(tree, "*" if "*" in d.readers else d.readers) for _, tree, d in placed}
        assert len(sets) == len({tree for tree, _ in sets})


def test_a_tree_is_named_by_its_grouping():
    document = Document("guide/setup/a.md", "Text.")
    assert tree_name(document.id, (), GroupingSettings()) == "guide/setup/a.md"
    assert tree_name(document.id, (), GroupingSettings(by="folder")) == "guide/setup"
    assert tree_name("a.md", (), GroupingSettings(by="folder")) == "."
    assert tree_name(document.id, (), GroupingSettings(by="corpus")) == "corpus"


@pytest.mark.parametrize(
    ("readers", "name"),
    [
        (("*", "ana"), "hr (everyone)"),
        (("ana", "group:hr"), "hr (ana, group:hr)"),
        (("everyone",), "hr (everyone~4a11513c4869ddec)"),
        (("a(b)c",), "hr (a_b_c~0025a90e80a66315)"),
        (tuple(f"g{n}" for n in range(999)), "hr (g0, g1, g2, g3, g4, g5, g6, g7, g8, g9, g10, "),
    ],
)
def test_the_name_of_a_tree_ends_in_its_readers(readers, name):
    tree = tree_name("hr/a.md", readers, GroupingSettings(by="folder"))
    assert tree.startswith(name)
    assert len(tree) < 90
    assert tree_name("hr/a.md", readers, GroupingSettings()) == "hr/a.md"
    apart = GroupingSettings(by="folder", separate_readers=False)
    assert tree_name("hr/a.md", readers, apart) == "hr"


def test_the_shard_of_a_tree_is_the_same_on_every_machine():
    shards = [partition_key(name, GroupingSettings(shards=100)) for name in ("a.md", "guide/b.md")]
    assert shards == ["shard-0046", "shard-0018"]
