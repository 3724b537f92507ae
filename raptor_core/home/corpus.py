"""Published trees of one corpus: its store is opened as calls need it.

A home has one or two of them: its trees, and the corpus tree. ``retriever`` searches both.
"""

from collections.abc import Callable
from contextlib import ExitStack
from threading import Lock
from typing import TypeVar

from raptor_core.errors import StoreError, StoreLockedError, StoreMismatchError, UnknownTreeError
from raptor_core.home.folder import HomeFolder
from raptor_core.home.published import open_published, require_store
from raptor_core.settings import Settings
from raptor_core.store.store import VectorStore

Result = TypeVar("Result")


class PublishedCorpus:
    """Published trees in the store of one folder.

    An embedded store is opened for each call, and the store of a server once. Threads may share it.

    Args:
        home: the folder.
        settings: its settings.
    """

    def __init__(self, home: HomeFolder, settings: Settings) -> None:
        self.home = home
        self.settings = settings
        self._is_server = settings.store.kind == "server"
        # Threads wait here instead of polling an embedded store's lock; a server serves them all.
        self._lock = Lock()
        self._refusal: StoreLockedError | None = None
        self._open: tuple[VectorStore, ExitStack] | None = None

    def require(self) -> None:
        """Raise UnknownTreeError if nothing is published; an open store is not asked again."""
        if self._open is None:
            require_store(self.home, self.settings)

    def read(self, call: Callable[[VectorStore], Result]) -> Result:
        """Return the result of ``call`` on the store; after a failure open it again and repeat."""
        if not self._is_server:
            return self._read_embedded(call)
        opened = self._open
        if opened is not None:
            try:
                return call(opened[0])
            except (UnknownTreeError, StoreMismatchError):
                raise
            except StoreError:
                with self._lock:
                    if self._open is opened:  # not closed, as other threads may still read it
                        self._open = None
        return call(self._open_server()[0])

    def _read_embedded(self, call: Callable[[VectorStore], Result]) -> Result:
        """Open the store for one call; a refusal ends all calls that wait for this one."""
        previous = self._refusal
        with self._lock:
            if self._refusal is not previous:
                raise StoreLockedError(str(self._refusal))
            try:
                with open_published(self.home, self.settings) as store:
                    return call(store)
            except StoreLockedError as error:
                self._refusal = StoreLockedError(str(error))  # without frames
                raise

    def _open_server(self) -> tuple[VectorStore, ExitStack]:
        with self._lock:
            if self._open is None:
                with ExitStack() as stack:
                    store = stack.enter_context(open_published(self.home, self.settings))
                    self._open = (store, stack.pop_all())
            return self._open

    def close(self) -> None:
        """Close the open store of a server; the next call opens it again."""
        with self._lock:
            opened, self._open = self._open, None
        if opened is not None:
            opened[1].close()
