"""Forged tables and decisions of an export: refused before the home changes."""

import hashlib
import json
import os
import shutil
from dataclasses import astuple, replace

import pyarrow as pa
import pytest
from support.workshop import Workshop, prose

from raptor_assets.standalone.transfer import export_home, import_home
from raptor_core.curation import Decision
from raptor_core.errors import ExportError, StoreMismatchError
from raptor_core.identity import digest
from raptor_core.tables.curation import ACTS, KEY, decide, read_decisions
from raptor_core.tables.files import TableStore, table_name
from raptor_core.tables.values import NODES, nodes_to_table, table_to_nodes
from raptor_core.transfer.importing import read_export
from raptor_core.transfer.values import MANIFEST, ExportFolder

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    """A built home with two trees and a decision, and its export."""
    root = tmp_path_factory.mktemp("origin")
    workshop = Workshop(root)
    for seed, name in enumerate(("a.md", "b.md")):
        workshop.write(name, prose(24, seed=seed))
    workshop.build()
    decide(workshop.home.table_store(workshop.settings), "chunk", "a.md", "none", who="Ines")
    export_home(workshop.home, workshop.settings, str(root / "export"))
    return workshop, root / "export"


class Forger:
    """A copy of an export whose tables are replaced, with right digests."""

    def __init__(self, origin, folder):
        self.origin = origin[0]
        self.path = folder / "export"
        shutil.copytree(origin[1], self.path)
        self.tables = TableStore(str(self.path / "tables"))

    def sign(self, key, partition):
        """Write size and digest of a table into the manifest, and the manifest's own digest."""
        manifest = self.path / MANIFEST
        values = json.loads(manifest.read_text())
        data = (self.path / "tables" / table_name(key, partition)).read_bytes()
        stamp = {"n_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        known = [
            t for t in values["tables"] if (t["key"], t["partition"]) != (list(key), partition)
        ]
        values["tables"] = [*known, {"key": list(key), "partition": partition, **stamp}]
        values.pop("digest")
        values["digest"] = digest("export manifest", json.dumps(values, sort_keys=True))
        manifest.write_text(json.dumps(values))

    def write(self, key, partition, table, **properties):
        self.tables.write(key, partition, table, properties)
        self.sign(key, partition)

    def bring(self, home, **options):
        identity = self.origin.components.store_identity
        return import_home(home.home, home.settings, str(self.path), identity, **options)


@pytest.fixture
def forger(origin, tmp_path):
    return Forger(origin, tmp_path)


def refusal(forger, tmp_path):
    """What the import says; the home stays without a store and without a table."""
    here = Workshop(tmp_path / "here")
    with pytest.raises(ExportError) as caught:
        forger.bring(here)
    assert not here.home.qdrant.exists()
    assert not here.home.tables.exists()
    return str(caught.value)


def test_a_table_with_rows_of_another_tree_is_refused(forger, tmp_path):
    forger.write(("documents",), "a.md", forger.tables.read(("documents",), "b.md"))
    message = refusal(forger, tmp_path)
    assert "documents/a.md.parquet, row 1: it is of the tree 'b.md'" in message


def test_a_table_whose_nodes_carry_the_ids_of_another_tree_is_refused(forger, tmp_path):
    nodes = table_to_nodes(forger.tables.read(("chunks",), "a.md"))
    foreign = table_to_nodes(forger.tables.read(("chunks",), "b.md"))
    forged = [replace(nodes[0], id=foreign[0].id), *nodes[1:]]
    forger.write(("chunks",), "a.md", nodes_to_table(forged))
    assert "chunks/a.md.parquet is no table" in refusal(forger, tmp_path)


@pytest.mark.parametrize(
    ("table", "properties", "reason"),
    [
        (pa.table({"x": [1]}), {}, "columns"),
        (NODES.table([]).drop_columns(["text"]), {}, "columns"),
        (NODES.table([]), {"history": "["}, "Expecting value"),
        (NODES.table([]), {"history": "3"}, "history"),
    ],
)
def test_a_table_of_another_form_is_refused(forger, tmp_path, table, properties, reason):
    forger.write(("chunks",), "a.md", table, **properties)
    assert reason in refusal(forger, tmp_path)


def test_a_table_that_a_pipe_or_a_link_stands_for_is_refused(forger, tmp_path):
    path = forger.path / "tables" / "documents" / "a.md.parquet"
    path.unlink()
    os.mkfifo(path)
    assert "no regular file" in refusal(forger, tmp_path)


def test_tables_of_other_partitions_and_unknown_keys_are_left_out(forger, tmp_path):
    table = forger.tables.read(("documents",), "a.md")
    for key, partition in ((("documents",), "c.md"), (("..", "..", "qdrant"), "a.md")):
        forger.write(key, partition, table)
    here = Workshop(tmp_path / "here")
    assert forger.bring(here).tables == ("a.md", "b.md")
    assert here.home.table_store(here.settings).names(("documents",)) == ["a.md", "b.md"]


def act(**values):
    given = Decision("20260101T000000000000-00000000", "chunk", "a.md", "x", "", "", "Tom", "", "")
    return ACTS.table([astuple(replace(given, **values))[:-1]])


@pytest.mark.parametrize("values", [{"id": "another"}, {"kind": "nosuch"}])
def test_a_decision_that_is_not_the_one_of_its_name_is_refused(forger, tmp_path, values):
    name = "20260101T000000000000-00000000"
    forger.write(KEY, name, act(**values))
    assert f"is not the table of the decision {name!r}" in refusal(forger, tmp_path)


def test_a_decision_of_the_home_is_not_replaced(forger, tmp_path):
    here = Workshop(tmp_path / "here")
    tables = here.home.table_store(here.settings)
    known = decide(tables, "chunk", "a.md", "mine", who="Tom")
    forger.write(KEY, known.id, act(id=known.id))
    for replaces in (False, True):
        with pytest.raises(ExportError, match="a decision never changes"):
            forger.bring(here, replace=replaces)
    assert read_decisions(tables) == [known]
    assert not (here.home.qdrant / "corpus.json").exists()


def test_tables_of_trees_that_are_published_already_stay_without_replace(origin, forger):
    there = forger.origin
    known = there.home.table_store(there.settings)
    before = known.properties(("documents",), "a.md")
    forger.write(("documents",), "a.md", forger.tables.read(("documents",), "a.md"), forged="yes")
    forger.bring(there)
    assert known.properties(("documents",), "a.md") == before
    known.delete(("documents",), "b.md")
    forger.bring(there)
    assert known.exists(("documents",), "b.md")
    forger.bring(there, replace=True)
    assert known.properties(("documents",), "a.md") == {"forged": "yes"}


def test_no_import_touches_the_nodes_of_a_tree_that_it_does_not_name(forger, tmp_path):
    here = Workshop(tmp_path / "here")
    here.write("c.md", prose(24, seed=7))
    here.write("a.md", prose(24, seed=8))
    here.build()
    before = here.texts("c.md")
    with pytest.raises(StoreMismatchError, match="--replace"):
        forger.bring(here)
    forger.bring(here, replace=True)
    assert here.texts("c.md") == before
    assert read_export(ExportFolder(str(forger.path))).trees
