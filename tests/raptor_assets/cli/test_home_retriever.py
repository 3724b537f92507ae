"""What applications search while the home is built and dropped beside them."""

import asyncio
import threading
from dataclasses import replace
from unittest import mock

import pytest
from support.processes import wait_until

from raptor_core import HomeRetriever
from raptor_core.errors import (
    StoreLockedError,
    UnknownTreeError,
)
from raptor_core.store.base import Where

pytestmark = pytest.mark.slow


@pytest.fixture
def retriever(built):
    return HomeRetriever(built.home)


def test_a_build_beside_it_waits_for_nothing_and_is_seen_by_the_next_search(own):
    retriever = HomeRetriever(own.home)
    retriever.search("a whale")
    own.write(
        "whale.md", "# The whale\n\nA whale stranded below the light in the winter of 1931.\n"
    )
    assert own.call("build").code == 0
    only = replace(retriever.query, where=Where(trees=("whale.md",)))
    assert "1931" in retriever.search("a whale", only).context
    assert own.call("drop", "whale.md", "--yes").code == 0
    with pytest.raises(UnknownTreeError, match=r"whale\.md"):
        retriever.search("a whale", only)


def test_those_that_wait_behind_one_that_the_store_is_refused_to_are_refused_with_it(retriever):
    tries, came, n_waiting = [], [], 5
    turn = threading.Lock()

    class Turn:
        def __enter__(self):
            came.append(1)
            turn.acquire()

        def __exit__(self, *_):
            turn.release()

    def refused(*_):
        tries.append(1)
        wait_until(lambda: len(came) >= n_waiting, [])
        raise StoreLockedError("a build holds it")

    async def together():
        calls = (asyncio.to_thread(retriever.manifests) for _ in range(n_waiting))
        return await asyncio.gather(*calls, return_exceptions=True)

    retriever.corpus_of(None)._lock = Turn()
    with mock.patch("raptor_core.home.corpus.open_published", refused):
        errors = asyncio.run(together())
        assert [repr(error) for error in errors] == ["StoreLockedError('a build holds it')"] * 5
        assert tries == [1]
        with pytest.raises(StoreLockedError):
            retriever.manifests()
    assert tries == [1, 1]
    assert retriever.manifests()
