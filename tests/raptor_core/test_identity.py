"""Keys and ids of nodes, and file names of ids."""

import os
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from raptor_core.identity import (
    MAX_ID_BYTES,
    digest,
    embedding_key,
    fingerprint,
    leaf_content_key,
    leaf_id,
    n_bytes,
    normalize_text,
    safe_name,
    summary_content_key,
    summary_id,
)
from raptor_core.nodes import Node
from raptor_core.tables.files import TableStore
from raptor_core.tables.values import nodes_to_table
from raptor_core.tree.corpus_tree import top_documents


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


NAMES = [
    "",
    ".",
    "..",
    "a/b",
    "a%2Fb",
    "a\\b",
    "../../etc/passwd",
    "guides/pumps.md",
    "手冊/泵.md",
    "überblick",
    " x",
    'a:b*c?d"e<f>g|h',
    "a\nb",
    "\ud800",
    "😀",
    "手" * 300,
    "手" * 301,
    "x" * 5000,
]
NODE = Node("1", "t", 0, "k", "text", 1, 0, ("a.md",), (), "f", "e")
ALIKE = [
    ("A.md", "a.md"),
    ("Straße.md", "strasse.md"),
    ("caf\u00e9.md", "cafe\u0301.md"),
    ("\u212b", "\u00e5"),
    ("ΟΔΟΣ", "οδος"),
    ("οδος", "οδοσ"),
    ("I", "ı"),
    ("\u017f", "s"),
    ("a\ufe0fb", "ab"),
    ("a\u034fb", "ab"),
    ("guide.", "guide"),
    ("guide ", "guide"),
    ("a/B", "a%2FB"),
    ("%2f", "/"),
    ("x" * 200 + "A", "x" * 200 + "a"),
    ("X" * 200, "x" * 200),
]
"""Pairs of ids that at least one file system takes for one name."""

FOLDINGS = {
    "NTFS and vfat": str.upper,
    "lower case": str.lower,
    "APFS": lambda name: unicodedata.normalize("NFD", name).casefold(),
    "composed": lambda name: unicodedata.normalize("NFC", name),
    "both": lambda name: unicodedata.normalize(
        "NFC", unicodedata.normalize("NFD", name).upper()
    ).casefold(),
    "Windows, which cuts points and spaces": lambda name: name.rstrip(". ").casefold(),
}


def folded(name):
    """A name as each kind of file system compares it."""
    return {kind: fold(name) for kind, fold in FOLDINGS.items()}


def confused(first, second):
    """The kinds of file systems that take two names for one."""
    return {kind for kind, name in folded(first).items() if name == folded(second)[kind]}


@st.composite
def pairs(draw):
    """Two ids, of which the second is often the first in another case or form."""
    name = draw(st.text(max_size=60) | st.sampled_from(NAMES))
    forms = [*FOLDINGS.values(), str.title, str.swapcase, lambda n: f"{n}.", lambda n: f"%{n}"]
    forms += [lambda n, form=form: unicodedata.normalize(form, n) for form in ("NFC", "NFD")]
    other = draw(st.sampled_from([form(name) for form in forms]) | st.text(max_size=60))
    return name, other


@given(pairs())
def test_two_ids_have_two_names_on_every_disk(both):
    first, second = both
    assume(first != second)
    assert not confused(safe_name(first), safe_name(second))


@given(st.text(max_size=300))
def test_a_name_is_bounded_and_has_no_separator(text):
    name = safe_name(text)
    assert 0 < len(os.fsencode(f"{name}.parquet")) <= 143  # on an encrypted share
    assert not set('/\\:*?"<>|') & set(name)
    assert name[0] not in ". "
    assert name[-1] not in ". "


@pytest.mark.parametrize("name", ["con", "NUL.md", "com1", "Lpt9.tar.gz", "COM\u00b9", "index"])
def test_no_name_is_that_of_a_device_or_of_the_page_of_the_corpus(name):
    assert safe_name(name).partition(".")[0].casefold() != name.partition(".")[0].casefold()
    assert safe_name(f"{name}s") == f"{name}s" or not name.islower()


@pytest.mark.parametrize(("first", "second"), ALIKE)
def test_tables_of_two_ids_are_two_files(tmp_path, first, second):
    tables = TableStore(str(tmp_path))
    for key in (["chunks"], ["assets", first], ["assets", second]):
        paths = [tables.path(key, name) for name in (first, second)]
        assert not confused(*paths)
    assert not confused(tables.path(["a", first], "p"), tables.path(["a", second], "p"))


def test_no_key_of_an_asset_leaves_the_folder_of_tables(tmp_path):
    tables = TableStore(str(tmp_path / "tables"))
    for key in (["..", "a"], ["assets", "../../a"], ["/etc", "a"], ["assets", "con"]):
        tables.write(key, "..", nodes_to_table([NODE]))
        assert tables.exists(key, "..")
    assert [path.name for path in tmp_path.iterdir()] == ["tables"]


def test_top_nodes_of_a_tree_with_the_longest_name_keep_to_the_bound_of_ids():
    tree = "手" * (MAX_ID_BYTES // 3) + "x"
    nodes = [replace(NODE, id=str(number), tree=tree) for number in range(3)]
    ids = {document.id for document in top_documents(nodes)}
    assert len(ids) == 3
    assert max(map(n_bytes, ids)) <= MAX_ID_BYTES == n_bytes(tree)
    shorter = [replace(node, tree="guide") for node in nodes]
    assert {document.id for document in top_documents(shorter)} == {"guide#1", "guide#2", "guide#3"}
