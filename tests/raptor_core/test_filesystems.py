"""Places behind fsspec that cannot be opened."""

import pytest
from support.ports import free_port

from raptor_core.errors import SourceError
from raptor_core.filesystems import open_place


def test_a_server_that_is_asked_on_opening_is_named_without_its_password():
    url = f"ftp://ada:secret@127.0.0.1:{free_port()}/papers"
    with pytest.raises(SourceError, match="does not answer, or refuses: ConnectionRefused") as told:
        open_place(url, SourceError)
    assert "ftp://***@127.0.0.1" in str(told.value)
