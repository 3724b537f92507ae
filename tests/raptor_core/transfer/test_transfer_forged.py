"""Exports with right digests and wrong content: each is named, and nothing is published."""

import io
import json
import os
import random
import re
import tracemalloc
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.stores import IDENTITY, keyed_vectors, open_at
from support.transfers import (
    exported,
    make_leaf,
    make_summary,
    make_tree,
    manifest_of,
    publish,
    state,
)

from raptor_core.errors import ExportError
from raptor_core.identity import MAX_ID_BYTES, digest
from raptor_core.transfer.checks import check_tree
from raptor_core.transfer.exporting import finish_export
from raptor_core.transfer.importing import import_trees, read_export, verify
from raptor_core.transfer.rows import decode_rows, encode_rows
from raptor_core.transfer.values import MANIFEST, ExportFolder, TreeFile, tree_file


@pytest.fixture
def forge(tmp_path):
    """Writes an export of one tree whose digests are right, whatever its nodes are."""

    def write(nodes, vectors=None, tree="t", data=None, **manifest):
        folder = ExportFolder(str(tmp_path / "export"))
        vectors = keyed_vectors(nodes) if vectors is None else vectors
        data = data or encode_rows(nodes, vectors)
        made = manifest_of(nodes, tree, **manifest)
        file = TreeFile(made, folder.put(tree_file(tree), data))
        with open_at(None, "local") as store:
            finish_export(folder, store, [file])
        return folder

    return write


def refusal(folder):
    """What an import of the export says, before it writes anything."""
    with open_at(None, "local") as store:
        publish(store, make_tree("u"), "u")
        before = state(store)
        with pytest.raises(ExportError) as caught:
            verify(folder, read_export(folder))
        assert state(store) == before
    return str(caught.value)


def changed(index, **values):
    """The nodes of a tree of which one has other fields."""
    nodes = make_tree()
    nodes[index] = replace(nodes[index], **values)
    return nodes


def test_what_is_not_forged_is_imported(forge):
    folder = forge(make_tree())
    with open_at(None, "local") as store:
        import_trees(store, folder, read_export(folder))
        assert store.count() == 15


NODES = {
    r"row 2 .*id is not that of its tree": changed(1, id="no-uuid"),
    r"row 3 .*id is not that of its tree": changed(2, id=make_tree("u")[2].id),
    r"row 4 .*belongs to the tree 'u'": changed(3, tree="u"),
    r"row 13 .*not every child is one node of layer 0": changed(12, children=("x", "y")),
    r"row 14 .*not every child": changed(13, children=(make_tree()[12].id,) * 2),
    r"row 15 .*content key is not that of its children": changed(
        14, children=tuple(node.id for node in make_tree()[:3]), documents=make_tree()[14].documents
    ),
    r"row 5 .*embedding key": changed(4, text="another text"),
    r"row 6 .*expected one of the manifest": changed(5, documents=("d0.md", "d1.md")),
    r"row 7 .*span 9-3": changed(6, start=9, end=3),
    r"row 8 .*no text": changed(7, n_tokens=-1),
    r"row 9.*metadata is": changed(8, metadata={"deep": {"a": 1}}),
    r"row 10.*metadata is": changed(9, metadata={"x": float("inf")}),
    r"row 11 .*within 64 bits": changed(10, metadata={"x": 2**70}),
    r"row 12.*quality is": changed(11, quality={"x": "high"}),
    r"row 1.*paragraphs are": changed(0, paragraphs=(("a", "b"),)),
    r"\(0, 12\), \(2, 1\), \(1, 2\)": changed(12, layer=2),
}


@pytest.mark.parametrize("reason", NODES)
def test_a_node_that_no_build_makes_is_named_by_its_row(forge, reason):
    message = refusal(forge(NODES[reason]))
    assert re.search(reason, message), message


