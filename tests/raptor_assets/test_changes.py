"""Each state of a partition leads to the action in the table of ``find_changes``."""

from dataclasses import replace

import pytest

from raptor_assets.assets.versions import TreeVersion, documents_version
from raptor_assets.corpus.changes import PartitionChange, find_changes
from raptor_assets.home.published import PublishedState
from raptor_core.curation import Curation
from raptor_core.documents import Document, DocumentEntry, Inventory, PublishedDocument, Skipped
from raptor_core.settings import Settings
from raptor_core.store.base import Manifest, ShortManifest

BUILD = "b" * 16
OTHER_BUILD = "c" * 16


def document(name, text=""):
    return Document(name, text or f"Text of {name}.", source=name)


def short(of, build=BUILD, inputs=None, is_refused=False):
    if inputs is None:
        inputs = TreeVersion.of(of.id, documents_version({of.id: [of]}), build).text
    return ShortManifest(of.id, "build", inputs, is_refused)


def published(*trees, build=BUILD):
    """What a store holds of these documents, each a tree of its own."""
    documents = {
        tree.id: [PublishedDocument(tree.id, tree.content_hash, tree.source)] for tree in trees
    }
    return PublishedState(
        {tree.id: [short(tree, build)] for tree in trees},
        lambda partitions: {name: documents.get(name, []) for name in partitions},
    )


def source(*documents, **parts):
    return Inventory(
        tuple(DocumentEntry.from_document(d) for d in sorted(documents, key=lambda d: d.id)),
        **parts,
    )


def found(state, inventory, begun=(), **options):
    settings = Settings.model_validate({"source": {"max_removed": 1.0}} | options.pop("own", {}))
    return find_changes(state, settings, BUILD, inventory, None, begun, **options)


def test_each_state_leads_to_its_action():
    current, edited = document("current"), document("edited")
    state = published(current, document("edited", "Other text."), document("old"))
    changes = found(state, source(current, edited, document("fresh")), ["begun", "fresh"])
    assert changes.partitions_in(PartitionChange.UNCHANGED) == ("current",)
    assert changes.partitions_in(PartitionChange.NEW) == ("fresh",)
    assert changes.partitions_in(PartitionChange.CHANGED) == ("edited",)
    assert changes.partitions_in(PartitionChange.REMOVED) == ("begun", "old")
    assert (
        changes.partitions_in(PartitionChange.UNKNOWN),
        changes.partitions_in(PartitionChange.UNCONFIRMED),
        changes.removal_doubt,
    ) == ((), (), "")


def test_other_settings_make_every_partition_change_and_none_loses_documents():
    documents = [document(name) for name in "abc"]
    state = published(*documents, build=OTHER_BUILD)
    asked = []
    state = PublishedState(
        state.short_manifests, lambda names: dict.fromkeys(asked.extend(names) or (), ())
    )
    assert found(state, source(*documents)).partitions_in(PartitionChange.CHANGED) == (
        "a",
        "b",
        "c",
    )
    assert asked == []


def test_a_decision_of_a_person_is_an_input():
    one = document("a")

    class Decided(Curation):
        def digest(self, tree):
            return "decided"

    changes = find_changes(published(one), Settings(), BUILD, source(one), Decided([]))
    assert changes.partitions_in(PartitionChange.CHANGED) == ("a",)


def test_a_partition_of_two_versions_is_built_again():
    one = document("a")
    short_manifests = [short(one, OTHER_BUILD), short(one)]
    assert found(PublishedState({"a": short_manifests}), source(one)).partitions_in(
        PartitionChange.CHANGED
    ) == ("a",)


def test_what_no_build_published_is_kept_and_built_where_the_source_has_it():
    there, away = document("there"), document("away")
    state = PublishedState({d.id: [short(d, inputs="")] for d in (there, away)})
    changes = found(state, source(there))
    assert (
        changes.partitions_in(PartitionChange.NEW),
        changes.partitions_in(PartitionChange.CHANGED),
        changes.partitions_in(PartitionChange.REMOVED),
    ) == (
        ("there",),
        (),
        (),
    )


def test_refused_summaries_are_asked_for_by_a_person_alone():
    one = document("a")
    state = PublishedState({"a": [short(one, is_refused=True)]})
    changes = found(state, source(one))
    assert (changes.to_build, changes.to_build_now) == ((), ("a",))


def test_a_renamed_document_is_dropped_once_its_new_place_is_published():
    old, new = document("old", "Same text."), document("new", "Same text.")
    changes = found(published(old), source(new))
    assert changes.renamed_documents == {"new": "old"}
    assert changes.droppable(["new"]) == ()
    assert changes.droppable([]) == ("old",)
    assert changes.sort_for_build(["old", "new"]) == ["new", "old"]


