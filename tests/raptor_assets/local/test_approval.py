"""Builds that wait for a person's approval (``runs.publish``)."""

import pyarrow.parquet as pq
import pytest
from support.command import embedder_made_by, raptor
from support.homes import built_once, copy_home
from support.workshop import Workshop, prose, settings_text

from raptor_assets.corpus.changes import State, decide
from raptor_assets.local.versions import approve, compare_builds, list_builds
from raptor_core.errors import UnknownTreeError
from raptor_core.store.base import Where

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


@pytest.mark.rare
def test_a_build_whose_document_got_other_readers_is_not_approved_in_a_tree_of_its_own(workshop):
    set_readers(workshop, "ana", separate=True)
    workshop.build()
    set_readers(workshop, "ben", separate=True)
    with pytest.raises(UnknownTreeError, match=r"has the document 'guide/a.md', which is gone"):
        approve_tree(workshop, "guide (ana)")
    assert not any("ana" in of for m in workshop.manifests().values() for of in m.readers.values())


def found_in(workshop, sentence):
    """Documents of the published chunks with a sentence."""
    with workshop.access().store.open() as store:
        return {n.documents for n in store.nodes(Where(layers=(0,))) if sentence in n.text}


@pytest.mark.rare
def test_a_renamed_document_is_found_before_and_after_its_new_place_is_approved(tmp_path):
    made = Workshop(tmp_path, runs={"publish": "when_approved"})
    for name in ("pay", "song", "menu"):
        made.write(f"{name}.md", f"{prose(6, seed=ord(name[0]))}\n\nThe {name} is by the door.")
    made.build()
    for name in ("pay.md", "song.md", "menu.md"):
        approve_tree(made, name)
    (made.docs / "pay.md").rename(made.docs / "wages.md")
    report = made.build()
    assert (report.waiting, report.dropped) == (["wages.md"], [])
    assert found_in(made, "The pay is") == {("pay.md",)}
    made.write("song.md", prose(6, seed=5))  # a waiting copy would need what this replaces
    (made.docs / "copy.md").write_text((made.docs / "menu.md").read_text())
    made.build()
    made.write("menu.md", prose(6, seed=6))
    made.build()
    approve_tree(made, "menu.md")
    approve_tree(made, "copy.md")
    approve_tree(made, "wages.md")
    assert found_in(made, "The pay is") == {("wages.md",)}
    assert found_in(made, "The menu is") == {("copy.md",)}
    assert set(made.manifests()) == {"copy.md", "menu.md", "song.md", "wages.md"}
    assert made.build().run_ids == []


def test_a_waiting_build_owns_all_that_it_needs_and_a_damaged_one_is_refused(workshop):
    workshop.write("guide/a.md", prose(14, seed=3))
    workshop.build()
    before, access = workshop.texts(TREE), workshop.access()
    (file,) = workshop.home.path.glob("tables/waiting_builds/*/*.parquet")
    whole = file.read_bytes()
    file.write_bytes(whole[:-200] + b"\0" * 200)
    with pytest.raises(UnknownTreeError, match="is damaged"):
        approve_tree(workshop)
    assert workshop.texts(TREE) == before
    file.write_bytes(whole)
    (waits,) = access.waiting.manifests(TREE).values()
    approve_tree(workshop)
    assert workshop.manifests()[TREE].build_id == waits.build_id
    assert access.waiting.among([TREE]) == []


def test_the_command_shows_what_waits_and_approves_it(workshop):
    workshop.write("guide/a.md", prose(14, seed=3))
    workshop.build()
    parts = SETTINGS
    workshop.home.settings_path.write_text(settings_text(workshop.docs, **parts), encoding="utf-8")
    home = ["--home", workshop.home.path]
    with embedder_made_by(lambda *_, **__: workshop.embedder):
        printed = raptor("versions", "diff", TREE, "--staged", "--markdown", *home)
        assert printed.out.startswith("### `guide`\n"), printed.err
        assert "\n~~~diff\n" in printed.out
        assert f"{TREE}: waits for approval" in raptor("status", *home).out
        assert raptor("versions", "approve", TREE, *home, "--json").json["published"] == [TREE]
        assert raptor("status", *home, "--json").json["waiting"] == []