@pytest.mark.parametrize("where", ["tree", "document"])
def test_a_name_longer_than_sources_allow_is_refused(forge, where):
    name = "手" * (MAX_ID_BYTES // 3 + 1)
    if where == "tree":
        message = refusal(forge(make_tree(name), tree=name))
    else:
        message = refusal(forge(make_tree(), documents={name: "hash"}))
    assert re.search(rf"trees\.0\.{where if where == 'tree' else 'manifest'}.*1,026 bytes", message)
    longest = "手" * (MAX_ID_BYTES // 3)
    verify(folder := forge(make_tree(longest), tree=longest), read_export(folder))


def test_a_node_without_parent_and_an_id_that_comes_twice_are_refused(forge):
    nodes = make_tree()
    lonely = make_leaf("t", "nobody summarizes this", "d0.md", 99)
    assert "1 nodes below the top have no parent" in refusal(
        forge([*nodes[:12], lonely, *nodes[12:]])
    )
    assert "row 2" in refusal(forge([nodes[0], *nodes]))


def test_summaries_of_one_content_have_ids_of_their_own(forge):
    leaves = make_tree()[:12]
    equal = [make_summary("t", "the same", leaves[:4], number) for number in range(2)]
    rest = [make_summary("t", f"rest {at}", leaves[at : at + 4]) for at in (4, 8)]
    folder = forge([*leaves, *reversed(equal), *rest])
    verify(folder, read_export(folder))
    third = make_summary("t", "the same", leaves[:4], 4)
    assert "id is not that" in refusal(forge([*leaves, *equal, third, rest[1]]))


@pytest.mark.parametrize(
    ("vector", "reason"),
    [
        (np.ones(16, np.float32), "length 4, expected 16 and 1"),
        (np.eye(1, 15, dtype=np.float32)[0], "15 numbers"),
        (np.full(16, np.nan, np.float32), "length nan"),
        (np.array([np.inf] + [0] * 15, np.float32), "length inf"),
        (None, "no vector, and is not in quarantine"),
    ],
)
def test_a_vector_that_no_embedder_yields_is_named_by_its_row(forge, vector, reason):
    nodes = make_tree()
    vectors = keyed_vectors(nodes)
    vectors[nodes[6].embedding_key] = vector
    assert re.search(f"row 7 .*{reason}", refusal(forge(nodes, vectors)))


def test_a_manifest_that_tells_of_other_nodes_is_refused(forge):
    nodes = make_tree()
    assert "15 rows, expected 16" in refusal(forge(nodes, layer_sizes=(12, 4)))
    assert "other nodes" in refusal(forge(nodes, build_id="0" * 32))
    assert "number of tokens" in refusal(forge(nodes, n_tokens=1))
    assert "quarantine" in refusal(forge(nodes, quarantined=("x",)))
    assert "expected one of the manifest's" in refusal(forge(nodes, documents={}))


def sign(folder, change):
    """Write the manifest with other values and a right digest."""
    values = json.loads(folder.read(MANIFEST))
    values = change(values) or values
    values.pop("digest", None)
    values["digest"] = digest("export manifest", json.dumps(values, sort_keys=True))
    folder.write(MANIFEST, json.dumps(values).encode())
    return folder


def put(*path):
    """Changes one value of a manifest: the keys that lead there, then the value."""

    def change(values):
        *keys, last, value = path
        for key in keys:
            values = values[key]
        values[last] = value

    return change


TREE = ("trees", 0)
MANIFESTS = {
    "trees: Field required": lambda values: values.pop("trees") and values,
    "extra: Extra inputs": put("extra", 1),
    "trees.0.manifest.layer_sizes.1: .*greater": put(*TREE, "manifest", "layer_sizes", 1, -3),
    "trees.0.manifest.layer_sizes.0: .*integer": put(*TREE, "manifest", "layer_sizes", 0, "12"),
    "trees.0.manifest.documents.0: .*at least 2": put(*TREE, "manifest", "documents", 0, ["x"]),
    "trees.0.tree: .*string": put(*TREE, "tree", 3),
    "trees.0.sha256: .*pattern": put(*TREE, "sha256", "x"),
    "fitted_cohesion: .*number": put(
        *(*TREE, "manifest", "fits"),
        '[{"fingerprint":"","n_placed":0,"fitted_cohesion":"x","cohesion":1.0,"reason":""}]',
    ),
    "Invalid JSON": put(*TREE, "manifest", "quarantined", "["),
    "surrogates not allowed": put(*TREE, "tree", "\ud800"),
    "version: .*greater": put("version", 0),
    "identity.n_dims: .*less": put("identity", "n_dims", 10**9),
    "the tree 't' more than once": lambda values: values["trees"].append(values["trees"][0]),
    "the table .* more than once": put(
        "tables", [{"key": ["x"], "partition": "p", "n_bytes": 1, "sha256": "0" * 64}] * 2
    ),
}


@pytest.mark.parametrize("reason", MANIFESTS)
def test_a_field_of_the_manifest_that_is_wrong_is_named(forge, reason):
    folder = sign(forge(make_tree()), MANIFESTS[reason])
    with pytest.raises(ExportError) as caught:
        read_export(folder)
    assert re.search(rf"export\.json.*{reason}", str(caught.value)), caught.value


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"[" * 10**6, id="deep"),
        pytest.param(
            b'{"format": "raptor-export", "version": 1, "x": ' + b"[" * 5000 + b"]" * 5000 + b"}",
            id="deep in a field",
        ),
        pytest.param(b"[" + b"[]," * 10**7 + b"[]]", id="wide"),
    ],
)
def test_a_manifest_of_nested_json_takes_no_memory(tmp_path, data):
    (tmp_path / MANIFEST).write_bytes(data)
    tracemalloc.start()
    with pytest.raises(ExportError, match=r"export\.json is"):
        read_export(ExportFolder(str(tmp_path)))
    assert tracemalloc.get_traced_memory()[1] < 10 * len(data) + 2**22
    tracemalloc.stop()


