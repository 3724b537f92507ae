import pytest
from support.qdrant_stand_in import StandIn
from support.stores import open_at


@pytest.fixture
def stand_in():
    """A stand-in for a Qdrant server."""
    server = StandIn()
    yield server
    server.close()


@pytest.fixture
def open_kind(tmp_path, stand_in):
    """Opens a store of a kind at a name; the server is a stand-in at the wire."""

    def opened(kind, name, **options):
        if kind == "server":
            return open_at(None, kind, url=stand_in.url, **options)
        return open_at(tmp_path / name, kind, **options)

    return opened
