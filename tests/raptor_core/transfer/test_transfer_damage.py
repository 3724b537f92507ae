"""Exports that are damaged, foreign or broken off: named, and nothing is published."""

import json
from dataclasses import replace

import pytest
from support.stores import (
    IDENTITY,
    open_at,
)
from support.transfers import ODD, exported, import_trees, make_tree, publish, state

from raptor_core.errors import (
    DamagedTreeError,
    ExportError,
    StoreError,
    StoreMismatchError,
)
from raptor_core.transfer.exporting import check_target
from raptor_core.transfer.format import MANIFEST, tree_file
from raptor_core.transfer.importing import check_embedder, read_export, verify


def test_a_damaged_tree_is_not_exported(tmp_path):
    nodes = make_tree("t")
    with open_at(None) as store:
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
    with pytest.raises(ExportError, match="was interrupted"):
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


def test_a_file_that_is_no_tree_is_named_and_publishes_nothing(one):
    store, folder, export = one
    before = state(store)
    junk = replace(export.trees[1], stamp=folder.put(export.trees[1].name, b"PAR1 no table PAR1"))
    with pytest.raises(ExportError, match="not a tree of an export"):
        import_trees(store, folder, replace(export, trees=(junk,)))
    assert state(store) == before


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda values: values | {"version": 2}, "version 2 .*exported"),
        (lambda values: values | {"format": "x"}, "not written by"),
        (lambda values: {k: v for k, v in values.items() if k != "trees"}, "no manifest does"),
        (lambda values: [], "not written by"),
    ],
)
def test_a_manifest_that_is_not_ours_is_refused(one, tmp_path, change, told):
    _, folder, _ = one
    path = tmp_path / "export" / MANIFEST
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(ExportError, match=told):
        read_export(folder)


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
        with pytest.raises(StoreMismatchError, match=r"x contains vectors of embedder sample-model"):
            check_embedder(export, other, "x")


def fail(_):
    raise StoreError("x")


def test_a_failure_in_the_middle_leaves_whole_trees_and_is_repeated(one, open_kind, monkeypatch):
    _, folder, export = one
    with open_kind("edge", "two") as store:
        monkeypatch.setattr(store._engine, "apply", fail)
        with pytest.raises(StoreError, match="x"):
            import_trees(store, folder, export)
    with open_kind("edge", "two") as store:
        assert store.manifests() == []
        assert store.count() == 0
        import_trees(store, folder, export)
        assert len(store.manifests()) == 2
