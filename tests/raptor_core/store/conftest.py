import pytest
from support.stores import open_at

EMBEDDED = ("edge", "local")


@pytest.fixture(params=[*EMBEDDED, "memory"])
def store(request, tmp_path):
    """An empty store of each kind."""
    in_memory = request.param == "memory"
    with open_at(None, "local") if in_memory else open_at(tmp_path, request.param) as opened:
        yield opened


@pytest.fixture(params=EMBEDDED)
def kind(request):
    """The kinds that live in a directory."""
    return request.param
