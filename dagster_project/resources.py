"""Resources: they turn the settings and the home into core objects, and do nothing else."""

from __future__ import annotations

from functools import cached_property

from dagster_project.home import Home
from raptor_assets.chain import Progress
from raptor_core.audit.base import Judge
from raptor_core.audit.overlap import OverlapJudge
from raptor_core.chunking.sentences import sentences
from raptor_core.documents import Corpus, list_files, load_documents
from raptor_core.identity import digest
from raptor_core.settings import Settings
from raptor_core.store import StoreIdentity, VectorStore, open_store, stored_identity
from raptor_core.tables import TableStore
from raptor_core.tree.tools import Tools


class SourceResource:
    """The source that the settings name; or, when it was read already, what was read."""

    def __init__(self, settings: Settings, corpus: Corpus | None = None) -> None:
        self._settings = settings
        self._corpus = corpus

    def corpus(self) -> Corpus:
        """All documents, and what could not be read.

        Raises:
            SourceError: the source is missing, unreachable or empty.
        """
        return self._corpus or load_documents(settings=self._settings.source)

    def stamp(self) -> str:
        """Changes when any file was written, added or removed; lists the source, reads nothing.

        Raises:
            SourceError: the source is missing or unreachable.
        """
        files = list_files(settings=self._settings.source)
        return digest("source", *(f"{file.id}\0{file.stamp}" for file in files))


class ToolsResource:
    """The tools, made once in a process: a loaded model serves all runs of it."""

    def __init__(self, settings: Settings, tools: Tools | None = None) -> None:
        self._tools = tools or Tools(settings)

    def tools(self) -> Tools:
        """Chunker, embedder, clusterer, summarizer; each loads what it needs when it is used."""
        return self._tools

    def judge(self) -> Judge:
        """What audits sampled summaries."""
        return OverlapJudge(sentences)


class TablesResource:
    """The tables, in the home or where the settings say."""

    def __init__(self, settings: Settings, home: Home) -> None:
        self._url = settings.tables.url or str(home.tables)

    @cached_property
    def _store(self) -> TableStore:
        return TableStore(self._url)

    def tables(self) -> TableStore:
        """Parquet files by asset key and partition."""
        return self._store


class StoreResource:
    """The vector store, embedded in the home or on a server."""

    def __init__(self, settings: Settings, home: Home, tools: ToolsResource) -> None:
        self._settings = settings
        self._home = home
        self._tools = tools

    def open(self) -> VectorStore:
        """The store, made for the settings' embedder where it is new; close it soon.

        Raises:
            StoreError: locked, damaged, unreachable, or made for another embedder.
        """
        embedder = self._tools.tools().embedder
        identity = StoreIdentity(
            corpus=self._settings.store.corpus,
            embedder_model=embedder.model,
            embedder_fingerprint=embedder.fingerprint,
            n_dims=embedder.n_dims,
        )
        return open_store(self._settings.store, self._home.qdrant, identity)

    def exists(self) -> bool:
        """Whether there is a store of this corpus."""
        return stored_identity(self._settings.store, self._home.qdrant) is not None

    def open_existing(self) -> VectorStore:
        """The store as it is there, to read or drop from, without loading an embedder.

        Raises:
            StoreError: as ``open``, or nothing is there.
        """
        return open_store(self._settings.store, self._home.qdrant)


def ignore_progress(_progress: Progress) -> None:
    """The progress resource where nobody watches."""
