"""Builds that wait for a person's approval (``runs.publish``)."""

import pytest
from support.command import embedder_made_by, raptor
from support.workshop import Workshop, prose, settings_text

from raptor_assets.corpus.changes import changes_of
from raptor_assets.local.versions import approve, compare_builds, list_builds
from raptor_core.errors import UnknownTreeError

pytestmark = pytest.mark.slow

TREE = "guide"
SETTINGS = {
    "grouping": {"by": "folder"},
    "tree": {"max_layers": 2},
    "runs": {"publish": "when_approved"},
}


@pytest.fixture
def workshop(tmp_path):
    """A published tree, over which each build waits from now on."""
    made = Workshop(tmp_path, grouping={"by": "folder"}, tree={"max_layers": 2})
    made.write("guide/a.md", prose(12, seed=1))
    made.write("guide/b.md", prose(12, seed=2))
    made.build()
    made.configure(**SETTINGS)
    return made


def approve_tree(workshop, tree=TREE):
    return approve(workshop.home, workshop.settings, [tree], workshop.components)


def waiting(workshop):
    changes = changes_of(workshop.access())
    return changes.waiting, changes.to_build


def test_a_build_waits_and_is_published_by_approval_without_further_work(workshop):
    before = workshop.texts(TREE)
    workshop.write("guide/a.md", prose(14, seed=3))
    report = workshop.build()
    assert (report.built, report.waiting, report.failed) == ([], [TREE], {})
    assert workshop.texts(TREE) == before
    assert waiting(workshop) == ((TREE,), ())
    assert workshop.build().run_ids == []
    n_embedded = workshop.embedder.n_embedded
    staged = compare_builds(workshop.home, workshop.settings, TREE, staged=True)
    assert staged.summaries
    approve_tree(workshop)
    assert workshop.embedder.n_embedded == n_embedded
    assert workshop.texts(TREE) != before
    assert waiting(workshop) == ((), ())
    new, old = list_builds(workshop.home, workshop.settings, TREE)
    assert (old.id, new.id.partition("-")[2]) == (staged.old, staged.new.partition("-")[2])
    assert new.run_id


def test_a_new_tree_waits_too(workshop):
    workshop.write("other/c.md", prose(12, seed=4))
    workshop.build()
    assert "other" not in workshop.manifests()
    staged = compare_builds(workshop.home, workshop.settings, "other", staged=True)
    assert staged.old == ""
    assert {change.old for change in staged.summaries} == {""}
    approve_tree(workshop, "other")
    assert "other" in workshop.manifests()


def test_a_later_edit_takes_the_place_of_the_build_that_waits(workshop):
    workshop.write("guide/a.md", prose(14, seed=3))
    workshop.build()
    workshop.write("guide/a.md", "The last word is quicksilver. " + prose(14, seed=5))
    assert waiting(workshop) == ((), (TREE,))
    workshop.build()
    approve_tree(workshop)
    assert any("quicksilver" in text for text in workshop.texts(TREE))


def test_forgetting_does_not_wait(workshop):
    workshop.remove("guide/b.md")
    report = workshop.build(confirm_removal=True)
    assert (report.built, report.waiting) == ([TREE], [])
    assert list(workshop.manifests()[TREE].documents) == ["guide/a.md"]


def test_nothing_that_waits_cannot_be_approved(workshop):
    with pytest.raises(UnknownTreeError, match="no build of the tree 'guide' waits"):
        approve_tree(workshop)
    with pytest.raises(UnknownTreeError, match="no build of the tree 'guide' waits"):
        compare_builds(workshop.home, workshop.settings, TREE, staged=True)


def test_the_command_shows_what_waits_and_approves_it(workshop):
    workshop.write("guide/a.md", prose(14, seed=3))
    workshop.build()
    parts = {**SETTINGS, "tree": {"max_layers": 2}}
    workshop.home.settings.write_text(settings_text(workshop.docs, **parts), encoding="utf-8")
    home = ["--home", workshop.home.path]
    with embedder_made_by(lambda *_, **__: workshop.embedder):
        printed = raptor("versions", "diff", TREE, "--staged", "--markdown", *home)
        assert printed.out.startswith("### `guide`\n"), printed.err
        assert "\n~~~diff\n" in printed.out
        assert f"{TREE}: waits for approval" in raptor("status", *home).out
        assert raptor("versions", "approve", TREE, *home, "--json").json["published"] == [TREE]
        assert raptor("status", *home, "--json").json["waiting"] == []
