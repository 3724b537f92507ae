"""Search over the published trees of a home, for applications that run while it is built.

A home has one or two corpora: its trees and, if enabled, the corpus tree, whose documents are the
top nodes of the trees. ``corpus`` opens the store of each.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Self, TypeVar

from raptor_core.errors import AccessError, StoreMismatchError, UnknownTreeError
from raptor_core.home.corpus import PublishedCorpus
from raptor_core.home.folder import HomeFolder
from raptor_core.home.published import corpus_tree_folder, has_corpus_tree, require_trees
from raptor_core.nodes import Node
from raptor_core.retrieval import Family, Query, Retrieval, Retriever, Trace, read_family
from raptor_core.retrieval.base import Scope, join_retrievals, require_words
from raptor_core.retrieval.questions import QuestionSegments
from raptor_core.retrieval.retriever import BaseSearcher, run_traced
from raptor_core.retrieval.trace import nodes_under, trace_from_nodes
from raptor_core.settings import Settings
from raptor_core.store.base import Manifest, Where, check_reader_names, shared_readers
from raptor_core.store.collection import check_identity
from raptor_core.store.store import VectorStore
from raptor_core.tree.components import Components
from raptor_core.tree.corpus_tree import is_corpus_tree

Result = TypeVar("Result")


class HomeRetriever(BaseSearcher):
    """Search over the published trees of a home, with the embedder and query of its settings.

    Only one process at a time can open an embedded store, so each call opens and closes it. Builds
    therefore do not wait for applications, and the next call sees what a build published. The store
    of a server stays open, and is opened again after a failure. Settings are read once. Threads may
    share a retriever.

    ``for_readers`` returns a retriever for a caller, whose methods return only what the caller may
    read. Without a caller, everything is visible, unless ``access.required`` is set; then
    AccessError is raised.

    Every method raises UnknownTreeError if nothing is published, or if a tree or node does not
    exist; StoreLockedError if another process keeps the store for ``store.lock_seconds``; and
    StoreMismatchError if the store was built with another embedder.

    Args:
        home: folder of the home; None for the value of ``RAPTOR_HOME``, else ``.raptor``.
        components: source of the embedder; None creates the one of the settings.
        is_operator: allow calls without a caller even if ``access.required`` is set, because
            whoever calls can read the home's files anyway.

    Raises:
        MissingHomeError: the folder is not a home.
        SettingsError: its settings file is invalid.
    """

    def __init__(
        self,
        home: str | Path | None = None,
        components: Components | None = None,
        *,
        is_operator: bool = False,
    ) -> None:
        folder, self.settings = HomeFolder.open_with_settings(home)
        # A list, so that the copies that ``for_readers`` returns share a new embedder.
        self._components = [components or Components(self.settings)]
        self._may_change_embedder = components is None
        self._trees = PublishedCorpus(folder, self.settings)
        self._corpus_tree = PublishedCorpus(*corpus_tree_folder(folder, self.settings))
        self.readers: tuple[str, ...] | None = None
        self._needs_caller = self.settings.access.required and not is_operator

    def for_readers(self, readers: Sequence[str] | None) -> Self:
        """Return a retriever that returns only what these readers may read.

        Args:
            readers: names of the caller and of the caller's groups; None returns this retriever.

        Raises:
            SettingsError: ``readers`` is not a list of names.
        """
        if readers is None:
            return self
        bound = copy(self)
        bound.readers = shared_readers(self.readers, check_reader_names(readers))
        return bound

    @property
    def components(self) -> Components:
        """Source of the embedder; replaced after the home was re-embedded with another model."""
        return self._components[0]

    def _update_embedder(self) -> bool:
        """Switch to the embedder that the home's settings now name; return whether it is new."""
        settings = HomeFolder.open_with_settings(self._trees.home.path)[1]
        parts = {"embedder": settings.embedder, "components": settings.components}
        new = Components(self.settings.model_copy(update=parts))
        is_new = new.embedder.fingerprint != self.components.embedder.fingerprint
        if is_new:
            self._components[0] = new
        return is_new

    @property
    def query(self) -> Query:
        """Default query of each search, from the settings."""
        return Query.from_settings(self.settings)

    def load_model(self) -> None:
        """Load the embedder's model now, instead of at the first question.

        Raises:
            ModelError: it cannot be loaded.
        """
        if self.settings.embedder.kind != "openai":
            self.components.embedder.embed_queries(["ready"])

    def search_many(self, questions: Sequence[str], query: Query | None = None) -> list[Retrieval]:
        """Retrieve for each question; all are embedded together, before a store is opened.

        Raises:
            UnknownTreeError: a tree that the query names is not published, or there is no corpus
                tree to search.
            SettingsError: the strategy is unknown, or contradicts another part of the query.
        """
        self.require_caller()
        query = query or self.query
        corpora = self._corpora_to_search(query)
        for corpus in corpora:
            corpus.require_published()  # fails before a model is loaded

        def search(
            corpus: PublishedCorpus,
            segments: QuestionSegments,
            named: Sequence[str],
            components: Components,
        ) -> list[Retrieval]:
            def read(store: VectorStore) -> list[Retrieval]:
                name = corpus.settings.store.corpus
                identity = replace(components.probed_identity, corpus=name)
                check_identity(store.identity, identity, str(corpus.home.path))
                retrievals = Retriever(store, components.embedder).search_segments(segments, query)
                published = {hit.node.tree for retrieval in retrievals for hit in retrieval.hits}
                require_trees(store, [tree for tree in named if tree not in published])
                return retrievals

            return self._call_with_corpus(corpus, read)

        def run() -> list[Retrieval]:
            components = self.components
            segments = QuestionSegments.embed(components.embedder, questions, query.history)
            try:
                results = [search(corpora[0], segments, query.where.trees or (), components)]
                results += [search(corpus, segments, (), components) for corpus in corpora[1:]]
            except StoreMismatchError:
                if not (self._may_change_embedder and self._update_embedder()):
                    raise
                return run()
            return [join_retrievals(parts) for parts in zip(*results, strict=True)]

        return run_traced(self.settings.store.corpus, questions, run)

    def search_within(self, question: str, node_id: str, query: Query | None = None) -> Retrieval:
        """Retrieve from a node and the nodes below it; a traversal starts at the node."""
        require_words(question)
        query = query or self.query
        corpus, nodes = self._call_with_corpus_of_node(lambda store: nodes_under(store, [node_id]))
        if trees := query.where.trees:
            self._call_with_corpus(corpus, lambda store: require_trees(store, trees))
        where = query.where.narrow(trees=(nodes[0].tree,), ids=[node.id for node in nodes])
        scope: Scope = "trees" if corpus is self._trees else "corpus"
        query = replace(query, where=where, start_layer=nodes[0].layer, scope=scope)
        return self.search(question, query)

    def trace(self, node_id: str) -> Trace:
        """Return the exact spans of documents from which a node of any tree derives."""
        _, nodes = self._call_with_corpus_of_node(lambda store: nodes_under(store, [node_id]))
        tops = [leaf for leaf in nodes if leaf.copied_node_id]
        if not tops:
            return trace_from_nodes(nodes)
        return trace_from_nodes([nodes[0], *self._nodes_under_tops(tops)])

    def family(self, node_id: str) -> Family:
        """Return a node with its parents and children.

        A leaf of the corpus tree has as its child the top node that it copies.
        """
        _, relatives = self._call_with_corpus_of_node(lambda store: read_family(store, node_id))
        if not relatives.node.copied_node_id:
            return relatives
        return replace(relatives, children=(self._nodes_under_tops([relatives.node])[0],))

    def manifests(self) -> list[Manifest]:
        """Return the manifests of the published trees by name, with the corpus tree last."""
        manifests = self._call_with_corpus(self._trees, lambda store: store.manifests())
        if not self._has_corpus_tree:
            return manifests
        try:
            return [
                *manifests,
                *self._call_with_corpus(self._corpus_tree, lambda store: store.manifests()),
            ]
        except UnknownTreeError:  # it was dropped, because too few trees remain
            return manifests

    def nodes(self, tree: str) -> list[Node]:
        """Return all nodes of a published tree."""

        def read(store: VectorStore) -> list[Node]:
            nodes = store.nodes(Where(trees=(tree,)))
            require_trees(store, () if nodes else (tree,))
            return nodes

        return self._call_with_corpus(self.corpus_of(tree), read)

    def corpus_of(self, tree: str | None) -> PublishedCorpus:
        """Return the corpus that contains a tree; for None or an unknown name, the trees."""
        is_above = tree is not None and is_corpus_tree(tree) and self._has_corpus_tree
        return self._corpus_tree if is_above else self._trees

    def close(self) -> None:
        """Close open connections to a server; the next call opens them again."""
        self._trees.close()
        self._corpus_tree.close()

    def call_with_home(
        self, tree: str | None, call: Callable[[HomeFolder, Settings, VectorStore], Result]
    ) -> Result:
        """Call a function with the home of a tree, its settings and store, and return its result.

        None means the home of all trees. The store shows only what the caller may read.
        """
        corpus = self.corpus_of(tree)
        return self._call_with_corpus(
            corpus, lambda store: call(corpus.home, corpus.settings, store)
        )

    def _call_with_corpus(
        self, corpus: PublishedCorpus, call: Callable[[VectorStore], Result]
    ) -> Result:
        self.require_caller()
        return corpus.call_with_store(lambda store: call(store.for_readers(self.readers)))

    def require_caller(self) -> None:
        """Raise AccessError if the call names no caller although ``access.required`` is set."""
        if self.readers is None and self._needs_caller:
            raise AccessError(
                "this home has access.required, but the call does not name the caller: pass "
                "readers=[...], the names of the caller and of the caller's groups, or type --as "
                "NAME"
            )

    @property
    def _has_corpus_tree(self) -> bool:
        return has_corpus_tree(self._trees.home, self.settings)

    def _corpora_to_search(self, query: Query) -> list[PublishedCorpus]:
        """Return the corpora that a query searches; tree names in its filter are of the first."""
        if query.scope == "trees":
            return [self._trees]
        if not self._has_corpus_tree:
            corpus = self.settings.corpus_tree
            hint = "set enabled = true under [corpus_tree] in the settings, and run `raptor build`"
            if corpus.enabled:
                hint = (
                    f"it needs {corpus.min_trees} published trees; add documents, and run "
                    "`raptor build`"
                )
            raise UnknownTreeError(f"there is no corpus tree: {hint}")
        return [self._corpus_tree] if query.scope == "corpus" else [self._trees, self._corpus_tree]

    def _call_with_corpus_of_node(
        self, read: Callable[[VectorStore], Result]
    ) -> tuple[PublishedCorpus, Result]:
        """Return the corpus that contains a node, and the result of a call with its store."""
        try:
            return self._trees, self._call_with_corpus(self._trees, read)
        except UnknownTreeError:
            if not self._has_corpus_tree:
                raise
        return self._corpus_tree, self._call_with_corpus(self._corpus_tree, read)

    def _nodes_under_tops(self, leaves: Sequence[Node]) -> list[Node]:
        """Return the top nodes that leaves of the corpus tree copy, and all nodes below them."""
        ids = list(dict.fromkeys(leaf.copied_node_id for leaf in leaves))

        def read(store: VectorStore) -> list[Node]:
            published = {node.id for node in store.nodes(Where(ids=tuple(ids)))}
            if stale := [
                leaf.documents[0] for leaf in leaves if leaf.copied_node_id not in published
            ]:
                raise UnknownTreeError(
                    f"the tree {stale[0]!r} under this node was dropped or rebuilt after the "
                    "corpus tree; the next `raptor build` updates the corpus tree"
                )
            return nodes_under(store, ids)

        return self._call_with_corpus(self._trees, read)
