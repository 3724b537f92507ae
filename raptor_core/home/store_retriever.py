"""Search over the trees in the store of one folder, which is opened as calls need it.

``retriever`` searches a home with it, ``corpus_retriever`` a home's corpus tree.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from threading import Lock
from typing import TypeVar

from raptor_core.errors import StoreError, StoreLockedError, StoreMismatchError, UnknownTreeError
from raptor_core.home.folder import HomeFolder
from raptor_core.home.published import open_published, require_store, require_trees
from raptor_core.nodes import Node
from raptor_core.retrieval import Family, Query, Retrieval, Retriever, Trace, family, trace
from raptor_core.retrieval.base import require_words
from raptor_core.retrieval.questions import QuestionWindows
from raptor_core.retrieval.retriever import AsyncSearch, run_traced
from raptor_core.retrieval.trace import nodes_under
from raptor_core.settings import Settings
from raptor_core.store.base import Manifest, Where
from raptor_core.store.collection import check_identity
from raptor_core.store.store import VectorStore
from raptor_core.tree.components import Components

Result = TypeVar("Result")


class StoreRetriever(AsyncSearch):
    """Search over the published trees in the store of one folder.

    Args:
        home: the folder.
        settings: its settings.
        components: components with the embedder of the store.
    """

    def __init__(self, home: HomeFolder, settings: Settings, components: Components) -> None:
        self.home = home
        self.settings = settings
        self.components = components
        self._is_server = settings.store.kind == "server"
        # Threads wait here instead of polling an embedded store's lock; a server serves them all.
        self._lock = Lock()
        self._refusal: StoreLockedError | None = None
        self._open: tuple[VectorStore, ExitStack] | None = None

    @property
    def query(self) -> Query:
        """Query of the settings, the default of each search."""
        return Query.from_settings(self.settings)

    def search_many(self, questions: Sequence[str], query: Query | None = None) -> list[Retrieval]:
        """Retrieve for each question; all are embedded together, before the store is opened.

        Raises:
            UnknownTreeError: a tree that the query names is not published.
            SettingsError: the query names no known strategy, or contradicts it.
        """
        query = query or self.query
        return self.search_required(questions, query, query.where.trees or ())

    def search_required(
        self, questions: Sequence[str], query: Query, trees: Sequence[str]
    ) -> list[Retrieval]:
        """Retrieve for each question; raise UnknownTreeError if one of ``trees`` is missing."""
        if self._open is None:
            require_store(self.home, self.settings)  # before a model is loaded
        embedder = self.components.embedder

        def search(store: VectorStore, windows: QuestionWindows) -> list[Retrieval]:
            check_identity(store.identity, self.components.probed_identity, str(self.home.path))
            retrievals = Retriever(store, embedder).search_windows(windows, query)
            published = {hit.node.tree for retrieval in retrievals for hit in retrieval.hits}
            require_trees(store, [tree for tree in trees if tree not in published])
            return retrievals

        def run() -> list[Retrieval]:
            windows = QuestionWindows.embed(embedder, questions)
            return self.read(lambda store: search(store, windows))

        return run_traced(self.settings.store.corpus, questions, run)

    def search_within(self, question: str, node_id: str, query: Query | None = None) -> Retrieval:
        """Retrieve from a node and the nodes under it; a traversal starts at the node."""
        require_words(question)
        query = query or self.query
        required = query.where.trees or ()
        nodes = self.read(lambda store: nodes_under(store, node_id))
        ids = tuple(node.id for node in nodes)
        where = query.where.narrowed(trees=(nodes[0].tree,), ids=ids)
        query = replace(query, where=where, start_layer=nodes[0].layer, scope="trees")
        return self.search_required([question], query, required)[0]

    def trace(self, node_id: str) -> Trace:
        """Return the exact spans of the documents under a node."""
        return self.read(lambda store: trace(store, node_id))

    def family(self, node_id: str) -> Family:
        """Return a node with its parents and children."""
        return self.read(lambda store: family(store, node_id))

    def manifests(self) -> list[Manifest]:
        """Return the manifests of the published trees, by tree name."""
        return self.read(lambda store: store.manifests())

    def nodes(self, tree: str) -> list[Node]:
        """Return all nodes of a published tree."""

        def read(store: VectorStore) -> list[Node]:
            nodes = store.nodes(Where(trees=(tree,)))
            require_trees(store, () if nodes else (tree,))
            return nodes

        return self.read(read)

    def nodes_of(self, node_ids: Sequence[str]) -> list[Node]:
        """Return the published nodes with these ids, in document order."""
        return self.read(lambda store: store.nodes(Where(ids=tuple(node_ids))))

    def close(self) -> None:
        """Close the open store of a server; the next call opens it again."""
        with self._lock:
            opened, self._open = self._open, None
        if opened is not None:
            opened[1].close()

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
