"""A snapshot of a real server's collection, put back."""

from support.stores import faults, make_tree, open_at, publish

NAME = "corpus-ab12cd34"


def test_a_snapshot_that_is_put_back_is_the_store_of_then(stand_in, qdrant_server):
    old, new = make_tree(word="old"), make_tree(word="new")
    with open_at(None, "server", url=stand_in.url) as store:
        publish(store, old)
        made = stand_in.client.create_snapshot(NAME)
        publish(store, new)
        place = qdrant_server.folder / "snapshots" / NAME / made.name
        stand_in.client.recover_snapshot(NAME, place.as_uri(), wait=True)
        assert {node.text[:3] for node in store.nodes()} == {"old"}
        assert faults(store) == []
        assert publish(store, new).added == 15
        assert faults(store) == []
