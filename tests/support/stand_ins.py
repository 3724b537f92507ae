"""The fixture of the stand-in for a Qdrant server."""

from contextlib import contextmanager

from support.qdrant_stand_in import StandIn


@contextmanager
def qdrant_stand_in(context=None):
    """A stand-in; in the end all that came and went must be as Qdrant describes it."""
    server = StandIn(context)
    try:
        yield server
    finally:
        server.close()
    assert server.wrong == []
