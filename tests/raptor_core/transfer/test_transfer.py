"""Exports: what goes out of one store comes into another, whole or not at all."""

import json
from dataclasses import replace

import numpy as np
import pytest
from support.stores import (
    IDENTITY,
    N_DIMS,
    make_manifest,
    make_node,
    make_tree,
    open_at,
    vectors_of,
)

from raptor_core.errors import (
    DamagedTreeError,
    ExportError,
    StoreError,
    StoreMismatchError,
    UnknownTreeError,
)
from raptor_core.nodes import Fit
from raptor_core.store import Where
from raptor_core.transfer import (
    Folder,
    check_embedder,
    check_target,
    chosen,
    differing,
    export_trees,
    finish_export,
    import_trees,
    read_export,
    verify,
)
from raptor_core.transfer.values import MANIFEST, decode, encode, tree_file
from raptor_core.tree.publish import build_id

ODD = "häfen/../../ % '\" 水.md"


def rich_tree(tree):
    """A tree of which every field holds something."""
    nodes = make_tree(tree, 8, "rich")
    leaf = make_node(
        tree,
        text="Grüße, 世界 🌊",
        position=90,
        section=("A", "B > C"),
        source="file:///s.md",
        context="A",
        start=3,
        end=9,
        metadata={"year": 1953, "share": 0.1, "kept": True, "who": "Tom", "one": 1.0},
        quality={"compression_ratio": 1 / 3},
        slot="s",
    )
    return [leaf, *nodes]


def manifest_of(nodes, tree, **values):
    fits = (Fit("clusterer", 3, 0.75, 1 / 3, "first"),)
    made = replace(make_manifest(nodes, tree), build_id=build_id(nodes), fits=fits)
    return replace(made, **values)


def publish(store, nodes, tree, **values):
    store.stage(nodes, vectors_of(nodes))
    store.publish(manifest_of(nodes, tree, **values), nodes)


def state(store):
    """All that a reader can see."""
    nodes = store.nodes()
    vectors = store.vectors(node.embedding_key for node in nodes)
    return store.manifests(), nodes, {key: row.tobytes() for key, row in vectors.items()}


def exported(store, path):
    folder = Folder(str(path))
    return folder, finish_export(folder, store, export_trees(store, folder))


@pytest.fixture
def one(tmp_path):
    """A store with two trees, and its export."""
    with open_at(None, "local") as store:
        publish(store, rich_tree(ODD), ODD)
        publish(store, make_tree("t"), "t")
        folder, export = exported(store, tmp_path / "export")
        yield store, folder, export


def test_what_a_store_exports_another_imports_without_loss(open_kind, tmp_path):
    with open_kind("edge", "first") as store:
        publish(store, rich_tree(ODD), ODD)
        publish(store, make_tree("t"), "t")
        folder, export = exported(store, tmp_path / "edge")
        before = state(store)
    for kind in ("server", "local", "edge"):
        found = read_export(folder)
        assert found == export
        verify(folder, found)
        with open_kind(kind, f"of {kind}") as store:
            done = import_trees(store, folder, found)
            assert [one.published.added for one in done] == [11, 15]
            assert state(store) == before
            again = import_trees(store, folder, found)
            assert not any(one.published.changed for one in again)
            assert state(store) == before
            assert store.staged_trees() == []
            assert differing(store, found) == []
            folder, export = exported(store, tmp_path / f"from {kind}")


def test_a_quarantined_node_stays_hidden(tmp_path):
    nodes = make_tree("t")
    hidden = nodes[-1].id
    with open_at(None, "local") as store:
        publish(store, nodes, "t", quarantined=(hidden,))
        folder, export = exported(store, tmp_path / "export")
    with open_at(None, "local") as store:
        import_trees(store, folder, export)
        assert hidden in {node.id for node in store.nodes()}
        assert hidden not in {hit.node.id for hit in store.search(vectors_of(nodes[-1:]), 99)[0]}


def test_a_tree_that_is_there_with_other_content_is_told(one, open_kind):
    store, folder, export = one
    publish(store, make_tree("t", word="other"), "t")
    assert differing(store, export) == ["t"]
    import_trees(store, folder, chosen(export, ["t"]))
    assert differing(store, export) == []
    assert {node.id for node in store.nodes(Where(trees=("t",)))} == {n.id for n in make_tree("t")}


def test_trees_are_chosen_by_name(one):
    _, _, export = one
    assert [file.manifest.tree for file in chosen(export, ["t"]).trees] == ["t"]
    with pytest.raises(UnknownTreeError, match=r"no tree 'x'.*2"):
        chosen(export, ["t", "x"])


def test_what_is_not_published_is_not_exported(one):
    store, folder, _ = one
    with pytest.raises(UnknownTreeError, match="'x'"):
        export_trees(store, folder, ["x"])


def test_a_damaged_tree_is_not_exported(tmp_path):
    nodes = make_tree("t")
    with open_at(None, "local") as store:
        publish(store, nodes, "t", build_id="of other nodes")
        with pytest.raises(DamagedTreeError, match=r"'t'.*--force"):
            exported(store, tmp_path / "export")
    assert not (tmp_path / "export" / MANIFEST).exists()


