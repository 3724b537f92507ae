"""Builds that wait for a person's approval (``runs.publish``)."""

from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from support.command import embedder_made_by, raptor
from support.homes import built_once, copy_home
from support.workshop import Workshop, prose, settings_text

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_assets.corpus.changes import State, decide
from raptor_assets.local.versions import approve, compare_builds, list_builds
from raptor_core.errors import UnknownTreeError
from raptor_core.tables.values import nodes_to_table, table_to_nodes

pytestmark = pytest.mark.slow

TREE = "guide"
SETTINGS = {
    "grouping": {"by": "folder"},
    "runs": {"publish": "when_approved"},
}


def build_guide(root):
    made = Workshop(root, **{**SETTINGS, "runs": {}})
    made.write("guide/a.md", prose(12, seed=1))
    made.write("guide/b.md", prose(12, seed=2))
    made.build()


@pytest.fixture
def workshop(tmp_path_factory, tmp_path):
    """A published tree, over which each build waits from now on."""
    copy_home(built_once(tmp_path_factory, "guide", build_guide), tmp_path / "copy")
    return Workshop(tmp_path / "copy", **SETTINGS)


def approve_tree(workshop, tree=TREE):
    return approve(workshop.home, workshop.settings, [tree], workshop.components)


def waiting(workshop):
    changes = decide(workshop.access()).changes
    return changes.of(State.WAITING), changes.to_build


def test_a_build_waits_and_is_published_by_approval_without_further_work(workshop):
    before = workshop.texts(TREE)
    workshop.write("guide/a.md", prose(14, seed=3))
    workshop.write("other/c.md", prose(12, seed=4))
    report = workshop.build()
    assert (report.built, report.waiting, report.failed) == ([], [TREE, "other"], {})
    assert set(workshop.manifests()) == {TREE}
    assert workshop.texts(TREE) == before
    assert waiting(workshop) == ((TREE, "other"), ())
    assert workshop.build().run_ids == []
    n_embedded = workshop.embedder.n_embedded
    staged = compare_builds(workshop.home, workshop.settings, TREE, staged=True)
    assert staged.summaries
    approve_tree(workshop)
    assert workshop.embedder.n_embedded == n_embedded
    assert workshop.texts(TREE) != before
    assert waiting(workshop) == (("other",), ())
    first = compare_builds(workshop.home, workshop.settings, "other", staged=True)
    assert (first.old, {change.old for change in first.summaries}) == ("", {""})
    approve_tree(workshop, "other")
    assert "other" in workshop.manifests()
    with pytest.raises(UnknownTreeError, match="no build of the tree 'guide' waits"):
        approve_tree(workshop)
    with pytest.raises(UnknownTreeError, match="no build of the tree 'guide' waits"):
        compare_builds(workshop.home, workshop.settings, TREE, staged=True)
    new, old = list_builds(workshop.home, workshop.settings, TREE)
    assert (old.id, new.id) == (staged.old, staged.new)
    assert new.run_id


def test_forgetting_does_not_wait(workshop):
    workshop.remove("guide/b.md")
    report = workshop.build(confirm_removal=True)
    assert (report.built, report.waiting) == ([TREE], [])
    assert list(workshop.manifests()[TREE].documents) == ["guide/a.md"]


def test_a_new_document_that_is_gone_before_the_approval_is_in_no_table_and_not_published(workshop):
    before = workshop.texts(TREE)
    workshop.write("guide/c.md", f"{prose(6, seed=4)}\n\nThe quicksilverfox sleeps.")
    workshop.build()
    workshop.remove("guide/c.md")
    with pytest.raises(UnknownTreeError, match=r"has the document 'guide/c.md', which is gone"):
        approve_tree(workshop)
    assert waiting(workshop) == ((), (TREE,))
    report = workshop.build()
    assert (report.built, report.waiting, workshop.texts(TREE)) == ([TREE], [], before)
    assert waiting(workshop) == ((), ())
    tables = workshop.home.path.glob("tables/**/*.parquet")
    assert "quicksilverfox" not in repr([pq.read_table(path).to_pylist() for path in tables])


def test_what_is_approved_is_the_build_as_it_was_made(workshop):
    workshop.write("guide/a.md", prose(14, seed=3))
    workshop.build()
    assert workshop.build(TREE).waiting == []
    assert workshop.build(TREE, force=True).waiting == [TREE]
    (staged,) = workshop.access().waiting.manifests(TREE).values()
    workshop.configure(**{**SETTINGS, "summarizer": {"max_tokens": 40}})
    approve_tree(workshop)
    assert workshop.manifests()[TREE] == staged
    assert waiting(workshop) == ((), (TREE,))


def set_readers(workshop, *readers, separate=False):
    rule = {"paths": ["guide/a.md"], "readers": readers}
    source = {"paths": [str(workshop.docs)], "readers": [rule]}
    grouping = {"by": "folder", "separate_readers": separate}
    workshop.configure(**{**SETTINGS, "source": source, "grouping": grouping})


def test_an_approved_build_has_the_readers_of_its_approval(workshop):
    set_readers(workshop, "ana", "ben")
    workshop.write("guide/a.md", prose(14, seed=3))
    workshop.build()
    set_readers(workshop, "ben", "eva")
    approve_tree(workshop)
    assert workshop.manifests()[TREE].readers == {"guide/a.md": ("ben", "eva")}


def test_a_build_whose_document_got_other_readers_is_not_approved_in_a_tree_of_its_own(workshop):
    set_readers(workshop, "ana", separate=True)
    workshop.build()
    set_readers(workshop, "ben", separate=True)
    with pytest.raises(UnknownTreeError, match=r"has the document 'guide/a.md', which is gone"):
        approve_tree(workshop, "guide (ana)")
    assert not any("ana" in of for m in workshop.manifests().values() for of in m.readers.values())


def test_tables_that_changed_after_the_build_are_not_approved(workshop):
    workshop.write("guide/a.md", prose(14, seed=3))
    workshop.build()
    before, tables = workshop.texts(TREE), workshop.access().tables
    path = CHAIN_NAMES.nodes(0).path
    table = tables.read(path, TREE)
    properties = tables.properties(path, TREE)
    nodes = [replace(node, position=node.position + 1) for node in table_to_nodes(table)]
    tables.write(path, TREE, nodes_to_table(nodes), properties)
    with pytest.raises(UnknownTreeError, match="are not those of the build that waits"):
        approve_tree(workshop)
    assert workshop.texts(TREE) == before


def test_the_command_shows_what_waits_and_approves_it(workshop):
    workshop.write("guide/a.md", prose(14, seed=3))
    workshop.build()
    parts = SETTINGS
    workshop.home.settings.write_text(settings_text(workshop.docs, **parts), encoding="utf-8")
    home = ["--home", workshop.home.path]
    with embedder_made_by(lambda *_, **__: workshop.embedder):
        printed = raptor("versions", "diff", TREE, "--staged", "--markdown", *home)
        assert printed.out.startswith("### `guide`\n"), printed.err
        assert "\n~~~diff\n" in printed.out
        assert f"{TREE}: waits for approval" in raptor("status", *home).out
        assert raptor("versions", "approve", TREE, *home, "--json").json["published"] == [TREE]
        assert raptor("status", *home, "--json").json["waiting"] == []
