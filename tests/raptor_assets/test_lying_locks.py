"""A disk that grants every lock, as some network folders do, is refused by all that takes one."""

import fcntl

import pytest
from support.stores import make_tree, open_at, publish

from raptor_assets.home.folder import Home
from raptor_assets.local.dagster import open_instance
from raptor_core.errors import RaptorError

LOCKED = {
    "store": lambda path: open_at(path / "store", "edge"),
    "records": lambda path: open_instance(Home(path / "home")),
}


@pytest.mark.parametrize("locked", LOCKED)
def test_a_disk_that_grants_every_lock_is_refused_with_its_remedy(tmp_path, monkeypatch, locked):
    with open_at(tmp_path / "store", "edge") as opened:
        publish(opened, make_tree())
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    with pytest.raises(RaptorError) as refused, LOCKED[locked](tmp_path):
        pass
    message = str(refused.value)
    assert "grants the same lock twice" in message
    assert "choose a folder on a disk of this machine" in message
    assert str(tmp_path) in message
