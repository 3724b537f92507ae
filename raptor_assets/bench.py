"""What the steps of a run work with: settings, tools, tables, the vector store, the source."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import Protocol, Self

import dagster as dg

from raptor_assets.report_folder import ReportFolder
from raptor_core.documents.base import Corpus, Document
from raptor_core.documents.grouping import group_documents
from raptor_core.nodes import Node
from raptor_core.settings import Settings
from raptor_core.store.base import VectorStore
from raptor_core.tables import TableStore
from raptor_core.tree.published import Published
from raptor_core.tree.tools import Tools
from raptor_core.vectors import Vectors

Trees = Mapping[str, Sequence[Document]]
"""Documents of one partition by tree."""


class StoreOpener(Protocol):
    """Opens the vector store; an embedded engine is locked until it is closed."""

    def open(self) -> AbstractContextManager[VectorStore]:
        """The store, made for the settings' embedder where it is new."""

    def promote(self, trees: Collection[str]) -> bool:
        """Switch readers to the settings' embedder, once no tree of these would be missed."""


HELD_NODES = 1000
"""Nodes that local models finish within seconds: for so few the store stays open meanwhile."""


class StoreCache:
    """The vector store as a cache for one step; a context manager.

    Opening an embedded store takes a tenth of a second, and while it is open readers in other
    processes wait. So it is held for short work, and else opened for each call: then a reader
    waits for a look-up or a write, never for a model.
    ``known`` collects the keys that were found, which tells what was reused.
    """

    def __init__(self, opener: StoreOpener, *, hold: bool) -> None:
        self._opener = opener
        self._hold = hold
        self._held = ExitStack()
        self._store: VectorStore | None = None
        self.known: set[str] = set()

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """See ``NodeCache.vectors``."""
        wanted = list(embedding_keys)
        if not wanted:
            return {}
        with self._opened() as store:
            found = store.vectors(wanted)
        self.known.update(found)
        return found

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """See ``NodeCache.texts``."""
        wanted = list(content_keys)
        if not wanted:
            return {}
        with self._opened() as store:
            found = store.texts(wanted)
        self.known.update(found)
        return found

    def stage(self, nodes: Sequence[Node], vectors: Vectors | None) -> None:
        """See ``NodeCache.stage``."""
        if nodes:
            with self._opened() as store:
                store.stage(nodes, vectors)

    def _opened(self) -> AbstractContextManager[VectorStore]:
        if not self._hold:
            return self._opener.open()
        if self._store is None:
            self._store = self._held.enter_context(self._opener.open())
        return nullcontext(self._store)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._store = None
        self._held.__exit__(kind, error, trace)


@dataclass
class Bench:
    """One run's tools and places.

    ``read_source`` gives the documents of the run's partitions, ``source_trees`` the names of all
    trees that the source makes.
    """

    settings: Settings
    versions: Mapping[dg.AssetKey, str]
    tools: Tools
    tables: TableStore
    store: StoreOpener
    read_source: Callable[[], Corpus]
    source_trees: Callable[[], Collection[str]]
    reports: ReportFolder
    warn: Callable[[str], None] = field(default=lambda _message: None)

    @cached_property
    def corpus(self) -> Corpus:
        """The source, read once in a run; what it could not read is warned of by name."""
        corpus = self.read_source()
        for skipped in corpus.skipped:
            self.warn(f"not read: {skipped.name}: {skipped.reason}")
        return corpus

    @cached_property
    def published(self) -> Published:
        """What was published when it was first asked for."""
        with self.store.open() as store:
            return Published(store.manifests())

    @cached_property
    def partitions(self) -> dict[str, dict[str, tuple[Document, ...]]]:
        """The source's documents by partition and tree."""
        return group_documents(self.corpus.documents, self.settings.grouping)
