"""Access to the store of a corpus, which is opened when calls need it.

A home has one or two corpora: its trees, and the corpus tree. ``retriever`` searches both.
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
    """The published trees in the store of a folder.

    An embedded store is opened for each call, the store of a server only once. Threads may share an
    instance.

    Args:
        home: the folder.
        settings: its settings.
    """

    def __init__(self, home: HomeFolder, settings: Settings) -> None:
        self.home = home
        self.settings = settings
        self._is_server = settings.store.kind == "server"
        # Threads wait for this lock instead of polling the lock of an embedded store.
        self._lock = Lock()
        self._lock_error: StoreLockedError | None = None
        self._open: tuple[VectorStore, ExitStack] | None = None

    def require_published(self) -> None:
        """Raise UnknownTreeError if nothing is published; an open store is not checked again."""
        if self._open is None:
            require_store(self.home, self.settings)

    def call_with_store(self, call: Callable[[VectorStore], Result]) -> Result:
        """Call a function with the store and return its result.

        If the open store of a server failed, it is opened again and the call is repeated once.
        """
        if not self._is_server:
            return self._call_with_embedded_store(call)
        opened = self._open
        if opened is not None:
            try:
                return call(opened[0])
            except (UnknownTreeError, StoreMismatchError):
                raise
            except StoreError:
                with self._lock:
                    if self._open is opened:  # not closed, because other threads may still use it
                        self._open = None
        return call(self._open_server()[0])

    def _call_with_embedded_store(self, call: Callable[[VectorStore], Result]) -> Result:
        """Open the store for a call; if it is locked, all waiting calls fail, too."""
        previous = self._lock_error
        with self._lock:
            if self._lock_error is not previous:
                raise StoreLockedError(str(self._lock_error))
            try:
                with open_published(self.home, self.settings) as store:
                    return call(store)
            except StoreLockedError as error:
                self._lock_error = StoreLockedError(str(error))  # a copy without a traceback
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
