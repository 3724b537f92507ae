import pytest
from support.stand_ins import stand_in
from support.stores import open_at
from support.transfers import ODD, exported, make_tree, publish, rich_tree

__all__ = ["stand_in"]


@pytest.fixture
def open_kind(tmp_path, stand_in):
    """Opens a store of a kind at a name; the server is at the wire."""

    def opened(kind, name, **options):
        if kind == "server":
            return open_at(None, kind, url=stand_in.url, **options)
        return open_at(tmp_path / name, kind, **options)

    return opened


@pytest.fixture
def one(tmp_path):
    """A store with two trees, and its export."""
    with open_at(None) as store:
        publish(store, rich_tree(ODD), ODD)
        publish(store, make_tree("t"), "t")
        folder, export = exported(store, tmp_path / "export")
        yield store, folder, export