def as_parquet(table, **options):
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def table_of(nodes):
    return pq.read_table(io.BytesIO(encode_rows(nodes, keyed_vectors(nodes))))


def with_column(name, values):
    table = table_of(make_tree())
    return table.set_column(table.column_names.index(name), name, values)


PLAIN = {"use_dictionary": False, "compression": "snappy"}
TABLES = {
    "packed by SNAPPY, .*DICTIONARY": lambda: as_parquet(
        with_column("text", pa.array(["x" * 10**6] * 15)), compression="snappy"
    ),
    "packed by GZIP": lambda: as_parquet(
        table_of(make_tree()), use_dictionary=False, compression="gzip"
    ),
    "layer has type large_string": lambda: as_parquet(
        with_column("layer", pa.array(["0"] * 15, pa.large_string())), **PLAIN
    ),
    "vector has type large_list<.*double": lambda: as_parquet(
        with_column("vector", pa.array([[1.0]] * 15, pa.large_list(pa.float64()))), **PLAIN
    ),
    "a text is missing": lambda: as_parquet(
        with_column("text", pa.array([None] * 15, pa.large_string())), **PLAIN
    ),
    "a number is missing": lambda: as_parquet(
        with_column("n_tokens", pa.array([None] * 15, pa.int64())), **PLAIN
    ),
    "columns .*'more'": lambda: as_parquet(
        table_of(make_tree()).append_column("more", pa.array([1] * 15)), **PLAIN
    ),
    "columns ": lambda: as_parquet(table_of(make_tree()).drop_columns(["children"]), **PLAIN),
    "it unpacks to": lambda: as_parquet(
        with_column("children", pa.array([[None] * 3 * 10**6] * 15, pa.list_(pa.large_string()))),
        **PLAIN,
    ),
    "not a tree of an export: .*recursion": lambda: as_parquet(
        with_column("metadata", pa.array(["[" * 10**5] * 15, pa.large_string())), **PLAIN
    ),
}


