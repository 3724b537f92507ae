"""Each state of a partition leads to the action in the table of ``find_changes``."""

from dataclasses import replace

import pytest

from raptor_assets import names
from raptor_assets.project.plan import (
    RecordedState,
    Renames,
    compare,
    decide_changes,
    find_wiped,
    read_previous,
    read_source,
)
from raptor_assets.versions import published_version
from raptor_core.documents import Document, Entry, Inventory, Removals
from raptor_core.errors import DamagedTableError
from raptor_core.settings import Settings

BUILD = "b" * 16
NAMES = ("current", "edited", "fresh", "lost", "plain")
"""Partitions of the source; "old" and "ours" are outside of it."""

MARKS = dict.fromkeys(NAMES, ("mark",))


@pytest.fixture
def source():
    entries = tuple(Entry.of(Document(name, f"Text of {name}.")) for name in sorted(NAMES))
    inventory = Inventory(entries)
    return read_source(inventory, Settings().grouping, BUILD, None)


@pytest.fixture
def recorded(source):
    """All but "fresh" are published; "edited" from other documents, "plain" without its report."""
    existing = {"current", "edited", "lost", "plain", "old"}
    snapshots = {name: source.versions.get(name, "gone") for name in existing}
    snapshots["edited"] = "other"
    published = {
        name: published_version(version, BUILD, MARKS.get(name, ()))
        for name, version in snapshots.items()
    }
    numbers = dict.fromkeys(existing, 1)
    reported = dict.fromkeys(existing - {"plain"}, 2)
    return RecordedState(existing, published, snapshots, numbers, reported, numbers)


STORE = (
    {name: marks for name, marks in MARKS.items() if name != "lost"} | {"ours": (), "far": ()},
)


def known(partition):
    return [Document("ours", "Text.")] if partition == "ours" else []


def changes(source, recorded, removals):
    states = compare(source, recorded, BUILD, STORE, known)
    return decide_changes(source, recorded, states, Renames(), removals)


def test_each_state_leads_to_its_action(source, recorded):
    found = changes(source, recorded, Removals())
    assert found.unchanged == ("current",)
    assert found.new == ("fresh",)
    assert found.changed == ("edited", "lost", "plain")
    assert (found.lost, found.unreported) == ({"lost"}, {"plain"})
    assert found.removed == ("old", "ours")
    assert found.orphaned == ("far",)
    assert (found.withheld, found.unconfirmed) == ((), ())


def test_records_are_trusted_where_the_store_was_not_read(source, recorded):
    states = compare(source, recorded, BUILD, None, known)
    assert (states.current, states.absent) == ({"current", "lost"}, {"old"})


def test_a_tree_that_was_published_is_wiped_and_a_first_build_that_failed_is_new_work(
    source, recorded
):
    missing = {name: [names.TREE] for name in ("current", "lost", "plain", "edited")}
    published = {"edited": recorded.published["edited"]}
    reported = {"lost": 2}
    wiped = replace(recorded, published=published, reported=reported, wiped=missing)
    assert changes(source, wiped, Removals()).wiped.keys() == {"current", "lost", "plain"}
    failed = replace(wiped, reported={})
    assert changes(source, failed, Removals()).wiped.keys() == {"current", "plain"}


def test_partitions_of_unknown_documents_and_of_those_being_written_stay(source, recorded):
    writing = replace(source, writing={"current", "fresh"})
    found = changes(writing, recorded, Removals(unknown={"old": "a folder"}))
    assert found.withheld == ("fresh", "old")
    assert (found.new, found.removed, found.unchanged) == ((), ("ours",), ("current",))


def test_unconfirmed_removals_drop_nothing(source, recorded):
    removals = Removals(unconfirmed=frozenset({"old", "edited"}), reason="2 of 3 are gone")
    found = changes(source, recorded, removals)
    assert (found.unconfirmed, found.doubt) == (("edited", "old"), "2 of 3 are gone")
    assert (found.changed, found.removed) == (("lost", "plain"), ("ours",))


def test_a_partition_whose_documents_moved_is_dropped_after_their_new_one_is_built(
    source, recorded
):
    found = replace(changes(source, recorded, Removals()), successors={"old": ("fresh",)})
    assert found.removed == ("old", "ours")
    assert found.droppable(unfinished=["fresh"]) == ("ours",)
    assert found.droppable(unfinished=[]) == ("old", "ours")
    assert replace(found, withheld=("fresh",)).droppable([]) == ("ours",)
    assert replace(found, unconfirmed=("fresh",)).droppable([]) == ("ours",)


def test_a_damaged_table_counts_only_for_a_partition_outside_of_the_source():
    def damaged(_partition):
        raise DamagedTableError("damaged")

    assert read_previous(damaged, ["old"], ["edited"]) == {"old": None}


CHAIN = names.chain(3)
TWO_LAYERS = {*names.chain(2), names.clusters(3)}


@pytest.mark.parametrize("asset", [name for name in CHAIN if name in TWO_LAYERS])
def test_a_wiped_asset_of_a_tree_is_missed_and_layers_that_the_tree_has_not_are_none(asset):
    recorded = {name: {"a"} if name in TWO_LAYERS else set() for name in CHAIN}
    assert find_wiped("a", recorded, max_layers=3) == []
    recorded[asset] = set()
    assert find_wiped("a", recorded, max_layers=3) == [asset]
