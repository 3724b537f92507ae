"""Searching what a home publishes, for applications that run beside its builds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TypeVar

from raptor_core.errors import StoreError, StoreLockedError, StoreMismatchError, UnknownTreeError
from raptor_core.home.corpus_tree import CorpusAnswerPlan, plan_answer
from raptor_core.home.folder import HomeFolder
from raptor_core.home.published import (
    corpus_tree_folder,
    has_corpus_tree,
    published,
    require_store,
    require_trees,
)
from raptor_core.nodes import Node
from raptor_core.retrieval import Family, Query, Retrieval, Retriever, Trace, family, trace
from raptor_core.retrieval.retriever import AsyncSearch
from raptor_core.store.base import Manifest, Where
from raptor_core.store.corpus import check_identity
from raptor_core.store.store import VectorStore
from raptor_core.tree.components import Components
from raptor_core.tree.corpus_tree import CORPUS_TREE_NAME, TREE

Answer = TypeVar("Answer")

ROUTED_TREES = 5
"""Top nodes that a search from the corpus tree goes on under."""

MANY_TOKENS = 1_000_000
"""No bound, of a search whose texts are not read."""


class HomeRetriever(AsyncSearch):
    """Searches the published trees of a home; what ``Retriever`` does, by the home's settings.

    An embedded store is opened for each call and closed after it, because it serves one process at
    a time: a build waits for no application, and the next call sees what it published. A server's
    stays open, and is opened again where a call fails, as it does once the corpus has another
    embedder's collection. The settings are read once. One object may be shared by threads; the
    methods that begin with ``a`` do the same without blocking the event loop.

    Every method raises UnknownTreeError where nothing is published yet, or no tree or node by the
    name or id that it is given, StoreLockedError where another process held the store for
    ``store.lock_seconds``, and StoreMismatchError where it was built with another embedder.

    Args:
        home: the home's folder; None for what ``RAPTOR_HOME`` names, else ``.raptor``.
        components: where the embedder comes from; None makes the one of the settings.

    Raises:
        MissingHomeError: there is no home here.
        SettingsError: its settings file is wrong.
    """

    def __init__(
        self, home: str | Path | None = None, components: Components | None = None
    ) -> None:
        self.home, self.settings = HomeFolder.open(home)
        self.components = components or Components(self.settings)
        self._is_shared = self.settings.store.kind == "server"
        # Threads wait here and not by polling an embedded store's lock; a server serves them all.
        self._turn = Lock()
        self._refusal: StoreLockedError | None = None
        self._kept: tuple[VectorStore, ExitStack] | None = None

    def load_model(self) -> None:
        """Load the embedder's model now and not at the first question.

        Raises:
            ModelError: it cannot be loaded.
        """
        if self.settings.embedder.kind != "openai":
            self.components.embedder.embed_queries(["ready"])

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
        if query.where.trees == (CORPUS_TREE_NAME,) and self._has_above:
            every = replace(query, where=replace(query.where, trees=None), scope="trees")
            return self.above.search_many(questions, every)
        if query.scope == "corpus":
            return self._from_above(questions, query)
        return self._searched(questions, query, query.where.trees or ())

    def _searched(
        self, questions: Sequence[str], query: Query, required: Sequence[str]
    ) -> list[Retrieval]:
        """Retrieve from the trees; those ``required`` are to be published."""
        if self._kept is None:
            require_store(self.home, self.settings)  # before a model is loaded
        embedder = self.components.embedder
        vectors = embedder.embed_queries(questions)

        def search(store: VectorStore) -> list[Retrieval]:
            check_identity(store.identity, self.components.store_identity, str(self.home.path))
            retrievals = Retriever(store, embedder).search_vectors(questions, vectors, query)
            met = {hit.node.tree for one in retrievals for hit in one.hits}  # so they are published
            require_trees(store, [tree for tree in required if tree not in met])
            return retrievals

        return self.asked(search)

    def trace(self, node_id: str) -> Trace:
        """The exact spans of the documents under a node."""
        try:
            return self.asked(lambda store: trace(store, node_id))
        except UnknownTreeError:
            if not self._has_above:
                raise
        above = self.above.trace(node_id)
        leaves = self.above.nodes_of([span.node_id for span in above.spans])
        below = (self._below(leaf, self.trace) for leaf in leaves)
        spans = {span.node_id: span for one in below for span in one.spans}
        return Trace(above.node, tuple(spans.values()))

    def family(self, node_id: str) -> Family:
        """A node, the summaries over it, and what it summarizes."""
        try:
            return self.asked(lambda store: family(store, node_id))
        except UnknownTreeError:
            if not self._has_above:
                raise
        above = self.above.family(node_id)
        if not above.node.stands_for:
            return above
        return replace(above, children=(self._below(above.node, self.family).node,))

    @staticmethod
    def _below(leaf: Node, read: Callable[[str], Answer]) -> Answer:
        """What is read of the top node that a leaf of the corpus tree stands for."""
        try:
            return read(leaf.stands_for)
        except UnknownTreeError as error:
            raise UnknownTreeError(
                f"the tree {leaf.metadata[TREE]!r} under this node was dropped or written anew "
                "since; the next `raptor build` brings the corpus tree in step"
            ) from error

    def manifests(self) -> list[Manifest]:
        """What is published, by tree name."""
        own = self.asked(lambda store: store.manifests())
        if not self._has_above:
            return own
        try:
            return [*own, *self.above.manifests()]
        except UnknownTreeError:  # it was dropped, as too few trees are left
            return own

    def nodes(self, tree: str) -> list[Node]:
        """All nodes of a published tree."""
        reader = self.reader_of(tree)
        if reader is not self:
            return reader.nodes(tree)

        def read(store: VectorStore) -> list[Node]:
            nodes = store.nodes(Where(trees=(tree,)))
            require_trees(store, () if nodes else (tree,))
            return nodes

        return self.asked(read)

    def nodes_of(self, node_ids: Sequence[str]) -> list[Node]:
        """The published nodes with these ids, in document order."""
        return self.asked(lambda store: store.nodes(Where(ids=tuple(node_ids))))

    @cached_property
    def above(self) -> HomeRetriever:
        """The corpus tree, to search and to read.

        Raises:
            UnknownTreeError: there is none; it says how there would be one.
        """
        if not self._has_above:
            why = "set enabled = true under [corpus_tree] in the settings, and run `raptor build`"
            if self.settings.corpus_tree.enabled:
                least = self.settings.corpus_tree.min_trees
                why = f"it needs {least} published trees; add documents, and run `raptor build`"
            raise UnknownTreeError(f"there is no corpus tree: {why}")
        other = copy(self)
        other.home, other.settings = corpus_tree_folder(self.home, self.settings)
        other.components = self.components.above(other.settings)
        other._turn, other._kept = Lock(), None  # noqa: SLF001
        return other

    def reader_of(self, tree: str | None) -> HomeRetriever:
        """What reads a tree: this, or that of the corpus tree."""
        return self.above if tree == CORPUS_TREE_NAME and self._has_above else self

    @property
    def _has_above(self) -> bool:
        return has_corpus_tree(self.home, self.settings)

    def _from_above(self, questions: Sequence[str], query: Query) -> list[Retrieval]:
        """Search the trees that the tree above them leads to, a question at a time.

        It may lead to some that were dropped since; nothing is found there.
        """
        walks = query.strategy in ("traversal", "beam")
        start = Query(query.strategy if walks else "flat", MANY_TOKENS, top_k=ROUTED_TREES)
        retrievals = []
        for question, led in zip(questions, self.above.search_many(questions, start), strict=True):
            leaves = (hit.node for hit in led.ranked if hit.node.is_leaf)
            trees = tuple(dict.fromkeys(str(leaf.metadata[TREE]) for leaf in leaves))
            where = replace(query.where, trees=query.where.trees or trees)
            below, named = replace(query, where=where, scope="trees"), query.where.trees or ()
            retrievals += self._searched([question], below, named)
        return retrievals

    def plan_answer(self, query: Query | None = None) -> CorpusAnswerPlan:
        """What an answer about the whole corpus, from ``above``, takes; nothing is called."""
        budget = (query or self.query).budget_tokens
        return plan_answer(self.above.nodes(CORPUS_TREE_NAME), self.settings, budget)

    def close(self) -> None:
        """Close what is open; the next call opens it again."""
        with self._turn:
            kept, self._kept = self._kept, None
        if kept is not None:
            kept[1].close()

    def asked(self, ask: Callable[[VectorStore], Answer]) -> Answer:
        """What ``ask`` gives; asked once more of a store that is opened anew where it fails."""
        if not self._is_shared:
            return self._asked_in_turn(ask)
        kept = self._kept
        if kept is not None:
            try:
                return ask(kept[0])
            except (UnknownTreeError, StoreMismatchError):
                raise
            except StoreError:
                with self._turn:
                    if self._kept is kept:  # it is not closed: others may be asking it still
                        self._kept = None
        return ask(self._keep()[0])

    def _asked_in_turn(self, ask: Callable[[VectorStore], Answer]) -> Answer:
        """Who waits behind a call that the store is refused to is refused with it."""
        before = self._refusal
        with self._turn:
            if self._refusal is not before:
                raise StoreLockedError(str(self._refusal))
            try:
                with published(self.home, self.settings) as store:
                    return ask(store)
            except StoreLockedError as error:
                self._refusal = StoreLockedError(str(error))  # without frames
                raise

    def _keep(self) -> tuple[VectorStore, ExitStack]:
        with self._turn:
            if self._kept is None:
                with ExitStack() as opening:
                    store = opening.enter_context(published(self.home, self.settings))
                    self._kept = (store, opening.pop_all())
            return self._kept
