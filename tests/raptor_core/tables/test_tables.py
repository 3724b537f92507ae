"""Tables: nothing is lost between values, frames and files, and nothing half-written stays."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raptor_core.documents.base import Document, Section
from raptor_core.errors import TableError
from raptor_core.nodes import End, Fit, Node
from raptor_core.tables import (
    TableStore,
    clusterings_to_frame,
    documents_to_frame,
    frame_to_clusterings,
    frame_to_documents,
    frame_to_nodes,
    nodes_to_frame,
)
from raptor_core.tree.cluster import Clustering

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
METADATA = st.dictionaries(TEXT, st.one_of(TEXT, st.integers(-5, 5), st.booleans()), max_size=3)
NODES = st.builds(
    Node,
    id=TEXT,
    tree=TEXT,
    layer=st.integers(0, 5),
    content_key=TEXT,
    text=TEXT,
    n_tokens=st.integers(0, 9),
    position=st.integers(0, 9),
    documents=st.lists(TEXT, max_size=3).map(tuple),
    children=st.lists(TEXT, max_size=3).map(tuple),
    fingerprint=TEXT,
    embedding_key=TEXT,
    start=st.integers(-1, 9),
    end=st.integers(-1, 9),
    section=st.lists(TEXT, max_size=2).map(tuple),
    source=TEXT,
    context=TEXT,
    metadata=METADATA,
    quality=st.dictionaries(TEXT, st.floats(allow_nan=False), max_size=2),
)


def through_a_file(folder, frame):
    store = TableStore(str(folder))
    store.write(["layer_1", "summaries"], "a/b c", frame, {"input": "version"})
    return store.read(["layer_1", "summaries"], "a/b c")


@given(st.lists(NODES, max_size=4))
def test_nodes_survive(tmp_path_factory, nodes):
    frame = through_a_file(tmp_path_factory.mktemp("t"), nodes_to_frame(nodes))
    assert list(frame_to_nodes(frame)) == nodes


def test_documents_survive(tmp_path):
    documents = {
        "tree": (
            Document("a.md", "# A\ntext", "A", "src/a.md", (Section("A", 1, 0, 8),), {"n": 1}),
            Document("b.md", "", "", "src/b.md"),
        )
    }
    frame = through_a_file(tmp_path, documents_to_frame(documents))
    assert frame_to_documents(frame) == documents


def test_clusterings_survive_with_their_end(tmp_path):
    fit = Fit("method", 1, 0.75, 0.7, "first fit")
    clusterings = {
        "a": Clustering(
            "a", 0, (("1", "2"), ("2", "3")), None, {"n_local": 2.0}, ("s1", "s2"), fit
        ),
        "b": Clustering("b", 0, (), End(0, "one node"), {}),
    }
    frame = through_a_file(tmp_path, clusterings_to_frame(clusterings.values()))
    assert frame_to_clusterings(frame) == clusterings


def test_an_empty_table_has_the_schema_of_a_full_one(tmp_path):
    frame = through_a_file(tmp_path, nodes_to_frame([]))
    assert frame_to_nodes(frame) == ()
    assert frame["n_tokens"].dtype == "int64"


def test_properties_are_read_without_the_rows(tmp_path):
    store = TableStore(str(tmp_path))
    store.write(["chunks"], "p", nodes_to_frame([]), {"input": "v1", "code": "ü"})
    assert store.properties(["chunks"], "p") == {"input": "v1", "code": "ü"}


def test_a_table_on_another_filesystem(tmp_path):
    store = TableStore("memory://tables-test")
    store.write(["chunks"], "p", nodes_to_frame([]))
    assert store.exists(["chunks"], "p")
    assert store.delete(["chunks"], "p")
    assert not store.exists(["chunks"], "p")
    assert not store.delete(["chunks"], "p")


@pytest.mark.parametrize("partition", ["a", "a/b", "../up", "a b", "ä", "x%2Fy", "."])
def test_any_partition_name_is_one_file_below_the_key(tmp_path, partition):
    store = TableStore(str(tmp_path))
    store.write(["chunks"], partition, nodes_to_frame([]))
    assert [path.parent for path in tmp_path.rglob("*.parquet")] == [tmp_path / "chunks"]
    assert store.exists(["chunks"], partition)


def test_a_missing_table_says_what_to_do(tmp_path):
    with pytest.raises(TableError, match="materialize its asset"):
        TableStore(str(tmp_path)).read(["chunks"], "p")


def test_a_damaged_table_is_named(tmp_path):
    store = TableStore(str(tmp_path))
    path = store.write(["chunks"], "p", nodes_to_frame([]))
    with Path(path).open("r+b") as file:
        file.truncate(30)
    with pytest.raises(TableError, match=r"chunks/p\.parquet is damaged"):
        store.read(["chunks"], "p")
    with pytest.raises(TableError, match=r"chunks/p\.parquet is damaged"):
        store.properties(["chunks"], "p")


FULL_DISK = """
import resource, signal, sys
from raptor_core.errors import TableError
from raptor_core.tables import TableStore, documents_to_frame
from raptor_core.documents.base import Document
import random
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = TableStore(sys.argv[1])
store.write(["chunks"], "p", documents_to_frame({"t": [Document("a", "old")]}))
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
text = "".join(chr(random.randint(32, 900)) for _ in range(200_000))
try:
    store.write(["chunks"], "p", documents_to_frame({"t": [Document("a", text)]}))
except TableError as error:
    print(error)
"""


def test_a_full_disk_is_an_error_with_a_remedy_and_the_old_table_stays(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert "cannot write the table" in run.stdout
    assert "Free space" in run.stdout
    documents = frame_to_documents(TableStore(str(tmp_path)).read(["chunks"], "p"))
    assert documents["t"][0].text == "old"
    assert [name for _, _, names in os.walk(tmp_path) for name in names] == ["p.parquet"]
