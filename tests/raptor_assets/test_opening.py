"""How often a run opens the vector store, and when it lets others in."""

from contextlib import contextmanager

import pytest

from raptor_assets.chain.context import HeldStore, KnownStore


class Opener:
    """Counts how often it opened, and is open."""

    def __init__(self):
        self.n_opened = 0
        self.is_open = False

    @contextmanager
    def open(self):
        assert not self.is_open, "an embedded store cannot be opened twice"
        self.n_opened += 1
        self.is_open = True
        try:
            yield self
        finally:
            self.is_open = False

    def vectors(self, keys):
        return dict.fromkeys(keys, 1.0)


@pytest.fixture
def opener():
    return Opener()


def test_a_store_that_is_not_held_is_closed_after_every_use(opener):
    store = HeldStore(opener)
    for _ in range(2):
        with store.open():
            assert opener.is_open
        assert not opener.is_open
    assert opener.n_opened == 2


def test_a_held_store_is_opened_once_and_first_when_it_is_used(opener):
    store = HeldStore(opener)
    store.hold()
    store.hold()
    assert opener.n_opened == 0
    for _ in range(3):
        with store.open() as opened:
            assert opened is opener
    assert opener.is_open
    store.release()
    assert (opener.is_open, opener.n_opened) == (False, 1)
    store.release()
    with store.open():
        pass
    assert (opener.is_open, opener.n_opened) == (False, 2)


def test_a_look_up_leaves_a_held_store_open_for_the_next_step(opener):
    store = HeldStore(opener)
    store.hold()
    for _ in range(2):
        assert KnownStore(store).vectors(["a"]) == {"a": 1.0}
        assert KnownStore(store).vectors([]) == {}
    assert (opener.is_open, opener.n_opened) == (True, 1)