def test_unknown_documents_stay_as_published():
    state = published(document("a/x"), document("b"), document("c"))
    unread = Skipped("a", "no permission")
    inventory = source(document("c"), skipped=(unread,))
    changes = found(state, inventory)
    assert (
        changes.partitions_in(PartitionChange.UNKNOWN),
        changes.partitions_in(PartitionChange.REMOVED),
    ) == (
        ("a/x",),
        ("b",),
    )


def test_a_partition_that_was_only_begun_stays_while_its_file_is_unread():
    changes = found(published(), source(skipped=(Skipped("a", "no permission"),)), ["a", "b"])
    assert (
        changes.partitions_in(PartitionChange.UNKNOWN),
        changes.partitions_in(PartitionChange.REMOVED),
    ) == (
        ("a",),
        ("b",),
    )


@pytest.mark.parametrize(("is_confirmed", "removed"), [(False, ()), (True, ("a", "b"))])
def test_too_many_removals_wait_for_a_person_and_so_does_all_the_rest(is_confirmed, removed):
    state = published(*(document(name) for name in "abc"))
    inventory = source(document("c"), document("fresh"))
    own = {"own": {"source": {"max_removed": 0.5}}}
    changes = found(state, inventory, is_confirmed=is_confirmed, **own)
    assert changes.partitions_in(PartitionChange.REMOVED) == removed
    assert bool(changes.removal_doubt) is not is_confirmed
    assert changes.partitions_in(PartitionChange.UNCONFIRMED) == (
        () if is_confirmed else ("a", "b")
    )


BOUNDS = {"share": {"max_removed": 0.5}, "number": {"max_removed": 0.9, "max_removed_documents": 1}}


@pytest.mark.parametrize(
    ("bounds", "removed", "added", "is_doubted"),
    [
        ("share", "ab", (), False),  # no more than the half
        ("share", "abc", (), True),
        ("number", "a", (), False),
        ("number", "ab", (), True),
        ("share", "abc", [document(name) for name in "efghij"], True),  # new ones do not count
        ("share", "abc", [document(f"moved/{n}", f"Text of {n}.") for n in "abc"], False),
        ("share", "abcd", [document(n, f"Other {n}.") for n in "efgh"], True),
    ],
)
def test_the_share_and_the_number_of_removed_documents_are_bounded(
    bounds, removed, added, is_doubted
):
    state = published(*(document(name) for name in "abcd"))
    inventory = source(*(document(name) for name in "abcd" if name not in removed), *added)
    changes = found(state, inventory, own={"source": BOUNDS[bounds]})
    assert bool(changes.removal_doubt) == is_doubted


def test_documents_of_partitions_that_only_changed_settings_count_among_the_published():
    documents = [document(name) for name in "abcd"]
    state = published(*documents, build=OTHER_BUILD)
    own = {"own": {"source": {"max_removed": 0.3}}}
    assert found(state, source(*documents[1:]), **own).removal_doubt == ""


def test_a_held_tree_stays_until_a_document_of_it_is_gone():
    held, other = document("held"), document("other")
    manifest = Manifest("held", "b", (1,), 1, {"held": held.content_hash}, "", "", "", pin="worse")
    state = replace(published(document("held", "Earlier text."), other), pins=[manifest])
    changes = found(state, source(document("held", "Later text."), other), ["held", "other"])
    assert changes.pin_notes == {"held": "worse"}
    assert (
        changes.to_build,
        changes.partitions_in(PartitionChange.REMOVED),
        changes.partitions_in(PartitionChange.UNCHANGED),
    ) == (
        (),
        (),
        ("other",),
    )
    changes = found(state, source(other), ["held", "other"])
    assert (changes.pin_notes, changes.partitions_in(PartitionChange.REMOVED)) == ({}, ("held",))


@pytest.mark.parametrize(
    ("live", "staged", "publish", "waiting", "to_build"),
    [
        ("", "now", "when_approved", ("a",), ()),
        ("", "now", "at_once", (), ("a",)),
        ("", "earlier", "when_approved", (), ("a",)),
        ("now", "earlier", "when_approved", (), ("a",)),
        ("now", "earlier", "at_once", (), ("a",)),
        ("now", "", "when_approved", (), ()),
    ],
)
def test_a_build_that_waits_is_made_again_where_it_is_not_of_the_present_source(
    live, staged, publish, waiting, to_build
):
    texts = {"now": "Text.", "earlier": "Earlier text."}
    inputs = {
        name: TreeVersion.of("a", documents_version({"a": [document("a", text)]}), BUILD).text
        for name, text in texts.items()
    }
    short_manifests = published(document("a", texts[live])) if live else published()
    state = replace(
        short_manifests, read_waiting_inputs=lambda _: {"a": inputs[staged]} if staged else {}
    )
    own = {"runs": {"publish": publish}}
    changes = found(state, source(document("a", texts["now"])), own=own)
    assert (changes.partitions_in(PartitionChange.WAITING), changes.to_build) == (waiting, to_build)
