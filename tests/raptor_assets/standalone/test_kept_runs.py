"""A home's records hold the newest runs, and older ones that nothing replaces."""

import pytest
from support.summarizers import ScriptedSummarizer
from support.workshop import Workshop, prose

from raptor_assets.standalone.status import read_status

pytestmark = pytest.mark.slow

KEEP = 2


@pytest.fixture
def workshop(tmp_path):
    made = Workshop(tmp_path, tree={"max_layers": 1}, runs={"keep": KEEP})
    for name in ("a.md", "b.md", "c.md"):
        made.write(name, prose(6, seed=ord(name[0])))
    made.build()
    return made


def runs(workshop):
    with workshop.instance() as instance:
        return {run.run_id for run in instance.get_runs()}


def rows(workshop):
    tables = ("event_logs", "asset_check_executions", "asset_event_tags")
    with workshop.instance() as instance:
        storage = instance.event_log_storage
        with storage.index_connection() as connection:
            count = "select count(*) from "
            return [connection.exec_driver_sql(count + t).scalar() for t in tables]


def edit(workshop, name, seed):
    workshop.write(name, prose(6, seed=seed))
    (run,) = workshop.build().run_ids
    return run


def test_runs_go_that_newer_ones_replace_and_nothing_is_built_for_it(workshop):
    (first,) = runs(workshop)
    edits = [edit(workshop, "a.md", 100 + n) for n in range(2 * KEEP)]
    counts = rows(workshop)
    edits += [edit(workshop, "a.md", 200 + n) for n in range(2 * KEEP)]
    assert rows(workshop) == counts
    # The run of an edit is under way when older ones are deleted.
    assert runs(workshop) == {first, *edits[-KEEP:]}
    status = read_status(workshop.home, workshop.settings)
    assert {tree.partition for tree in status.trees} == {"a.md", "b.md", "c.md"}
    assert all(tree.checks and tree.structural_passed for tree in status.trees)
    assert workshop.build().run_ids == []
    last = [edit(workshop, name, 300 + n) for n, name in enumerate(("b.md", "c.md", "b.md"))]
    assert runs(workshop) == {edits[-1], *last}


def test_failed_runs_replace_nothing_and_all_runs_may_be_kept(workshop):
    (first,) = runs(workshop)
    workshop.parts_given = {"summarizer": ScriptedSummarizer(failing=" ")}
    workshop.configure(tree={"max_layers": 1}, runs={"keep": KEEP})
    for n in range(2 * KEEP):
        for name in ("a.md", "b.md", "c.md"):
            workshop.write(name, prose(6, seed=100 + n + ord(name[0])))
        assert not workshop.build().succeeded
    assert first in runs(workshop)
    workshop.parts_given = {}
    workshop.configure(tree={"max_layers": 1}, runs={"keep": 0})
    before = runs(workshop)
    done = edit(workshop, "a.md", 500)
    assert runs(workshop) == {*before, done}
