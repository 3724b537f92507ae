import pytest
from support.stand_ins import qdrant_stand_in
from support.stores import make_tree, open_at
from support.transfers import ODD, exported, publish, rich_tree

from raptor_core.store import retries


@pytest.fixture
def stand_in(monkeypatch):
    """A stand-in for a Qdrant server, which is asked again at once."""
    monkeypatch.setattr(retries, "BASE_SECONDS", 0.001)
    with qdrant_stand_in() as server:
        yield server


@pytest.fixture
def open_kind(tmp_path, stand_in):
    """Opens a store of a kind at a name; the server is a stand-in at the wire."""

    def opened(kind, name, **options):
        if kind == "server":
            return open_at(None, kind, url=stand_in.url, **options)
        return open_at(tmp_path / name, kind, **options)

    return opened


@pytest.fixture
def one(tmp_path):
    """A store with two trees, and its export."""
    with open_at(None, "local") as store:
        publish(store, rich_tree(ODD), ODD)
        publish(store, make_tree("t"), "t")
        folder, export = exported(store, tmp_path / "export")
        yield store, folder, export
