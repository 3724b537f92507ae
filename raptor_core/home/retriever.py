"""Search over what a home publishes, for applications that run while it is built.

Opening the store is in ``store_retriever``, the corpus tree in ``corpus_retriever``.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from raptor_core.errors import UnknownTreeError
from raptor_core.home.corpus_retriever import CorpusTreeRetriever
from raptor_core.home.corpus_tree import (
    CorpusAnswerPlan,
    plan_layer,
    plan_search,
    refuse_narrowing,
)
from raptor_core.home.folder import HomeFolder
from raptor_core.home.published import has_corpus_tree
from raptor_core.home.store_retriever import StoreRetriever
from raptor_core.nodes import Node
from raptor_core.retrieval import Family, Query, Retrieval, Trace
from raptor_core.retrieval.base import require_words
from raptor_core.store.base import Manifest
from raptor_core.tree.components import Components
from raptor_core.tree.corpus_tree import CORPUS_TREE_NAME


class HomeRetriever(StoreRetriever):
    """Search over the published trees of a home, with the embedder and query of its settings.

    An embedded store serves one process at a time, so each call opens and closes it. A build does
    not wait for an application, and the next call reads what the build published. The store of a
    server stays open; after a failure it is opened again. The settings are read once. Threads may
    share a retriever. The methods whose names begin with ``a`` do not block the event loop.

    Every method raises UnknownTreeError if nothing is published, or no tree or node has the name or
    id; StoreLockedError if another process held the store for ``store.lock_seconds``; and
    StoreMismatchError if the store was built with another embedder.

    Args:
        home: folder of the home; None for the value of ``RAPTOR_HOME``, else ``.raptor``.
        components: source of the embedder; None creates the one of the settings.

    Raises:
        MissingHomeError: the folder is not a home.
        SettingsError: its settings file is wrong.
    """

    def __init__(
        self, home: str | Path | None = None, components: Components | None = None
    ) -> None:
        folder, settings = HomeFolder.open(home)
        super().__init__(folder, settings, components or Components(settings))

    def load_model(self) -> None:
        """Load the embedder's model now and not at the first question.

        Raises:
            ModelError: it cannot be loaded.
        """
        if self.settings.embedder.kind != "openai":
            self.components.embedder.embed_queries(["ready"])

    @cached_property
    def corpus_tree(self) -> CorpusTreeRetriever:
        """Retriever over the corpus tree.

        Raises:
            UnknownTreeError: the home has no corpus tree; the message says how to build one.
        """
        return CorpusTreeRetriever(self)

    @property
    def _has_corpus_tree(self) -> bool:
        return has_corpus_tree(self.home, self.settings)

    def reader_of(self, tree: str | None) -> StoreRetriever:
        """Return the retriever that reads a tree: this one, or that of the corpus tree."""
        return self.corpus_tree if tree == CORPUS_TREE_NAME and self._has_corpus_tree else self

    def search_many(self, questions: Sequence[str], query: Query | None = None) -> list[Retrieval]:
        """Retrieve for each question, as ``StoreRetriever``, or from the corpus tree."""
        query = query or self.query
        if query.where.trees == (CORPUS_TREE_NAME,) and self._has_corpus_tree:
            every = replace(query, where=replace(query.where, trees=None), scope="trees")
            return self.corpus_tree.search_many(questions, every)
        if query.scope == "corpus":
            return self.corpus_tree.search_below(questions, query)
        return super().search_many(questions, query)

    def search_within(self, question: str, node_id: str, query: Query | None = None) -> Retrieval:
        """Retrieve from the nodes under a node; of the corpus tree, from the trees under it."""
        try:
            return super().search_within(question, node_id, query)
        except UnknownTreeError:
            if not self._has_corpus_tree:
                raise
        return self.corpus_tree.search_within(question, node_id, query)

    def trace(self, node_id: str) -> Trace:
        """Return the exact spans of the documents under a node."""
        try:
            return super().trace(node_id)
        except UnknownTreeError:
            if not self._has_corpus_tree:
                raise
        return self.corpus_tree.trace(node_id)

    def family(self, node_id: str) -> Family:
        """Return a node with its parents and children."""
        try:
            return super().family(node_id)
        except UnknownTreeError:
            if not self._has_corpus_tree:
                raise
        return self.corpus_tree.family(node_id)

    def manifests(self) -> list[Manifest]:
        """Return the manifests of the published trees, by tree name, the corpus tree last."""
        manifests = super().manifests()
        if not self._has_corpus_tree:
            return manifests
        try:
            return [*manifests, *self.corpus_tree.manifests()]
        except UnknownTreeError:  # dropped, as too few trees remain
            return manifests

    def nodes(self, tree: str) -> list[Node]:
        """Return all nodes of a published tree."""
        if tree == CORPUS_TREE_NAME and self._has_corpus_tree:
            return self.corpus_tree.nodes(tree)
        return super().nodes(tree)

    def plan_answer(self, question: str, query: Query | None = None) -> CorpusAnswerPlan:
        """Plan an answer about the whole corpus, from the corpus tree; no chat model is called.

        A query for ``layers`` reads the most detailed of these that fits; others search.
        """
        require_words(question)
        query = query or self.query
        layers = query.where.layers
        refuse_narrowing(name for name in query.where.conditions if name != "layers" or not layers)
        if layers:
            nodes = self.corpus_tree.nodes(CORPUS_TREE_NAME)
            return plan_layer(nodes, self.settings, query.budget_tokens, layers)
        return plan_search(question, query, self, self.corpus_tree)

    def close(self) -> None:
        """Close the open stores of a server; the next call opens them again."""
        super().close()
        if "corpus_tree" in vars(self):
            self.corpus_tree.close()
