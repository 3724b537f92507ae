"""The resources of one home: they turn its settings into core objects, and do nothing else."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raptor_assets.names import DOCUMENTS, CorpusNames
from raptor_assets.project.home import Home
from raptor_assets.project.plan import Changes, StoreState, find_changes
from raptor_assets.project.record_files import Records
from raptor_assets.project.source_state import load_catalog, save_catalog
from raptor_assets.report_pages import ReportFolder
from raptor_assets.versions import build_version
from raptor_core.curation import Curation
from raptor_core.documents import (
    Corpus,
    Document,
    Inventory,
    Scan,
    document_partition,
    load_documents,
    read_documents,
    read_scanned,
    scan_source,
    tree_name,
)
from raptor_core.documents.base import MEGABYTE
from raptor_core.evaluation.datasets import Dataset, Question, load_golden, open_dataset
from raptor_core.layout import ROWS_PLACE
from raptor_core.settings import Settings, SourceSettings, StoreSettings
from raptor_core.store import VectorStore, open_store, stored_identities, stored_identity
from raptor_core.tables.curation import read_curation
from raptor_core.tables.files import TableStore
from raptor_core.tables.values import table_to_documents
from raptor_core.tree.components import Components
from raptor_core.tree.sqlite_cache import SqliteCache

if TYPE_CHECKING:
    import dagster as dg


class Resources:
    """What the corpus of one home works with, for Dagster and for the command.

    Nothing is loaded until it is used; what is then missing or wrong is raised by what loads it.

    Args:
        settings: of the corpus.
        home: where everything is kept.
        components: in place of those that the settings would make.
        scan: the source where it was looked at already.
        names: that the corpus has in Dagster; None for what the home says itself.
    """

    below: Resources | None = None
    """Of the corpus whose trees these are above, where they are."""

    def __init__(
        self,
        settings: Settings,
        home: Home,
        *,
        components: Components | None = None,
        scan: Scan | None = None,
        names: CorpusNames | None = None,
    ) -> None:
        self.settings = settings
        self.home = home
        self.names = home.names() if names is None else names
        self.source = SourceResource(self, scan)
        made = components or Components(settings, batches=home.answers / "batches")
        cache = SqliteCache(home.answers, settings.store.corpus)
        self._components = made.with_cache(cache)
        self._is_shared = False
        self.store = StoreResource(self)
        self.reports = ReportFolder(home.reports)

    @cached_property
    def tables(self) -> TableStore:
        """Parquet files by asset key and partition."""
        return self.home.table_store(self.settings)

    def components(self, instance: dg.DagsterInstance | None = None) -> Components:
        """Chunker, embedder, clusterer, summarizer; each loads what it needs when it is used.

        They are made once in a process: a loaded model serves all runs of it. What they make is
        kept in the home, or beside the records of an instance that is given, where PostgreSQL keeps
        those: then runs on all machines find it.
        """
        if instance is None or self._is_shared:
            return self._components
        from raptor_assets.project.records import is_postgres

        if is_postgres(instance):
            from raptor_assets.project.database_cache import DatabaseCache

            self._is_shared = True
            cache = DatabaseCache(instance, self.settings.store.corpus)
            self._components = self._components.with_cache(cache)
        return self._components

    @cached_property
    def build_version(self) -> str:
        """Code version of the published trees; see ``versions.build_version``."""
        return build_version(self.settings, self._components.custom_fingerprints)

    def curation(self) -> Curation:
        """What people decided, as it stands now."""
        return read_curation(self.tables)

    def golden_cases(self) -> tuple[Question, ...]:
        """The questions of the team's golden set; none where no set is named."""
        path = self.home.golden(self.settings)
        return () if path is None else load_golden(path)

    def dataset(self, name: str) -> Dataset:
        """A data set of the settings; a set of questions alone is asked of the home's source."""
        given = self.settings.evaluation
        path = self.home.beside_settings(given.datasets[name])
        return open_dataset(path, self.settings.source, split=given.split)

    def declare(self) -> None:
        """Write into the home what its corpus is called in Dagster, where it has a name.

        Raises:
            SettingsError: another corpus builds into this home.
        """
        if self.names.corpus:
            self.home.check_owner(self.names.corpus)
            read = self.settings.model_copy(update={"source": self.source.settings})
            self.home.declare(self.names, read)

    def changes(
        self,
        records: Records,
        store_state: StoreState | None = None,
        inventory: Inventory | None = None,
        *,
        is_confirmed: bool = False,
    ) -> Changes:
        """Return what has to be built and dropped; see ``find_changes``.

        Args:
            records: what is recorded.
            store_state: what the vector store holds; None trusts the record.
            inventory: what the source holds; None looks.
            is_confirmed: a person confirmed that documents are gone.
        """
        return find_changes(
            records,
            self.settings,
            self.build_version,
            inventory or self.source.inventory(),
            self.known,
            store_state,
            self.curation(),
            is_confirmed=is_confirmed or self.source.is_confirmed,
        )

    def places(self, partition: str) -> list[tuple[str, str]]:
        """Return id and source of each document that a partition was last built from."""
        table = self.tables.find((DOCUMENTS,), partition, ["id", "source"])
        return [] if table is None else list(zip(*table.to_pydict().values(), strict=True))

    def known(self, partition: str) -> Iterable[Document]:
        """Documents that a partition was last built from."""
        table = self.tables.find((DOCUMENTS,), partition)
        trees = {} if table is None else table_to_documents(table)
        return (document for documents in trees.values() for document in documents)


