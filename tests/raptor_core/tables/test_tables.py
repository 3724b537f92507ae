"""Tables: nothing is lost between values, frames and files, and nothing half-written stays."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.object_store import KEY, SECRET, forget_connections

from raptor_core.errors import DamagedTableError, TableError
from raptor_core.nodes import ClusterFit, Node, TreeEnd
from raptor_core.tables.files import TableStore
from raptor_core.tables.schema import Schema
from raptor_core.tables.values import (
    clusterings_to_table,
    nodes_to_table,
    table_to_clusterings,
    table_to_nodes,
)
from raptor_core.tree.cluster import Clustering

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
METADATA = st.dictionaries(TEXT, st.one_of(TEXT, st.integers(-5, 5), st.booleans()), max_size=3)
ANY_NODE = st.builds(
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
    paragraphs=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9)), max_size=2).map(tuple),
    metadata=METADATA,
    quality=st.dictionaries(TEXT, st.floats(allow_nan=False), max_size=2),
)


NODE = Node("1", "t", 0, "k", "text", 1, 0, ("a.md",), (), "f", "e", metadata={"n": 1})

KINDS = {
    "string": TEXT,
    "int": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
    "float": st.one_of(st.none(), st.floats(allow_nan=False)),
    "list[string]": st.lists(TEXT, max_size=3).map(tuple),
    "json": st.one_of(st.none(), METADATA, st.lists(TEXT, max_size=2)),
    "bytes": st.binary(max_size=9),
}
ALL_KINDS = Schema(*((kind, kind) for kind in KINDS))


def through_a_file(folder, table):
    store = TableStore(str(folder))
    store.write(["layer_1", "summaries"], "a/b c", table, {"input": "version"})
    return store.read(["layer_1", "summaries"], "a/b c")


@given(st.lists(ANY_NODE, max_size=4))
def test_nodes_are_read_from_a_table_as_they_were_written(tmp_path_factory, nodes):
    table = through_a_file(tmp_path_factory.mktemp("t"), nodes_to_table(nodes))
    assert list(table_to_nodes(table)) == nodes


@given(st.lists(st.tuples(*KINDS.values()), max_size=9))
def test_rows_of_every_kind_survive(tmp_path_factory, rows):
    table = through_a_file(tmp_path_factory.mktemp("t"), ALL_KINDS.to_table(rows))
    table.validate(full=True)
    assert list(ALL_KINDS.rows(table)) == rows


def test_a_data_frame_keeps_its_types_and_a_column_without_values_is_text(tmp_path):
    at = pd.Timestamp("2024-01-01").as_unit("us")
    frame = pd.DataFrame({"layer": [1, 2], "at": at, "word": ["a", None]})
    frame["kind"] = pd.Categorical(["x", "y"])
    store = TableStore(str(tmp_path))
    store.write(["own"], "p", frame.assign(empty=None))
    found = store.read(["own"], "p")
    assert found.schema.field("empty").type == pa.string()
    pd.testing.assert_frame_equal(found.drop("empty").to_pandas(), frame)


def test_some_columns_of_a_table_are_found_and_none_of_one_that_is_missing(tmp_path):
    store = TableStore(str(tmp_path))
    assert store.read_if_exists(["chunks"], "p") is None
    assert store.properties(["chunks"], "p") is None
    store.write(["chunks"], "p", nodes_to_table([NODE]))
    assert store.read_if_exists(["chunks"], "p", ["tree"]).to_pylist() == [{"tree": "t"}]


def test_clusterings_survive_with_their_end(tmp_path):
    fit = ClusterFit("method", 1, 0.75, 0.7, "first fit")
    clusterings = {
        "a": Clustering(
            "a", 0, (("1", "2"), ("2", "3")), None, {"n_local": 2.0}, ("s1", "s2"), fit
        ),
        "b": Clustering("b", 0, (), TreeEnd(0, "one node"), {}),
    }
    table = through_a_file(tmp_path, clusterings_to_table(clusterings.values()))
    assert table_to_clusterings(table) == clusterings


def test_clusters_have_the_responsibilities_of_their_component_where_they_were_fitted(tmp_path):
    groups, likely = (("1", "3"), ("2", "3")), ((1.0, 0.4), ())
    done = Clustering("t", 0, groups, None, {}, ("s1", "s2"), None, likely)
    table = through_a_file(tmp_path, clusterings_to_table([done]))
    assert table.column("responsibilities").to_pylist() == ["[1.0, 0.4]", "null"]
    assert table_to_clusterings(table) == {"t": done}


@pytest.mark.slow
def test_no_changed_byte_of_a_page_gives_other_rows(tmp_path):
    text = "".join(sha256(bytes([n])).hexdigest() for n in range(8))  # hardly compressed
    store, nodes = TableStore(str(tmp_path)), (replace(NODE, text=text),)
    path = Path(store.write(["chunks"], "p", nodes_to_table(nodes)))
    data = path.read_bytes()
    footer, n_found = len(data) - 8 - int.from_bytes(data[-8:-4], "little"), 0
    for at in range(4, footer):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        try:
            assert table_to_nodes(store.read(["chunks"], "p")) == nodes
        except DamagedTableError:
            n_found += 1
    assert n_found > footer / 2


AT = (["layer_1", "summaries"], "a/b c")


def frame(word, n_rows=3):
    import pandas as pd

    return pd.DataFrame({"tree": [word] * n_rows, "position": range(n_rows)})


@pytest.mark.rare
@pytest.mark.slow
def test_a_table_comes_back_and_goes(s3):
    bucket = s3.new_bucket()
    store = TableStore(f"s3://{bucket}/tables")
    assert not store.exists(*AT)
    store.write(*AT, frame("one"), {"input": "v1"})
    assert store.read(*AT).to_pandas().equals(frame("one"))
    assert store.properties(*AT) == {"input": "v1"}
    assert s3.keys(bucket) == {"tables/layer_1/summaries/a%2fb c.parquet"}
    assert store.delete(*AT)
    assert not store.delete(*AT)
    assert s3.keys(bucket) == set()


@pytest.mark.rare
@pytest.mark.slow
def test_a_server_that_is_gone_is_an_error_and_never_an_absence(s3, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    forget_connections()
    store = TableStore("s3://bucket/tables")
    calls = (
        lambda: store.exists(*AT),
        lambda: store.read(*AT),
        lambda: store.properties(*AT),
        lambda: store.write(*AT, frame("one")),
        lambda: store.delete(*AT),
    )
    for call in calls:
        with pytest.raises(TableError, match="does not answer") as caught:
            call()
        assert KEY not in str(caught.value)
        assert SECRET not in str(caught.value)
