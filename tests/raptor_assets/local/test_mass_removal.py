"""A mass removal waits for a person, and nothing is built or dropped meanwhile."""

import sqlite3
from contextlib import closing

import pytest
from support.sensor_daemon import Daemon
from support.workshop import Workshop, live, prose

from raptor_core.errors import SourceError, StoreError
from raptor_core.store.publishing import PublicationBatch

pytestmark = pytest.mark.slow

FEW = ("one/b.md", "two/c.md", "two/d.md")


def remove(workshop, *names):
    for name in names:
        workshop.remove(name)


def refusal(workshop):
    with pytest.raises(SourceError) as refused:
        workshop.build()
    return str(refused.value)


def test_more_than_half_stays_until_a_person_confirms(start):
    workshop, daemon = start()
    before = live(workshop)
    remove(workshop, *FEW)
    workshop.write("new.md", prose(12, seed=9))
    for _ in range(2):
        builds, dropped, reason = daemon.tick()
        assert (builds, dropped) == ([], [])
        for message in (reason, refusal(workshop)):
            assert "3 of 4 published documents are gone" in message
            assert "one/b.md, two/c.md, two/d.md" in message
            assert "--confirm-removal" in message
    assert live(workshop) == before
    report = workshop.build(confirm_removal=True)
    assert (report.built, report.dropped) == (["new.md"], list(FEW))
    assert daemon.tick()[2] == "2 partitions are up to date"


def test_a_drop_that_fails_is_told_and_made_good(start, monkeypatch):
    workshop, _ = start()
    remove(workshop, "two/d.md")

    def refuse(*_given):
        raise StoreError("the disk is full")

    with monkeypatch.context() as planted:
        planted.setattr(PublicationBatch, "drop", refuse)
        report = workshop.build()
    assert (report.dropped, list(report.failed)) == ([], ["two/d.md"])
    assert "the disk is full" in report.failed["two/d.md"].reason
    assert "two/d.md" in live(workshop)[1]
    report = workshop.build()
    assert (report.dropped, report.failed) == (["two/d.md"], {})


def test_a_table_that_a_job_truncates_keeps_its_trees(tmp_path):
    path = tmp_path / "wiki.db"

    def run(*statement):
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(*statement)

    run("CREATE TABLE wiki (id INTEGER PRIMARY KEY, text TEXT, updated_at TEXT)")
    row = prose(6, seed=9)
    run("INSERT INTO wiki VALUES (1, ?, '2024')", (row,))
    workshop = Workshop(tmp_path, tree={"max_layers": 1})
    table = {"url": f"sqlite:///{path}", "table": "wiki"}
    workshop.configure(tree={"max_layers": 1}, source={"tables": [table]})
    for name in ("a.md", "b.md"):
        workshop.write(name, prose(6, seed=ord(name[0])))
    daemon = Daemon(workshop)
    daemon.settle()
    run("DELETE FROM wiki")
    assert daemon.tick()[:2] == ([], [])
    assert "table 'wiki' holds nothing" in daemon.tick()[2]
    assert "wiki/1" in live(workshop)[1]
    run("INSERT INTO wiki VALUES (1, ?, '2024')", (row,))
    assert daemon.tick()[:2] == ([], [])