def test_a_folder_with_an_export_is_refused_and_an_unfinished_one_is_not(one, tmp_path):
    _, folder, _ = one
    with pytest.raises(ExportError, match="choose an empty folder"):
        check_target(folder)
    (tmp_path / "export" / MANIFEST).unlink()
    check_target(folder)
    with pytest.raises(ExportError, match="broken off"):
        read_export(folder)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda data: data[:-1], "cut short"),
        (lambda data: b"", "cut short"),
        (lambda data: data[:50] + bytes([data[50] ^ 1]) + data[51:], "damaged"),
        (None, "missing"),
    ],
)
def test_a_wrong_file_is_named_before_anything_is_published(one, tmp_path, wrong, told):
    _, folder, export = one
    path = tmp_path / "export" / export.trees[1].name
    if wrong:
        path.write_bytes(wrong(path.read_bytes()))
    else:
        path.unlink()
    with pytest.raises(ExportError, match=rf"{export.trees[1].name}.*{told}"):
        verify(folder, read_export(folder))


def test_a_file_that_holds_another_tree_than_named_is_refused(one):
    store, folder, export = one
    before = state(store)
    left, right = export.trees
    data = folder.read(left.name)
    forged = replace(right, stamp=folder.write(right.name, data))
    with pytest.raises(ExportError, match=f"{right.name} is not the tree 't'"):
        verify(folder, replace(export, trees=(forged,)))
    junk = replace(right, stamp=folder.write(right.name, b"PAR1 no table PAR1"))
    with pytest.raises(ExportError, match="not a tree of an export"):
        import_trees(store, folder, replace(export, trees=(junk,)))
    assert state(store) == before


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda values: values | {"version": 2}, "version 2.*newer"),
        (lambda values: values | {"format": "x"}, "not written by"),
        (lambda values: values | {"trees": []}, "damaged"),
        (lambda values: [], "not written by"),
    ],
)
def test_a_manifest_that_is_not_ours_is_refused(one, tmp_path, change, told):
    _, folder, _ = one
    path = tmp_path / "export" / MANIFEST
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(ExportError, match=told):
        read_export(folder)


def test_a_manifest_that_is_cut_short_is_refused(one, tmp_path):
    _, folder, _ = one
    path = tmp_path / "export" / MANIFEST
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ExportError, match=r"export\.json is damaged"):
        read_export(folder)


def test_a_manifest_is_told_and_read_without_loss(one):
    _, _, export = one
    assert decode(encode(export), "x") == export


def test_names_of_files_cannot_leave_the_folder():
    assert tree_file("../../etc/passwd").count("/") == 1
    assert tree_file(ODD) != tree_file("t")


def test_another_embedder_is_refused_and_another_corpus_is_not(one):
    _, _, export = one
    check_embedder(export, replace(IDENTITY, corpus="elsewhere"), "x")
    for other in (
        replace(IDENTITY, embedder_fingerprint="ffff00001111", embedder_model="newer"),
        replace(IDENTITY, n_dims=8),
    ):
        with pytest.raises(StoreMismatchError, match=r"x holds vectors of embedder sample-model"):
            check_embedder(export, other, "x")


def test_a_failure_in_the_middle_leaves_whole_trees_and_is_repeated(one, open_kind, monkeypatch):
    _, folder, export = one
    with open_kind("edge", "two") as store:
        monkeypatch.setattr(store, "_commit", lambda batch: (_ for _ in ()).throw(StoreError("x")))
        with pytest.raises(StoreError, match="x"):
            import_trees(store, folder, export)
    with open_kind("edge", "two") as store:
        assert store.manifests() == []
        assert store.count() == 0
        import_trees(store, folder, export)
        assert len(store.manifests()) == 2
        assert store.staged_trees() == []


def test_an_export_lies_on_any_filesystem_that_fsspec_knows(one):
    store, _, _ = one
    folder, export = exported(store, "memory://backups/monday")
    assert read_export(folder) == export
    with open_at(None, "local") as other:
        import_trees(other, Folder("memory://backups/monday"), export)
        assert other.count() == store.count()
    with pytest.raises(ExportError, match="is missing"):
        folder.read("trees/none.parquet")
    with pytest.raises(ExportError, match="neither a folder nor a known URL"):
        Folder("nowhere://user:pw@x")


def test_every_tree_is_read_by_itself(one, monkeypatch):
    store, folder, _ = one
    asked = []
    nodes = store.nodes
    monkeypatch.setattr(store, "nodes", lambda where: asked.append(where) or nodes(where))
    export_trees(store, folder)
    assert asked == [Where(trees=(ODD,)), Where(trees=("t",))]


def test_a_tree_of_no_vectors_at_all_keeps_its_dimension():
    from raptor_core.transfer.rows import decode_rows, encode_rows

    nodes = make_tree("t", 4)
    data = encode_rows(nodes, {nodes[0].embedding_key: np.eye(1, N_DIMS)[0]}, N_DIMS)
    found, vectors = decode_rows(data, "x")
    assert list(found) == nodes
    assert list(vectors) == [nodes[0].embedding_key]
    assert decode_rows(encode_rows(nodes, {}, N_DIMS), "x") == (tuple(nodes), {})


class Broken:
    """A storage whose client fails as it likes."""

    def __init__(self, error):
        self.error = error

    def fails(self, *_, **__):
        raise self.error

    exists = cat_file = pipe_file = fails


@pytest.mark.parametrize(
    "error", [PermissionError("no"), RuntimeError("s3://user:planted@host is not there")]
)
def test_a_place_that_fails_is_named_without_its_password(error):
    folder = Folder("memory://backups")
    folder._files = Broken(error)
    for call in (
        lambda: read_export(folder),
        lambda: folder.read("a"),
        lambda: folder.write("a", b"x"),
    ):
        with pytest.raises(ExportError, match=r"memory://backups/.* cannot be reached") as caught:
            call()
        assert "planted" not in str(caught.value)
    folder._files = Broken(FileNotFoundError("NoSuchBucket"))
    with pytest.raises(ExportError, match=r"NoSuchBucket; make the bucket"):
        folder.write("a", b"x")
