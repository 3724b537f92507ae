import pytest
from support.qdrant_stand_in import StandIn
from support.stores import open_at

EMBEDDED = ("edge", "local")


@pytest.fixture
def stand_in():
    """A stand-in for a Qdrant server."""
    server = StandIn()
    yield server
    server.close()


@pytest.fixture(params=[*EMBEDDED, "memory", "server"])
def store(request, tmp_path):
    """An empty store of each kind; the server is a stand-in at the wire."""
    if request.param == "memory":
        opened = open_at(None, "local")
    elif request.param == "server":
        opened = open_at(None, "server", url=request.getfixturevalue("stand_in").url)
    else:
        opened = open_at(tmp_path, request.param)
    with opened:
        yield opened


@pytest.fixture(params=EMBEDDED)
def kind(request):
    """The kinds that live in a directory."""
    return request.param
