"""What the sensor makes of rows of a database."""

import sqlite3
from contextlib import closing

import pytest
from support.homes import kept_bytes
from support.sensor_daemon import Daemon
from support.workshop import Workshop, live, prose

pytestmark = pytest.mark.slow

MARKER = "The zebra Quixotl signed here."


def test_rows_of_a_database_are_kept_in_step_and_its_password_nowhere(tmp_path, monkeypatch):
    path = tmp_path / "wiki.db"

    def run(statement, *values):
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(statement, values)

    run("CREATE TABLE wiki (id INTEGER PRIMARY KEY, text TEXT, updated_at TEXT)")
    for number in range(4):
        run("INSERT INTO wiki VALUES (?, ?, '2024-01-01')", number, prose(6, seed=number))
    run("UPDATE wiki SET text = ? || char(10) || text WHERE id = 3", MARKER)
    monkeypatch.setenv("WIKI_URL", f"sqlite:///{path}?timeout=12345")
    table = {"url_env": "WIKI_URL", "table": "wiki"}
    workshop = Workshop(tmp_path, source={"paths": [], "tables": [table]}, tree={"max_layers": 1})
    daemon = Daemon(workshop)
    assert daemon.settle() == (["wiki/0", "wiki/1", "wiki/2", "wiki/3"], [])
    assert "Quixotl" in live(workshop)[0]
    run("DELETE FROM wiki WHERE id = 3")
    run("UPDATE wiki SET text = ?, updated_at = '2024-02-01' WHERE id = 1", prose(6, seed=8))
    n_embedded = workshop.embedder.n_embedded
    run("UPDATE wiki SET id = 9 WHERE id = 2")
    built, dropped = daemon.settle()
    assert (sorted(built), sorted(dropped)) == (["wiki/1", "wiki/9"], ["wiki/2", "wiki/3"])
    assert "Quixotl" not in live(workshop)[0]
    rows = workshop.metadata("layer_0/embeddings", "wiki/9")
    assert rows["n_computed"] == 0
    assert workshop.embedder.n_embedded > n_embedded
    kept = b"".join(kept_bytes(workshop.home.path).values())
    assert b"AssetCheckEvaluationTargetMaterializationData" in kept
    assert b"12345" not in kept
    assert b"wiki.db" not in kept
    assert "wiki.db" not in daemon.cursor
