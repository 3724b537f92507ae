"""The retriever for applications, over an open store or over trees in memory.

Strategies are in ``hybrid`` and ``paper``; the retriever over a home is in ``raptor_core.home``.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Self
from weakref import finalize

from raptor_core.errors import EmptySourceError, SettingsError, StoreMismatchError
from raptor_core.identity import embedding_key
from raptor_core.models.embedding.base import Embedder
from raptor_core.nodes import Tree
from raptor_core.retrieval.base import (
    Query,
    Questions,
    Retrieval,
    Strategy,
    check_history,
    require_words,
)
from raptor_core.retrieval.hybrid import Hybrid
from raptor_core.retrieval.paper import NearestNodes, Traversal
from raptor_core.retrieval.questions import QuestionSegments, chance_hit_warnings
from raptor_core.retrieval.trace import Trace, trace_node
from raptor_core.settings import StoreSettings
from raptor_core.store import Where, open_store
from raptor_core.store.store import VectorStore
from raptor_core.tracing import record_retrieved_nodes, span
from raptor_core.tree.components import Components
from raptor_core.tree.publish import make_manifest
from raptor_core.vectors import Vectors

STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {
        "hybrid": Hybrid(),
        "collapsed": NearestNodes(),
        "collapsed-lexical": NearestNodes(by_words=True),
        "traversal": Traversal(),
        "flat": NearestNodes(only_chunks=True),
        "lexical": NearestNodes(by_words=True, only_chunks=True),
    }
)


class BaseSearcher(ABC):
    """Base class of retrievers over a store or a home; threads may share one."""

    @property
    @abstractmethod
    def query(self) -> Query:
        """Default query."""

    @abstractmethod
    def search_many(self, questions: Sequence[str], query: Query | None = None) -> list[Retrieval]:
        """Retrieve for each question."""

    @abstractmethod
    def trace(self, node_id: str) -> Trace:
        """Return the exact spans of documents from which a node derives."""

    @abstractmethod
    def for_readers(self, readers: Sequence[str] | None) -> Self:
        """Return a retriever that sees only what these readers may read.

        For its methods, all other nodes, documents and trees do not exist. A second call can only
        restrict the readers further.

        Args:
            readers: names of the caller and of the caller's groups. "*" is everyone, an empty list
                may read nothing, and None, for trusted code, may read everything.
        """

    def search(
        self,
        question: str,
        query: Query | None = None,
        *,
        history: Sequence[str] = (),
        readers: Sequence[str] | None = None,
    ) -> Retrieval:
        """Retrieve for a question; see ``search_many``.

        Args:
            query: None for the default query.
            history: earlier messages of the conversation, the latest last. Their terms are added
                to a follow-up question, such as "And why?".
            readers: users and groups of the caller; see ``for_readers``.
        """
        searcher = self if readers is None else self.for_readers(readers)
        if history:
            query = replace(query or self.query, history=check_history(history))
        return searcher.search_many([question], query)[0]


class Retriever(BaseSearcher):
    """Retriever over the published trees of a store; threads may share it.

    Args:
        store: an open store, which the retriever does not close.
        embedder: the embedder with which the store was built.
    """

    def __init__(self, store: VectorStore, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder
        self._origin: Retriever | None = None

    def for_readers(self, readers: Sequence[str] | None) -> Self:
        """Return a retriever that sees only what these readers may read; see ``BaseSearcher``."""
        if readers is None:
            return self
        bound = copy(self)
        bound._store = self._store.for_readers(readers)  # noqa: SLF001
        bound._origin = self  # noqa: SLF001  # keeps the store of trees in memory alive
        return bound

    @classmethod
    def from_trees(cls, trees: Sequence[Tree], components: Components | None = None) -> "Retriever":
        """Create a retriever over trees in memory, as ``build_tree`` returns them.

        Their vectors are stored in a temporary folder, which is removed with the retriever. Their
        readers are those that their documents declare.

        Args:
            trees: one or more trees with different names.
            components: the components that built the trees; None for the defaults.

        Raises:
            EmptySourceError: ``trees`` is empty.
            SettingsError: trees have the same name.
            StoreMismatchError: a tree was built with another embedder.
        """
        if not trees:
            raise EmptySourceError("a retriever needs at least one tree")
        components = components or Components()
        _check_distinct_tree_names(trees)
        _check_embedder(trees, components.embedder)
        settings = StoreSettings(corpus=components.settings.store.corpus)
        folder = TemporaryDirectory(prefix="raptor-trees-")
        store = open_store(settings, Path(folder.name), components.store_identity)
        retriever = cls(store, components.embedder)
        finalize(retriever, _remove_store, store, folder)
        for tree in trees:
            manifest = make_manifest(tree, (), components.settings_fingerprint)
            documents = dict.fromkeys(tree.documents, "")
            manifest = replace(manifest, documents=documents, readers=tree.readers)
            store.publish(manifest, tuple(tree.nodes()), tree.vectors())
        return retriever

    @property
    def query(self) -> Query:
        """Default query."""
        return Query()

    def search_many(self, questions: Sequence[str], query: Query | None = None) -> list[Retrieval]:
        """Retrieve for each question; see ``search_vectors``."""

        def search() -> list[Retrieval]:
            history = query.history if query else ()
            segments = QuestionSegments.embed(self._embedder, questions, history)
            return self.search_segments(segments, query)

        return run_traced(self._store.identity.corpus, questions, search)

    def search_segments(
        self, questions: QuestionSegments, query: Query | None = None
    ) -> list[Retrieval]:
        """Retrieve for questions that are already divided into segments; see ``search_vectors``."""
        query = query or self.query
        best = questions.nearest_segments(self._store, query.where)
        retrievals = self.search_vectors(best.texts, best.vectors, query)
        notes = chance_hit_warnings(best, retrievals, query, self._store, self._embedder)
        return questions.restore_questions_add_notes(retrievals, notes)

    def search_vectors(
        self, questions: Sequence[str], vectors: Vectors, query: Query | None = None
    ) -> list[Retrieval]:
        """Retrieve for questions that are already embedded.

        Args:
            vectors: their vectors, shape ``(len(questions), n_dims)``.
            query: None for the default query.

        Raises:
            SettingsError: the strategy is unknown, or contradicts another part of the query.
        """
        query = query or self.query
        strategy = STRATEGIES.get(query.strategy)
        if strategy is None:
            raise SettingsError(
                f"no strategy is called {query.strategy!r}; available: {', '.join(STRATEGIES)}"
            )
        if not questions:
            return []
        for question in questions:
            require_words(question)
        batch = Questions(tuple(questions), vectors)
        with span(f"search {query.strategy}"):
            # The filter includes the store's readers, because it is a key of caches.
            where = query.where.narrow(readers=self._store.readers)
            retrievals = strategy.retrieve(batch, replace(query, where=where), self._store)
        note = _note_unknown_keys(query.where, self._store)
        return [
            replace(
                found.without_wordless_hits,
                query=query,
                note="; ".join(filter(None, (found.note, note))),
            )
            for found in retrievals
        ]

    def trace(self, node_id: str) -> Trace:
        """Return the exact spans of documents from which a node derives.

        Raises:
            UnknownTreeError: no published node has this id.
        """
        return trace_node(self._store, node_id)


def run_traced(
    corpus: str, questions: Sequence[str], search: Callable[[], list[Retrieval]]
) -> list[Retrieval]:
    """Run ``search`` in an OpenTelemetry span, which gets the ids and scores of the hits.

    Raises:
        QuestionError: a question has no words.
    """
    for question in questions:
        require_words(question)
    values = {"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": corpus}
    with span(f"retrieval {corpus}", {**values, "gen_ai.provider.name": "raptor"}) as current:
        retrievals = search()
        hits = (hit for retrieval in retrievals for hit in retrieval.hits)
        record_retrieved_nodes(current, questions, [(hit.node.id, hit.score) for hit in hits])
        return retrievals


def _note_unknown_keys(where: Where, store: VectorStore) -> str:
    """Return a note on metadata keys in a filter that no document has, or ""."""
    exclude = where.exclude.metadata if where.exclude else {}
    keys = dict.fromkeys((*where.metadata, *exclude))
    leaves = Where(layers=(0,), readers=where.readers)
    unknown = [key for key in keys if not store.count(replace(leaves, metadata={key: {}}))]
    names = ", ".join(map(repr, unknown))
    return f"no document has the metadata {names}; check the spelling of the key" if unknown else ""


def _remove_store(store: VectorStore, folder: "TemporaryDirectory[str]") -> None:
    """Close the store of trees in memory, and remove its folder."""
    store.close()
    folder.cleanup()


def _check_distinct_tree_names(trees: Sequence[Tree]) -> None:
    """Raise SettingsError if trees have the same name, because one would replace the other."""
    counts = Counter(tree.name for tree in trees)
    if names := [repr(name) for name, n_trees in counts.items() if n_trees > 1]:
        raise SettingsError(
            f"expected trees of different names, got several called {', '.join(names)}; give each "
            "a name: build_tree(documents, name=...)"
        )


def _check_embedder(trees: Sequence[Tree], embedder: Embedder) -> None:
    """Raise StoreMismatchError if a tree was built with another embedder."""
    for tree in trees:
        leaf = tree.layers[0].nodes[0]
        if leaf.embedding_key != embedding_key(leaf.embedding_text, embedder.fingerprint):
            raise StoreMismatchError(
                f"the vectors of tree {tree.name!r} do not come from the embedder "
                f"{embedder.model!r}; pass the components of the tree to from_trees"
            )
