"""Searching what a home publishes, for applications that run beside its builds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from threading import Lock

from dagster_project.home import Home
from dagster_project.published import open_home, published, require_trees
from raptor_core.retrieval import Family, Query, Retrieval, Retriever, Trace, family, trace
from raptor_core.retrieval.awaited import Awaited
from raptor_core.store.base import Manifest, StoreIdentity
from raptor_core.store.store import VectorStore
from raptor_core.tree.tools import Tools


class HomeRetriever(Awaited):
    """Searches the published trees of a home; what ``Retriever`` does, by the home's settings.

    The store is opened for each call and closed after it, because an embedded one serves one
    process at a time: a build waits for no application, and the next call sees what it published.
    The settings are read once. One object may be shared by threads; the methods that begin with
    ``a`` do the same without blocking the event loop.

    Every method raises UnknownTreeError where nothing is published yet, StoreLockedError where
    another process held the store for ``store.lock_seconds``, and StoreMismatchError where it was
    built with another embedder.

    Args:
        home: the home's folder; None for what ``RAPTOR_HOME`` names, else ``.raptor``.
        tools: where the embedder comes from; None makes the one of the settings.

    Raises:
        MissingHomeError: there is no home here.
        SettingsError: its settings file is wrong.
    """

    def __init__(self, home: str | Path | None = None, tools: Tools | None = None) -> None:
        self._home, self.settings = open_home(Home.at(home).path)
        self._tools = tools or Tools(self.settings)
        # Threads wait here and not by polling the embedded store's lock; a server serves them all.
        shared = self.settings.store.kind == "server"
        self._turn: AbstractContextManager[object] = nullcontext() if shared else Lock()

    def load_model(self) -> None:
        """Load the embedder's model now and not at the first question.

        Raises:
            ModelError: it cannot be loaded.
        """
        if self.settings.embedder.kind != "openai":
            self._tools.embedder.embed_queries(["ready"])

    @property
    def query(self) -> Query:
        """The query of the home's settings, which is used where none is given."""
        return Query.from_settings(self.settings)

    def search(self, question: str, query: Query | None = None) -> Retrieval:
        """Retrieve for one question; see ``search_many``."""
        return self.search_many([question], query)[0]

    def search_many(self, questions: Sequence[str], query: Query | None = None) -> list[Retrieval]:
        """Retrieve for each question; all are embedded before the store is opened, once.

        Raises:
            UnknownTreeError: a tree that the query names is not published.
            SettingsError: the query names no known strategy, or contradicts it.
        """
        query = query or self.query
        embedder = self._tools.embedder
        vectors = embedder.embed_queries(questions)
        with self._opened(self._tools.store_identity) as store:
            require_trees(store, query.where.trees or ())
            return Retriever(store, embedder).search_vectors(questions, vectors, query)

    def trace(self, node_id: str) -> Trace:
        """The exact spans of the documents under a node.

        Raises:
            UnknownTreeError: no published node has this id.
        """
        with self._opened() as store:
            return trace(store, node_id)

    def family(self, node_id: str) -> Family:
        """A node, the summaries over it, and what it summarizes.

        Raises:
            UnknownTreeError: no published node has this id.
        """
        with self._opened() as store:
            return family(store, node_id)

    def manifests(self) -> list[Manifest]:
        """What is published, by tree name."""
        with self._opened() as store:
            return store.manifests()

    @contextmanager
    def _opened(self, identity: StoreIdentity | None = None) -> Iterator[VectorStore]:
        with self._turn, published(self._home, self.settings, identity) as store:
            yield store
