import pytest
from support.authority import make_authority
from support.stand_ins import qdrant_stand_in
from support.stores import open_at

from raptor_core.store import retries

EMBEDDED = ("edge", "local")


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """A folder with a certificate of 127.0.0.1 that signs itself, and its key."""
    return make_authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def stand_in(monkeypatch):
    """A stand-in for a Qdrant server, which is asked again at once."""
    monkeypatch.setattr(retries, "BASE_SECONDS", 0.001)
    with qdrant_stand_in() as server:
        yield server


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
