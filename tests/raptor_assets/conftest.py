"""Servers that tests share, one of each in a session; homes whose source changes."""

import pytest
from support.session_servers import postgres, s3, s3_server
from support.source_homes import built, built_pair, later, pair, start
from support.stand_ins import stand_in

__all__ = [
    "built",
    "built_pair",
    "later",
    "pair",
    "postgres",
    "s3",
    "s3_server",
    "stand_in",
    "start",
]


@pytest.fixture
def erasing():
    """Let builds erase the bytes of deleted points from the store's files, as they do elsewhere."""


@pytest.fixture(autouse=True)
def _leave_bytes_of_deleted_points(request):
    """Skip the rewriting of the store's files, a third of a small rebuild, but for ``erasing``."""
    with pytest.MonkeyPatch.context() as patch:  # the test's own is undone before its files go
        if "erasing" not in request.fixturenames:
            patch.setattr("raptor_core.store.engines.edge.ERASED_POINTS", -1)
        yield
