"""Opening the vector store in a run: for a call, for a step, or over several short steps.

Opening an embedded store takes a tenth of a second, and while it is open readers in other
processes wait. So it is held for short work, and else opened for each call: then a reader waits
for a look-up or a publication, never for a model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager, ExitStack, nullcontext

from raptor_assets.project.resources import StoreResource
from raptor_core.store.store import VectorStore
from raptor_core.vectors import Vectors

HELD_NODES = 1000
"""Nodes that local models finish within seconds: for so few the store stays open meanwhile."""


class HeldStore:
    """Opens the store; between ``hold`` and ``release`` it stays open from its first use on."""

    def __init__(self, opener: StoreResource) -> None:
        self._opener = opener
        self._held: ExitStack | None = None
        self._store: VectorStore | None = None

    def open(self) -> AbstractContextManager[VectorStore]:
        """See ``StoreResource.open``."""
        if self._held is None:
            return self._opener.open()
        if self._store is None:
            self._store = self._held.enter_context(self._opener.open())
        return nullcontext(self._store)

    def promote(self, trees: Collection[str]) -> bool:
        """See ``StoreResource.promote``."""
        self.release()
        return self._opener.promote(trees)

    def hold(self) -> None:
        """Keep the store open once it is opened."""
        if self._held is None:
            self._held = ExitStack()

    def release(self) -> None:
        """Close what is held, and hold no longer."""
        held, self._held, self._store = self._held, None, None
        if held is not None:
            held.close()


class KnownStore:
    """What the vector store knows, opened for each look-up."""

    def __init__(self, opener: StoreResource | HeldStore) -> None:
        self._opener = opener

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """See ``Known.vectors``."""
        wanted = list(embedding_keys)
        if not wanted:
            return {}
        with self._opener.open() as store:
            return store.vectors(wanted)

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """See ``Known.texts``."""
        wanted = list(content_keys)
        if not wanted:
            return {}
        with self._opener.open() as store:
            return store.texts(wanted)
