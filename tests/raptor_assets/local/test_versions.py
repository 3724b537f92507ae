"""Earlier builds of a tree: kept, compared, published again, held, released, forgotten."""

import json

import pyarrow.parquet as pq
import pytest
from support.command import raptor
from support.homes import built_once, copy_home
from support.sensor_daemon import Daemon
from support.workshop import Workshop, prose

from raptor_assets.corpus.changes import ForgetBuilds, decide_run
from raptor_assets.home.rollback import release_tree, roll_back
from raptor_assets.local.transfer import export_home, import_home
from raptor_assets.local.versions import compare_builds, list_builds
from raptor_assets.serving.answers import HomeService
from raptor_assets.serving.window import call_on_corpus_of, published_tree_values
from raptor_core import HomeRetriever
from raptor_core.errors import SourceError, UnknownTreeError
from raptor_core.store.base import Where

pytestmark = pytest.mark.slow

TREE = "guide"
OLD, NEW = "The lantern hangs at the northern gate.", "The lantern hangs at the southern gate."


FOLDERS = {"grouping": {"by": "folder"}}


def build_two_editions(root):
    made = Workshop(root, **FOLDERS)
    made.write("guide/a.md", f"{prose(12, seed=1)}\n\n{OLD}")
    made.write("guide/b.md", prose(12, seed=2))
    made.write("other/c.md", prose(12, seed=3))
    made.build()
    made.write("guide/a.md", f"{prose(12, seed=1)}\n\n{NEW}")
    made.build()


@pytest.fixture
def workshop(tmp_path_factory, tmp_path):
    """A tree of two documents, built from two editions of one of them, and a tree beside it."""
    copy_home(built_once(tmp_path_factory, "editions", build_two_editions), tmp_path / "copy")
    return Workshop(tmp_path / "copy", **FOLDERS)


def contents(workshop):
    """Published build of the tree: its nodes, and all their vectors."""
    with workshop.access().store.open() as store:
        nodes = store.nodes(Where(trees=(TREE,)))
        return nodes, {
            k: v.tolist() for k, v in store.vectors(n.embedding_key for n in nodes).items()
        }


def builds(workshop, tree=TREE):
    return list_builds(workshop.home, workshop.settings, tree)


def go_back(workshop, **options):
    values = {"to": "", "note": "it answered worse (Ana)"} | options
    return roll_back(workshop.access(), TREE, **values)


def forgets(workshop):
    """Trees of which the next run deletes builds with a document that is gone."""
    actions = decide_run(workshop.access()).actions
    return tuple(t for action in actions if isinstance(action, ForgetBuilds) for t in action.trees)


def kept_files(workshop):
    return sorted(workshop.home.path.glob("tables/versions/*/*.parquet"))


def test_going_back_publishes_the_build_of_before_whole_and_releasing_the_one_after_it(workshop):
    after = contents(workshop)
    workshop.write("guide/a.md", f"{prose(12, seed=1)}\n\n{OLD}")
    workshop.build()
    before = contents(workshop)
    workshop.write("guide/a.md", f"{prose(12, seed=1)}\n\n{NEW}")
    workshop.build()
    assert contents(workshop) == after
    n_embedded = workshop.embedder.n_embedded
    changed = go_back(workshop)
    assert contents(workshop) == before
    assert (changed.counts.added > 0, changed.counts.removed > 0) == (True, True)
    assert release_tree(workshop.access(), TREE).manifest.pin == ""
    assert contents(workshop) == after
    assert workshop.embedder.n_embedded == n_embedded


