"""What the sensor's own runs make of renames, moves, removals and files being written."""

import json
import os
import shutil
import sqlite3
from contextlib import closing

import pytest
from support.sensor_daemon import Daemon
from support.summarizers import ScriptedSummarizer
from support.workshop import Workshop, prose

from dagster_project.source_state import KEY
from raptor_core.documents.local import LocalSource
from raptor_core.errors import TableError

pytestmark = pytest.mark.slow

MARKER = "The zebra Quixotl signed here."


def workshop_in(root, by):
    made = Workshop(root, tools={"summarizer": ScriptedSummarizer()})
    made.configure(grouping={"by": by}, tree={"max_layers": 1})
    made.summarizer = made.parts_given["summarizer"]
    return made


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A home by each grouping, built once."""
    made = {}

    def root_of(by):
        if by not in made:
            made[by] = tmp_path_factory.mktemp(by)
            workshop = workshop_in(made[by], by)
            for number, name in enumerate(("one/a.md", "one/b.md", "two/c.md", "two/d.md")):
                workshop.write(name, prose(12, seed=number))
            workshop.build()
        return made[by]

    return root_of


@pytest.fixture
def start(built, tmp_path):
    """Makes a workshop with two folders of two documents, all published, and its daemon."""

    def copy(by="document"):
        shutil.copytree(built(by), tmp_path / "copy")
        workshop = workshop_in(tmp_path / "copy", by)
        daemon = Daemon(workshop)
        assert daemon.tick()[:2] == ([], [])
        return workshop, daemon

    return copy


def settling(workshop, by="document"):
    """Switch on that files settle; all that are there have."""
    workshop.configure(grouping={"by": by}, tree={"max_layers": 1}, source={"settle_seconds": 60})
    for path in workshop.docs.rglob("*.md"):
        os.utime(path, (1000, 1000))


def calls(workshop):
    """Texts embedded and summaries written so far."""
    return workshop.embedder.n_embedded, workshop.summarizer.n_made


def rename(workshop, old, new):
    (workshop.docs / new).parent.mkdir(parents=True, exist_ok=True)
    (workshop.docs / old).rename(workshop.docs / new)


def live(workshop):
    """All that readers can see, as one text; and the trees."""
    with workshop.parts().store.open() as store:
        nodes = list(store.nodes())
        text = "\n".join(f"{node.text} {node.source} {node.documents}" for node in nodes)
        return text, {manifest.tree for manifest in store.manifests()}


@pytest.fixture
def reads(monkeypatch):
    """Ids of the files that were read."""
    told, original = [], LocalSource._read

    def counted(self, file):
        told.append(file.id)
        return original(self, file)

    monkeypatch.setattr(LocalSource, "_read", counted)
    return told


def test_a_tick_and_its_run_read_the_changed_file_alone(start, reads):
    workshop, daemon = start()
    for path in workshop.docs.rglob("*.md"):
        os.utime(path, (1000, 1000))
    daemon.tick()
    workshop.write("two/c.md", prose(12, seed=9))
    os.utime(workshop.docs / "two/c.md", (2000, 2000))
    reads.clear()
    assert daemon.tick()[0] == [["two/c.md"]]
    assert reads == ["two/c.md"]
    assert daemon.run()
    assert reads == ["two/c.md", "two/c.md"]
    reads.clear()
    assert daemon.tick()[2] == "4 partitions are up to date"
    assert reads == []


def test_a_build_reads_the_changed_file_alone_and_one_without_changes_none(start, reads):
    workshop, _ = start()
    for path in workshop.docs.rglob("*.md"):
        os.utime(path, (1000, 1000))
    assert workshop.build().built == []
    workshop.write("two/c.md", prose(12, seed=9))
    reads.clear()
    assert workshop.build().built == ["two/c.md"]
    assert set(reads) == {"two/c.md"}
    os.utime(workshop.docs / "two/c.md", (2000, 2000))
    assert workshop.build().built == []
    reads.clear()
    assert workshop.build().built == []
    assert reads == []


@pytest.mark.parametrize("new", ["one/z.md", "three/deep/a.md"])
def test_a_rename_costs_no_call_and_drops_the_old_place_at_the_end(start, new):
    workshop, daemon = start()
    before = calls(workshop)
    rename(workshop, "one/a.md", new)
    assert daemon.tick()[:2] == ([[new]], [])
    waiting = daemon.requests
    assert daemon.tick()[2].endswith("1 to drop wait until what took their place is published")
    daemon.requests = waiting
    assert daemon.run()
    assert {"one/a.md", new} < live(workshop)[1]
    assert daemon.tick()[:2] == ([], ["one/a.md"])
    assert daemon.run()
    assert calls(workshop) == before
    text, trees = live(workshop)
    assert trees == {"one/b.md", new, "two/c.md", "two/d.md"}
    assert "one/a.md" not in text
    assert daemon.tick()[2] == "4 partitions are up to date"


def test_the_old_place_stays_while_the_new_one_fails(start):
    workshop, daemon = start()
    rename(workshop, "one/a.md", "one/z.md")
    daemon.tick()
    tables = workshop.parts().tables.tables()
    original = type(tables).write

    def refuse(self, key, *given):
        if key[0] == "chunks":
            raise TableError("the disk is full")
        return original(self, key, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(tables), "write", refuse)
        assert not daemon.run()
    for _ in range(2):
        assert daemon.tick()[:2] == ([], [])
    assert "one/a.md" in live(workshop)[1]
    assert workshop.build().dropped == ["one/a.md"]
    assert daemon.tick()[2] == "4 partitions are up to date"


def test_the_command_renames_for_nothing_too(start):
    workshop, _ = start()
    before = calls(workshop)
    rename(workshop, "two/d.md", "d.md")
    report = workshop.build()
    assert report.changes.renamed == {"d.md": "two/d.md"}
    assert report.changes.successors == {"two/d.md": ("d.md",)}
    assert (report.built, report.dropped) == (["d.md"], ["two/d.md"])
    assert calls(workshop) == before


def test_a_move_between_folders_costs_leaves_nothing(start):
    workshop, daemon = start("folder")
    n_embedded = workshop.embedder.n_embedded
    n_leaves = sum(m.layer_sizes[0] for m in workshop.manifests().values())
    rename(workshop, "one/a.md", "two/a.md")
    rename(workshop, "one/b.md", "one/e.md")
    builds, dropped, _ = daemon.tick()
    assert (builds, dropped) == ([["one", "two"]], [])
    assert daemon.run()
    assert sum(m.layer_sizes[0] for m in workshop.manifests().values()) == n_leaves
    made = [workshop.metadata("layer_0/embeddings", tree)["n_computed"] for tree in ("one", "two")]
    assert made == [0, 0]
    assert workshop.embedder.n_embedded >= n_embedded
    assert daemon.settle() == ([], [])


def test_a_partition_that_documents_leave_is_built_last(start):
    workshop, daemon = start("folder")
    workshop.write("three/x.md", prose(12, seed=7))
    assert daemon.settle() == (["three"], [])
    rename(workshop, "one/a.md", "three/a.md")
    assert daemon.tick()[0] == [["three"], ["one"]]


@pytest.mark.parametrize("by", ["document", "folder", "corpus"])
def test_what_is_removed_leaves_nothing_that_readers_see(start, by):
    workshop, daemon = start(by)
    workshop.write("two/d.md", f"{MARKER}\n\n{prose(12, seed=3)}")
    daemon.settle()
    assert "Quixotl" in live(workshop)[0]
    workshop.remove("two/d.md")
    built, dropped = daemon.settle()
    assert (built, dropped) == {
        "document": ([], ["two/d.md"]),
        "folder": (["two"], []),
        "corpus": (["corpus"], []),
    }[by]
    text, trees = live(workshop)
    assert "Quixotl" not in text
    assert "zebra" not in text
    assert "two/d.md" not in text
    assert set(workshop.partitions()) == trees


def test_a_folder_that_is_emptied_is_dropped(start):
    workshop, daemon = start("folder")
    workshop.remove("two/c.md")
    workshop.remove("two/d.md")
    assert daemon.settle() == ([], ["two"])
    assert live(workshop)[1] == {"one"}


def test_a_moved_source_republishes_nothing(start, tmp_path):
    workshop, daemon = start()
    moved = tmp_path / "elsewhere"
    workshop.docs.rename(moved)
    workshop.docs = moved
    workshop.configure(tree={"max_layers": 1})
    assert daemon.tick() == ([], [], "4 partitions are up to date; no file changed")
    assert workshop.build().run_ids == []
    sources = {line.split()[-2] for line in live(workshop)[0].splitlines() if ".md" in line}
    assert not any(str(start) in source for source in sources)


@pytest.mark.parametrize("damage", ["delete", "truncate"])
def test_without_the_kept_scan_nothing_changes(start, damage):
    workshop, daemon = start()
    (kept,) = (workshop.home.tables / KEY[0]).glob("*.parquet")
    if damage == "delete":
        kept.unlink()
    else:
        kept.write_bytes(kept.read_bytes()[:100])
    daemon.cursor = None
    assert daemon.settle() == ([], [])
    assert kept.stat().st_size > 100


class TestFilesThatAreBeingWritten:
    def test_its_partition_stays_and_the_reason_names_it(self, start):
        workshop, daemon = start()
        settling(workshop)
        before = live(workshop)
        workshop.write("one/a.md", "Half of")
        workshop.write("new.md", "Half of")
        builds, dropped, reason = daemon.tick()
        assert (builds, dropped) == ([], [])
        assert "being written, so left for the next tick: new.md, one/a.md" in reason
        assert live(workshop) == before
        for path in ("one/a.md", "new.md"):
            os.utime(workshop.docs / path, (2000, 2000))
        assert daemon.settle() == (["one/a.md", "new.md"], [])

    @pytest.mark.parametrize("by", ["folder", "corpus"])
    def test_nothing_else_of_its_partition_is_built_without_it(self, start, by):
        workshop, daemon = start(by)
        settling(workshop, by)
        workshop.write("one/a.md", "Half of")
        workshop.write("one/b.md", "Finished.")
        os.utime(workshop.docs / "one/b.md", (2000, 2000))
        assert daemon.tick()[:2] == ([], [])
        os.utime(workshop.docs / "one/a.md", (2000, 2000))
        assert daemon.settle() == ({"folder": ["one"], "corpus": ["corpus"]}[by], [])

    def test_a_removal_waits_a_tick_for_what_may_be_its_copy(self, start):
        workshop, daemon = start()
        before = calls(workshop)
        settling(workshop)
        rename(workshop, "one/a.md", "one/z.md")
        os.utime(workshop.docs / "one/z.md")
        assert daemon.tick()[:2] == ([], [])
        os.utime(workshop.docs / "one/z.md", (1000, 1000))
        assert daemon.settle() == (["one/z.md"], ["one/a.md"])
        assert calls(workshop) == before

    def test_a_file_that_is_always_written_holds_up_no_removal(self, start):
        workshop, daemon = start()
        settling(workshop)
        workshop.remove("one/a.md")
        workshop.write("log.md", "Another line.")
        assert daemon.tick()[:2] == ([], [])
        assert daemon.tick()[:2] == ([], ["one/a.md"])


def test_rows_of_a_database_are_kept_in_step(tmp_path):
    path = tmp_path / "wiki.db"

    def run(statement, *values):
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(statement, values)

    run("CREATE TABLE wiki (id INTEGER PRIMARY KEY, text TEXT, updated_at TEXT)")
    for number in range(4):
        run("INSERT INTO wiki VALUES (?, ?, '2024-01-01')", number, prose(12, seed=number))
    run("UPDATE wiki SET text = ? || char(10) || text WHERE id = 3", MARKER)
    table = {"url": f"sqlite:///{path}", "table": "wiki"}
    workshop = Workshop(tmp_path, source={"paths": [], "tables": [table]}, tree={"max_layers": 1})
    daemon = Daemon(workshop)
    assert daemon.settle() == (["wiki/0", "wiki/1", "wiki/2", "wiki/3"], [])
    assert "Quixotl" in live(workshop)[0]
    run("DELETE FROM wiki WHERE id = 3")
    run("UPDATE wiki SET text = ?, updated_at = '2024-02-01' WHERE id = 1", prose(12, seed=8))
    n_embedded = workshop.embedder.n_embedded
    run("UPDATE wiki SET id = 9 WHERE id = 2")
    built, dropped = daemon.settle()
    assert (sorted(built), sorted(dropped)) == (["wiki/1", "wiki/9"], ["wiki/2", "wiki/3"])
    assert "Quixotl" not in live(workshop)[0]
    rows = workshop.metadata("layer_0/embeddings", "wiki/9")
    assert rows["n_computed"] == 0
    assert workshop.embedder.n_embedded > n_embedded


def test_rows_of_a_file_are_kept_in_step(tmp_path):
    workshop = Workshop(tmp_path, tree={"max_layers": 1})
    rows = [{"id": f"r{number}", "text": prose(12, seed=number)} for number in range(3)]

    def write(*kept):
        workshop.write("rows.jsonl", "\n".join(json.dumps(row) for row in kept))

    write(*rows)
    daemon = Daemon(workshop)
    assert daemon.settle() == (["r0", "r1", "r2"], [])
    write(rows[0], {**rows[1], "text": prose(12, seed=9)})
    assert daemon.settle() == (["r1"], ["r2"])
    assert live(workshop)[1] == {"r0", "r1"}


def test_the_cursor_and_the_kept_scan_hold_no_password(tmp_path, monkeypatch):
    path = tmp_path / "wiki.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE wiki (id INTEGER, text TEXT, updated_at TEXT)")
        connection.execute("INSERT INTO wiki VALUES (1, ?, '')", (prose(12),))
    monkeypatch.setenv("WIKI_URL", f"sqlite:///{path}?timeout=12345")
    table = {"url_env": "WIKI_URL", "table": "wiki"}
    workshop = Workshop(tmp_path, source={"paths": [], "tables": [table]}, tree={"max_layers": 1})
    daemon = Daemon(workshop)
    daemon.settle()
    kept = [file.read_bytes() for file in workshop.home.path.rglob("*") if file.is_file()]
    assert kept
    assert not any(b"12345" in data or b"wiki.db" in data for data in kept)
    assert "wiki.db" not in daemon.cursor