class SourceResource:
    """The source that the settings name; what was found there, where it was scanned already.

    What reads it raises SourceError where it is missing, unreachable or empty.
    """

    def __init__(self, resources: Resources, scan: Scan | None) -> None:
        self._resources = resources
        self._settings = resources.settings
        self._scan = scan

    @property
    def settings(self) -> SourceSettings:
        """What is read: as the settings say, or what the upstream asset gave last."""
        given = self._settings.source
        if not self._resources.names.follows:
            return given
        told = self._followed()
        # Whoever materialized it has finished writing.
        read: dict[str, Any] = {"tables": (), "settle_seconds": 0.0}
        if "rows" not in told:
            return given.model_copy(update={"paths": tuple(told.get("paths", ())), **read})
        whole = {"paths": (told["rows"],), "include": (), "exclude": ()}
        size_mb = Path(told["rows"]).stat().st_size / MEGABYTE
        limit = float(max(given.max_file_mb, 2 ** (int(size_mb).bit_length() + 1)))
        return given.model_copy(update={**read, **whole, "max_file_mb": limit})

    @property
    def is_confirmed(self) -> bool:
        """Whether a person confirmed which documents the upstream asset gave last."""
        return self._resources.names.follows and bool(self._followed().get("is_confirmed"))

    def _followed(self) -> dict[str, Any]:
        """Return what the home keeps of the upstream asset; see ``followed``."""
        file = self._resources.home.followed / ROWS_PLACE
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    def corpus(self, partitions: Collection[str] | None = None) -> Corpus:
        """The documents of these partitions, or all, and what could not be read.

        Files that hold nothing of these partitions are not read again. Documents that people set
        aside are left out.
        """
        corpus, aside = self._read(partitions), self._resources.curation().documents
        if not aside:
            return corpus
        return replace(corpus, documents=tuple(d for d in corpus.documents if d.id not in aside))

    def _read(self, partitions: Collection[str] | None) -> Corpus:
        source, grouping = self.settings, self._settings.grouping
        if partitions is None:
            return load_documents(settings=source)
        wanted = set(partitions)
        if self._scan is not None:
            there = self.inventory().partitions(grouping)
            chosen = (there.get(name, {}) for name in wanted)
            ids = {entry.id for trees in chosen for entries in trees.values() for entry in entries}
            return read_scanned(self._scan, ids)
        before = load_catalog(self._resources.tables, source)
        corpus, catalog = read_documents(
            source, before, lambda document_id: document_partition(document_id, grouping) in wanted
        )
        save_catalog(self._resources.tables, source, catalog, before)
        return corpus

    def trees(self) -> set[str]:
        """Names of all trees that the source makes."""
        grouping = self._settings.grouping
        return {tree_name(name, grouping) for name in self.inventory().documents.ids()}

    def inventory(self) -> Inventory:
        """What the source holds, by hashes; only files that changed are read.

        Documents that people set aside are left out.
        """
        scan = self._scan
        if scan is None:
            source = self.settings
            before = load_catalog(self._resources.tables, source)
            scan = scan_source(source, before)
            save_catalog(self._resources.tables, source, scan.catalog, before)
        return scan.inventory.without(self._resources.curation().documents)


class StoreResource:
    """The vector store, embedded in the home or on a server.

    What opens it raises StoreError where it is locked, damaged or unreachable.
    """

    def __init__(self, resources: Resources, settings: StoreSettings | None = None) -> None:
        self._resources = resources
        self._settings = settings or resources.settings.store
        self._root = resources.home.qdrant

    def open(self) -> VectorStore:
        """The collection of the settings' embedder, made where it is new; close it soon.

        Where the live collection was made with another embedder it is one beside it, which
        readers see once ``promote`` switches to it.
        """
        identity = self._resources.components().store_identity
        owner = self._resources.names.corpus
        return open_store(self._settings, self._root, identity, beside=True, owner=owner)

    def promote(self, trees: Collection[str]) -> bool:
        """Switch readers to the settings' embedder, once no tree that they have would be missed.

        Args:
            trees: what the source still makes.
        """
        with self.open_existing() as live:
            needed = {mark.tree for mark in live.marks()} & set(trees)
        with self.open() as store:
            return store.promote(needed)

    def exists(self) -> bool:
        """Whether there is a store of this corpus."""
        return stored_identity(self._settings, self._root) is not None

    def open_each(self) -> Iterator[VectorStore]:
        """Every collection of the corpus in turn, the live one first, closed after its turn.

        For what concerns all of them, as dropping trees does.
        """
        place, owner = (self._settings, self._root), self._resources.names.corpus
        for identity in stored_identities(*place):
            with open_store(*place, identity, beside=True, owner=owner) as store:
                yield store

    def trees(self) -> Iterator[str]:
        """Names of the trees of every collection; those of two come twice."""
        return (mark.tree for store in self.open_each() for mark in store.marks())

    def open_existing(self) -> VectorStore:
        """The live collection as it is there, to read, without loading an embedder."""
        return open_store(self._settings, self._root)