def test_a_held_tree_is_left_by_builds_runs_and_the_sensor_until_it_is_released(workshop):
    daemon = Daemon(workshop)
    daemon.tick()
    go_back(workshop)
    holds, n_embedded = contents(workshop), workshop.embedder.n_embedded
    workshop.write("guide/b.md", prose(14, seed=4))
    assert daemon.tick()[2] == "1 partitions are up to date; pinned to an earlier build: guide"
    assert daemon.tick()[:2] == ([], [])
    job = workshop.definitions().resolve_job_def("build")
    with workshop.instance() as instance:
        run = job.execute_in_process(instance=instance, partition_key=TREE, raise_on_error=False)
    failure = run.get_step_failure_events()[0].step_failure_data.user_failure_data.description
    assert "`raptor versions release guide` lets builds publish it again" in failure
    assert (contents(workshop), workshop.embedder.n_embedded) == (holds, n_embedded)
    workshop.write("other/c.md", prose(14, seed=5))
    assert decide_run(workshop.access()).changes.pin_notes == {TREE: "it answered worse (Ana)"}
    report = workshop.build()
    assert report.built == ["other"]
    assert contents(workshop) == holds
    assert workshop.manifests()[TREE].pin == "it answered worse (Ana)"
    with pytest.raises(SourceError, match="pinned to an earlier build: it answered worse"):
        workshop.build(TREE)
    release_tree(workshop.access(), TREE)
    assert daemon.tick()[:2] == ([[TREE]], [])
    assert workshop.build().built == [TREE]
    assert workshop.manifests()[TREE].pin == ""


def test_a_document_that_is_gone_leaves_a_pinned_tree_and_all_kept_builds(workshop):
    go_back(workshop)
    workshop.remove("guide/b.md")
    workshop.build(confirm_removal=True)
    manifest = workshop.manifests()[TREE]
    assert (list(manifest.documents), manifest.pin != "") == (["guide/a.md"], True)
    assert {n.documents for n in contents(workshop)[0]} == {("guide/a.md",)}
    assert [build.state for build in builds(workshop)] == ["pinned"]
    assert kept_files(workshop) == []
    assert workshop.build().run_ids == []
    release_tree(workshop.access(), TREE)
    assert workshop.build().built == [TREE]
    assert any(not node.is_leaf for node in contents(workshop)[0])


def test_a_pinned_tree_is_not_replaced_by_an_import(workshop, tmp_path):
    export_home(workshop.home, workshop.settings, str(tmp_path / "export"))
    go_back(workshop)
    before, identity = contents(workshop), workshop.components.store_identity
    with pytest.raises(SourceError, match="pinned to an earlier build: it answered worse"):
        import_home(
            workshop.home, workshop.settings, str(tmp_path / "export"), identity, replace=True
        )
    assert contents(workshop) == before


def test_a_pin_ends_with_the_last_document_and_that_is_announced(workshop):
    go_back(workshop)
    for name in ("a", "b"):
        (workshop.docs / f"guide/{name}.md").rename(workshop.docs / f"other/{name}.md")
    report = workshop.build()
    assert report.changes.ended_pin_notes == {TREE: "it answered worse (Ana)"}
    assert (report.built, report.dropped) == (["other"], [TREE])


@pytest.mark.usefixtures("erasing")
def test_a_document_that_only_later_builds_have_is_forgotten_and_the_tree_stays_held(workshop):
    workshop.write("guide/late.md", f"{prose(6, seed=9)}\n\nThe quicksilverfox sleeps.")
    workshop.build()
    daemon = Daemon(workshop)
    daemon.tick()
    go_back(workshop)
    holds = contents(workshop)
    assert any("quicksilverfox" in text_of(path) for path in kept_files(workshop))
    (workshop.docs / "guide/late.md").write_bytes(b"\x00\x01\x02" * 50)
    assert forgets(workshop) == ()  # unread, so nobody knows if it is gone
    workshop.remove("guide/late.md")
    assert forgets(workshop) == (TREE,)
    daemon.tick()
    assert daemon.run()
    assert daemon.tick()[:2] == ([], [])
    assert forgets(workshop) == ()
    assert (contents(workshop), workshop.manifests()[TREE].pin != "") == (holds, True)
    files = [path for path in workshop.home.path.rglob("*") if path.is_file()]
    assert {path.parts[-4] for path in files if "quicksilverfox" in text_of(path)} <= {"dagster"}


def text_of(path):
    table = repr(pq.read_table(path).to_pylist()) if path.suffix == ".parquet" else ""
    return path.read_bytes().decode(errors="replace") + table