@pytest.mark.parametrize("reason", TABLES)
def test_a_file_with_other_columns_or_one_that_unpacks_to_a_bomb_is_refused(forge, reason):
    message = refusal(forge(make_tree(), data=TABLES[reason]()))
    assert re.search(reason, message), message


def make_link(path, other):
    path.symlink_to(other)


def make_folder_link(path, other):
    folder = path.parent.rename(other.parent / "elsewhere")
    other.rename(folder / path.name)
    path.parent.symlink_to(folder)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "make",
    [
        make_link,
        make_folder_link,
        lambda path, _: os.mkfifo(path),
        lambda path, _: path.mkdir(),
        lambda path, _: path.symlink_to("/dev/zero"),
    ],
)
@pytest.mark.parametrize("name", [MANIFEST, tree_file("t")])
def test_only_regular_files_are_read(forge, tmp_path, make, name):
    forge(make_tree())
    path, other = tmp_path / "export" / name, tmp_path / "other"
    path.rename(other)
    if make is make_folder_link and name == MANIFEST:
        name = tree_file("t")  # the folder itself may be a link
        other.rename(path)
        path = tmp_path / "export" / name
        path.rename(other)
    make(path, other)
    folder = ExportFolder(str(tmp_path / "export"))
    with pytest.raises(ExportError, match=r"no regular file|Is a directory"):
        verify(folder, read_export(folder))


def test_a_folder_that_is_a_link_is_read(forge, tmp_path):
    forge(make_tree())
    (tmp_path / "link").symlink_to(tmp_path / "export")
    folder = ExportFolder(str(tmp_path / "link"))
    verify(folder, read_export(folder))


def test_a_file_larger_than_its_size_is_not_read(forge, tmp_path):
    folder = forge(make_tree())
    with (tmp_path / "export" / tree_file("t")).open("r+b") as file:
        file.truncate(2**40)
    with pytest.raises(ExportError, match=r"parquet is damaged: it has 1099511627776 bytes"):
        verify(folder, read_export(folder))
    with (tmp_path / "export" / MANIFEST).open("r+b") as file:
        file.truncate(2**40)
    with pytest.raises(ExportError, match=r"export\.json is damaged: it has 1099511627776 bytes"):
        read_export(folder)


def test_an_export_that_changes_while_it_is_imported_publishes_only_what_was_checked(forge):
    folder = forge(make_tree())
    export = read_export(folder)
    verify(folder, export)
    nodes = make_tree(word="later")
    folder.put(tree_file("t"), encode_rows(nodes, keyed_vectors(nodes)))
    with open_at(None, "local") as store:
        with pytest.raises(ExportError, match=r"is damaged|is cut short"):
            import_trees(store, folder, export)
        assert store.manifests() == []


def test_trees_whose_names_differ_by_case_or_normal_form_stand_side_by_side(tmp_path):
    names = ["Straße.md", "straße.md", "cafe\u0301.md", "caf\u00e9.md"]
    with open_at(None, "local") as store:
        for name in names:
            publish(store, make_tree(name, 4), name)
        before = state(store)
        folder, export = exported(store, tmp_path / "export")
    with open_at(None, "local") as store:
        import_trees(store, folder, read_export(folder))
        assert state(store) == before
    assert len({file.name for file in export.trees}) == 4


def test_no_changed_bytes_of_a_file_end_the_process_or_leave_an_error_of_another_kind(forge):
    nodes = make_tree()
    data = encode_rows(nodes, keyed_vectors(nodes))
    rng = random.Random(4)
    for _ in range(400):
        damaged = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        with suppress(ExportError):
            rows, vectors = decode_rows(bytes(damaged), "x", len(nodes))
            check_tree(rows, vectors, manifest_of(nodes, "t"), IDENTITY, "x")
