"""Servers that tests share, one of each in a session."""

import pytest
from support.postgres import postgres_server


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server."""
    with postgres_server() as server:
        yield server