def test_so_many_builds_are_kept_beside_the_published_one_and_go_with_their_tree(workshop):
    for seed, most in enumerate((2, 0), 7):
        workshop.configure(**FOLDERS, runs={"keep_builds": most})
        workshop.write("guide/b.md", prose(12, seed=seed))
        workshop.build()
        states = [build.state for build in builds(workshop)]
        assert states == ["published", *["kept"] * most]
        names = [build.id for build in builds(workshop)][1:]
        for to in ("2", "1999") if most == 2 else ():
            with pytest.raises(UnknownTreeError, match=names[0]):
                go_back(workshop, to=to)
    workshop.remove("guide/a.md")
    workshop.remove("guide/b.md")
    workshop.build(confirm_removal=True)
    assert TREE not in workshop.manifests()
    assert kept_files(workshop) == []


def test_builds_are_listed_with_run_nodes_checks_and_cost_and_compared(workshop):
    changes = compare_builds(workshop.home, workshop.settings, TREE)
    assert changes.n_chunks[0] == changes.n_chunks[1] <= 2
    assert changes.summaries
    for change in changes.summaries:
        assert (change.old, change.new) != ("", "")
        assert change.old != change.new
    new, old = builds(workshop)
    assert (changes.new, changes.old) == (new.id, old.id)
    assert (new.state, old.state) == ("published", "kept")
    assert new.id > old.id
    assert new.run_id
    assert new.run_id != old.run_id
    assert new.notes["n_added"] > 0
    assert new.notes["cost"]["summaries_made"] > 0
    assert new.failed_checks == ()
    go_back(workshop)
    after, holds = builds(workshop)
    assert (holds.state, holds.run_id, holds.notes) == ("pinned", old.run_id, old.notes)
    assert (after.state, after.run_id, after.notes) == ("kept", new.run_id, new.notes)


def test_the_command_lists_compares_goes_back_and_releases(workshop):
    home = workshop.home.path
    workshop.home.settings_path.write_text(
        f'[source]\npaths = ["{workshop.docs}"]\n[grouping]\nby = "folder"\n', encoding="utf-8"
    )

    def printed(*arguments):
        return raptor("versions", *arguments, "--home", workshop.home.path, "--json").json

    new, old = printed("list", TREE)["builds"]
    found = printed("diff", TREE)
    assert (found["old"], found["new"]) == (old["id"], new["id"])
    assert raptor("versions", "rollback", TREE, "--to", "nosuch", "--home", home).code == 4
    pin = printed("rollback", TREE, "--reason", "worse")["pin"]
    assert pin.startswith("worse (")
    assert f"pinned to an earlier build: {pin}" in raptor("tree", TREE, "--home", home).out
    retriever = HomeRetriever(home)
    rows = call_on_corpus_of(retriever, None, published_tree_values)["trees"]
    trees = HomeService(retriever).list_trees().trees
    assert {row["name"]: row["pin"] for row in rows} == {TREE: pin, "other": ""}
    assert {tree.tree: tree.pin for tree in trees} == {TREE: pin, "other": ""}
    assert printed("release", TREE)["pin"] == ""


def test_a_release_is_requested_though_another_change_was_requested_before(workshop):
    daemon = Daemon(workshop)
    daemon.tick()
    go_back(workshop)
    workshop.write("guide/b.md", prose(14, seed=4))
    workshop.write("other/c.md", prose(14, seed=5))
    assert daemon.tick()[0] == [["other"]]
    assert daemon.run()
    release_tree(workshop.access(), TREE)
    assert daemon.tick()[0] == [[TREE]]


def test_a_pinned_tree_keeps_builds_and_tables_while_a_row_of_it_cannot_be_read(tmp_path):
    made = Workshop(tmp_path, **FOLDERS)
    rows = [{"id": f"guide/{n}", "text": prose(9, seed=n)} for n in range(2)]

    def write(*lines):
        made.write("guide/rows.jsonl", "".join(f"{line}\n" for line in lines))

    write(*map(json.dumps, rows))
    made.build()
    write(json.dumps(rows[0]), json.dumps({**rows[1], "text": prose(12, seed=5)}))
    made.build()
    go_back(made)
    files = kept_files(made)
    write(json.dumps(rows[0]), "{")
    assert forgets(made) == ()
    made.build()
    assert kept_files(made) == files
