import pytest
from support.authority import make_authority
from support.qdrant_server import KEY, find_qdrant
from support.stand_ins import qdrant_by_grpc, stand_in
from support.stores import open_at

from raptor_core.retrying import RetryPolicy
from raptor_core.store.engines import retries

__all__ = ["stand_in"]

collect_ignore_glob = [] if find_qdrant() else ["test_qdrant_*.py"]
"""What only a real server can be made to do."""

EMBEDDED = ("edge", "local")
SERVERS = ("server", "grpc")
NO_HTTP = "http://127.0.0.1:1"


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """A folder with a certificate of 127.0.0.1 that signs itself, and its key."""
    return make_authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def service(qdrant_server, monkeypatch):
    """A Qdrant server by gRPC, which is asked again at once."""
    monkeypatch.setattr(retries, "POLICY", RetryPolicy(base_seconds=0.001))
    with qdrant_by_grpc(qdrant_server) as service:
        yield service


@pytest.fixture(params=[*EMBEDDED, "memory", *SERVERS])
def store(request, tmp_path):
    """An empty store of each kind; a server by gRPC asks for its key."""
    if request.param == "memory":
        opened = open_at(None, "local")
    elif request.param == "server":
        opened = open_at(None, "server", url=request.getfixturevalue("stand_in").url)
    elif request.param == "grpc":
        service = request.getfixturevalue("service")
        request.getfixturevalue("monkeypatch").setenv("QDRANT_API_KEY", KEY)
        service.keyed = True
        opened = open_at(None, "server", url=NO_HTTP, grpc=True, grpc_port=service.port)
    else:
        opened = open_at(tmp_path, request.param)
    with opened:
        yield opened


@pytest.fixture(params=EMBEDDED)
def kind(request):
    """The kinds that live in a directory."""
    return request.param
