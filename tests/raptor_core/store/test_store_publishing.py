"""Many trees in few commits: each comes as it would alone."""

from dataclasses import replace

import pytest
from support.engines import edge_only
from support.stores import (
    edition as edition_of,
)
from support.stores import (
    faults,
    keyed_vectors,
    make_manifest,
    make_node,
    make_tree,
    publish,
    publish_together,
)

from raptor_core.errors import DamagedTreeError, StoreError
from raptor_core.store import PublicationCounts, TreeEdition, Where, publishing
from raptor_core.store.engines.base import Point, SetReaders, Upsert
from raptor_core.store.payload import manifest_point_id

NAMES = ("one", "two", "three")


def edition(tree, **values):
    return edition_of(make_tree(tree, **values), tree)


def bare(tree="bare"):
    """A tree without a vector in any store."""
    nodes = [make_node(tree, text=f"never embedded {tree}")]
    return TreeEdition(make_manifest(nodes, tree), nodes)


def trees(store):
    return [manifest.tree for manifest in store.manifests()]


@pytest.fixture
def commits(store, monkeypatch):
    """The operations of each commit."""
    found, apply = [], store._engine.apply

    def applied(operations):
        if len(operations) > 1:  # else it stages points
            found.append(list(operations))
        apply(operations)

    monkeypatch.setattr(store._engine, "apply", applied)
    return found


@edge_only
def test_trees_go_in_the_commit_in_which_others_come(store, commits):
    publish_together(store, {tree: make_tree(tree) for tree in NAMES})
    done, dropped = publish_together(store, {"four": make_tree("four")}, ["one", "two", "never"])
    assert (done[0].added, dropped, len(commits)) == (15, 30, 2)
    assert trees(store) == ["four", "three"]
    assert store.count() == 30


@edge_only
def test_a_tree_without_its_vectors_stays_and_other_calls_are_published(store):
    publish(store, make_tree("one"), "one")
    new, other = edition("one", word="new"), edition("two")
    with store.publish_together() as publishing:
        with pytest.raises(StoreError, match="'bare' cannot be published"):
            publishing.publish([new, bare()])
        publishing.publish([other])
    assert trees(store) == ["one", "two"]
    assert {n.text.split()[0] for n in store.nodes()} == {"words"}
    assert faults(store) == []


def publish_and_fail(store):
    with store.publish_together() as publishing:
        publishing.publish([edition("two")])
        publishing.drop(["one"])
        raise ZeroDivisionError


@edge_only
def test_a_block_that_an_error_ends_changes_nothing(store):
    publish(store, make_tree("one"), "one")
    before = (store.nodes(), store.manifests())
    with pytest.raises(ZeroDivisionError):
        publish_and_fail(store)
    assert (store.nodes(), store.manifests()) == before


@edge_only
def test_marks_are_the_manifests_in_short(store):
    publish_together(store, {tree: make_tree(tree) for tree in NAMES})
    nodes = make_tree("with\0odd \u2028 name", n=4)
    manifest = replace(make_manifest(nodes, nodes[0].tree), inputs="digest", is_refused=True)
    store.publish(manifest, nodes, keyed_vectors(nodes))
    short_manifests = store.short_manifests()
    assert short_manifests == [manifest.short_form for manifest in store.manifests()]
    assert (short_manifests[-1].inputs, short_manifests[-1].is_refused) == ("digest", True)


@pytest.mark.parametrize("stored", [None, "{", "3"])
@edge_only
def test_a_manifest_whose_mark_cannot_be_read_is_damaged_until_it_is_published(
    store, monkeypatch, stored
):
    with monkeypatch.context() as planted:
        whole = publishing.manifest_to_payload
        planted.setattr(publishing, "manifest_to_payload", lambda m: whole(m) | {"mark": stored})
        publish(store, make_tree("damaged"), "damaged")
    with pytest.raises(DamagedTreeError, match=r"is not the short form of one.*--force"):
        store.short_manifests()
    publish(store, make_tree("damaged"), "damaged")
    assert store.short_manifests() == [manifest.short_form for manifest in store.manifests()]


@edge_only
def test_a_payload_that_cannot_be_decoded_is_named(store):
    node, *_ = nodes = make_tree()
    publish(store, nodes)
    lost = Point(manifest_point_id("other"), {"state": "live", "node_id": node.id, "tree": "t"})
    store._engine.apply([Upsert((lost,))])
    with pytest.raises(DamagedTreeError, match=rf"node {node.id} of tree 't'.*Restore the store"):
        store.nodes()
    publish(store, nodes)
    assert faults(store) == []


def publish_with(store, readers):
    published = edition("one")
    manifest = replace(published.manifest, readers=readers)
    return store.publish(manifest, published.nodes, published.vectors)


def test_a_node_has_the_readers_that_all_its_documents_have(store, commits):
    every = {"d0.md": ("ana", "ben"), "d1.md": ("*",), "d2.md": ("ben", "eva")}
    assert publish_with(store, every).added == 15
    n_nodes = {name: store.count(Where(readers=(name,))) for name in ("ana", "ben", "eva", "*")}
    assert n_nodes == {"ana": 8, "ben": 15, "eva": 8, "*": 4}  # each document has four leaves
    assert store.manifests()[0].readers == every
    commits.clear()
    counts = publish_with(store, every | {"d0.md": ("ben",)})
    assert counts == PublicationCounts(0, 0, unchanged=15, removed=0, readers=4)
    ((changed, *_),) = commits  # before the manifest that says so
    assert (type(changed), len(changed.ids), changed.readers) == (SetReaders, 4, ("ben",))
    del every["d2.md"]
    publish_with(store, every)
    assert [store.count(Where(readers=(name,))) for name in ("ana", "ben", "eva")] == [8, 8, 4]
    assert faults(store) == []
