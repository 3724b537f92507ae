"""Servers that tests share, one of each in a session."""

import pytest
from support.object_store import forget_connections, object_store
from support.postgres import postgres_server


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def s3_server():
    """An S3 server."""
    with object_store() as server:
        yield server


@pytest.fixture
def s3(s3_server, monkeypatch):
    """The S3 server, with its address and credentials in the environment."""
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    forget_connections()
    yield s3_server
    forget_connections()
