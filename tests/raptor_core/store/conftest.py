import pytest
from support.authority import make_authority
from support.qdrant_server import KEY
from support.stand_ins import stand_in
from support.stores import open_at

__all__ = ["stand_in"]


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """A folder with a certificate of 127.0.0.1 that signs itself, and its key."""
    return make_authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture(params=["edge", "server"])
def store(request, tmp_path):
    """An empty store of each kind; the server is a real one where a binary is found."""
    if request.param == "edge":
        opened = open_at(tmp_path)
    elif server := request.getfixturevalue("qdrant_server"):
        server.clear()
        request.getfixturevalue("monkeypatch").setenv("QDRANT_API_KEY", KEY)
        opened = open_at(None, "server", url=server.url)
    else:
        opened = open_at(None, "server", url=request.getfixturevalue("stand_in").url)
    with opened:
        yield opened
