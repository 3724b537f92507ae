"""Exports that are damaged, foreign or broken off: named, and nothing is published."""

import json
import shutil
from dataclasses import replace

import pytest
from support.stores import (
    IDENTITY,
    open_at,
)
from support.transfers import ODD, exported, import_trees, make_tree, publish, rich_tree

from raptor_core.errors import (
    DamagedTreeError,
    ExportError,
    StoreError,
    StoreMismatchError,
)
from raptor_core.transfer.exports import (
    INDEX,
    ExportFolder,
    check_embedder,
    check_export_target,
    read_export,
    tree_file_path,
    verify_export,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folder and index of an export of two trees."""
    path = tmp_path_factory.mktemp("made") / "export"
    with open_at(None) as store:
        publish(store, rich_tree(ODD), ODD)
        publish(store, make_tree("t"), "t")
        return path, exported(store, path)[1]


@pytest.fixture
def one(made, tmp_path):
    """A copy of the export, which a test may damage."""
    path, export = made
    shutil.copytree(path, tmp_path / "export")
    return ExportFolder(str(tmp_path / "export")), export


def test_a_damaged_tree_is_not_exported(tmp_path):
    nodes = make_tree("t")
    with open_at(None) as store:
        publish(store, nodes, "t", build_id="of other nodes")
        with pytest.raises(DamagedTreeError, match=r"'t'.*--force"):
            exported(store, tmp_path / "export")
    assert not (tmp_path / "export" / INDEX).exists()


def test_a_folder_with_an_export_is_refused_and_an_unfinished_one_is_not(one, tmp_path):
    folder, _ = one
    with pytest.raises(ExportError, match="choose an empty folder"):
        check_export_target(folder)
    (tmp_path / "export" / INDEX).unlink()
    check_export_target(folder)
    with pytest.raises(ExportError, match="an interrupted one"):
        read_export(folder)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda data: data[:-1], "cut short"),
        (lambda data: b"", "cut short"),
        (lambda data: data[:50] + bytes([data[50] ^ 1]) + data[51:], "damaged"),
        (None, "missing"),
    ],
)
def test_a_wrong_file_is_named_before_anything_is_published(one, tmp_path, wrong, reason):
    folder, export = one
    path = tmp_path / "export" / export.trees[1].name
    if wrong:
        path.write_bytes(wrong(path.read_bytes()))
    else:
        path.unlink()
    with pytest.raises(ExportError, match=rf"{export.trees[1].name}.*{reason}"):
        verify_export(folder, read_export(folder))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda values: values | {"version": 2}, "version 2, but .*exported"),
        (lambda values: values | {"format": "x"}, "not written by"),
        (lambda values: {k: v for k, v in values.items() if k != "trees"}, "trees: Field required"),
        (lambda values: [], "not written by"),
        (
            lambda values: values | {"trees": [values["trees"][0] | {"name": "trees/../../x"}]},
            "should match pattern",
        ),
    ],
)
def test_a_manifest_that_is_not_ours_is_refused(one, tmp_path, change, reason):
    folder, _ = one
    path = tmp_path / "export" / INDEX
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(ExportError, match=reason):
        read_export(folder)


def test_names_of_files_cannot_leave_the_folder():
    assert tree_file_path("../../etc/passwd").count("/") == 1
    assert tree_file_path(ODD) != tree_file_path("t")


def test_another_embedder_is_refused_and_another_corpus_is_not(one):
    _, export = one
    check_embedder(export, replace(IDENTITY, corpus="elsewhere"), "x")
    for other in (
        replace(IDENTITY, embedder_fingerprint="ffff00001111", embedder_model="newer"),
        replace(IDENTITY, n_dims=8),
    ):
        with pytest.raises(
            StoreMismatchError, match=r"x contains vectors of embedder sample-model"
        ):
            check_embedder(export, other, "x")


def fail(_):
    raise StoreError("x")


def test_a_failure_in_the_middle_leaves_whole_trees_and_is_repeated(one, open_kind, monkeypatch):
    folder, export = one
    with open_kind("edge", "two") as store:
        monkeypatch.setattr(store._engine, "apply", fail)
        with pytest.raises(StoreError, match="x"):
            import_trees(store, folder, export)
    with open_kind("edge", "two") as store:
        assert store.manifests() == []
        assert store.count() == 0
        import_trees(store, folder, export)
        assert len(store.manifests()) == 2
