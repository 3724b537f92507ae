"""Exports: what goes out of one store comes into another, whole or not at all."""

from dataclasses import MISSING, fields

import pytest
from support.stores import (
    open_at,
)
from support.transfers import ODD, exported, import_trees, make_tree, publish, rich_tree, state

from raptor_core.errors import (
    ExportError,
)
from raptor_core.nodes import NODE_FIELDS, Node
from raptor_core.store import Where
from raptor_core.transfer.exports import (
    ExportFolder,
    differing_trees,
    read_export,
    select_trees,
    verify_export,
)


@pytest.mark.slow
def test_what_a_store_exports_another_imports_without_loss(open_kind, tmp_path):
    with open_kind("edge", "first") as store:
        publish(store, rich_tree(ODD), ODD)
        publish(store, make_tree("t"), "t")
        folder, export = exported(store, tmp_path / "edge")
        before = state(store)
    for kind in ("server", "edge"):
        found = read_export(folder)
        assert found == export
        verify_export(folder, found)
        with open_kind(kind, f"of {kind}") as store:
            done = import_trees(store, folder, found)
            assert [one.added for one in done] == [11, 15]
            assert state(store) == before
            again = import_trees(store, folder, found)
            assert not any(one.has_changes for one in again)
            assert state(store) == before
            assert differing_trees(store, found) == []
            folder, export = exported(store, tmp_path / f"from {kind}")


def test_a_tree_that_is_published_while_it_is_read_is_read_again(open_kind, tmp_path, monkeypatch):
    with open_kind("server", "first") as store:
        publish(store, make_tree("t"), "t")
        new, read = make_tree("t", word="new"), store.vectors

        def late(keys):
            if ids_of(store) != {node.id for node in new}:
                publish(store, new, "t")
            return read(keys)

        monkeypatch.setattr(store, "vectors", late)
        folder, export = exported(store, tmp_path / "export")
    verify_export(folder, export)
    with open_at(None) as store:
        import_trees(store, folder, export)
        assert ids_of(store) == {node.id for node in new}


def ids_of(store):
    return {node.id for node in store.nodes()}


def test_a_tree_that_is_there_with_other_content_is_reported(one, open_kind):
    store, folder, export = one
    publish(store, make_tree("t", word="other"), "t")
    assert differing_trees(store, export) == ["t"]
    import_trees(store, folder, select_trees(export, ["t"]))
    assert differing_trees(store, export) == []
    assert {node.id for node in store.nodes(Where(trees=("t",)))} == {n.id for n in make_tree("t")}


def test_an_export_lies_on_any_filesystem_that_fsspec_knows(one):
    store, _, _ = one
    folder, export = exported(store, "memory://backups/monday")
    assert read_export(folder) == export
    with open_at(None) as other:
        import_trees(other, ExportFolder("memory://backups/monday"), export)
        assert other.count() == store.count()
    with pytest.raises(ExportError, match="is missing"):
        folder.read(export.trees[0].model_copy(update={"name": "trees/none.parquet"}))
    with pytest.raises(ExportError, match="expected a folder or a URL"):
        ExportFolder("nowhere://user:pw@x")


def test_the_tree_of_these_tests_has_a_value_in_every_field_of_a_node():
    nodes = rich_tree("t")
    for name, _, _ in NODE_FIELDS:
        default = next((f.default for f in fields(Node) if f.name == name), MISSING)
        assert any(getattr(node, name) not in ((), "", {}, default) for node in nodes), name
