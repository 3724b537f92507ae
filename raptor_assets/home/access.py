"""Access to the source, the store, the tables and the components of one corpus."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from raptor_assets.assets.names import CHAIN_NAMES, CorpusNames
from raptor_assets.assets.versions import build_version
from raptor_assets.home.folder import Home
from raptor_assets.home.published import Published, read_published
from raptor_assets.home.source_state import keep_catalog, last_skipped, load_catalog, rescan
from raptor_assets.home.waiting import WaitingBuilds
from raptor_core.curation import Curation
from raptor_core.documents import (
    Corpus,
    Entry,
    Inventory,
    Scan,
    document_tree,
    load_documents,
    partition_key,
    read_scanned,
)
from raptor_core.documents.base import Document, Skipped
from raptor_core.documents.catalog.scan import skip_without_readers
from raptor_core.documents.reader_rules import ReaderRules
from raptor_core.documents.removal import Unread
from raptor_core.evaluation.golden_file import Question, load_golden
from raptor_core.file_names import ROWS_PLACE
from raptor_core.settings import Settings, SourceSettings, StoreSettings
from raptor_core.store import VectorStore, open_store, replacing_store, stored_identity
from raptor_core.store.base import Manifest, Mark
from raptor_core.store.collection import check_embedder
from raptor_core.tables.curation import read_decisions
from raptor_core.tables.files import TableStore
from raptor_core.transfer.kept import KeptBuilds
from raptor_core.tree.cache import NodeCache
from raptor_core.tree.components import Components
from raptor_core.tree.corpus_tree import corpus_tree_settings
from raptor_core.tree.leaves import all_chunks_aside
from raptor_formats.base import MEGABYTE

if TYPE_CHECKING:
    import dagster as dg


VERSIONS, WAITING = "versions", "waiting_builds"
"""Folders for earlier builds and for builds that wait for approval, beside the tables."""


class CorpusAccess:
    """Access to the corpus of one home; each part is loaded when it is first used."""

    below: CorpusAccess | None = None
    """Access to the corpus below, for a corpus tree."""

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
        self.source = SourceAccess(self, scan)
        components = components or Components(settings)
        self._components = components.with_cache(NodeCache(home.answers, settings.store.corpus))
        self._is_shared = False
        self.store = StoreAccess(self)

    @cached_property
    def tables(self) -> TableStore:
        """Parquet files by asset key and partition."""
        return self.home.table_store(self.settings)

    def components(self, instance: dg.DagsterInstance | None = None) -> Components:
        """Return the components; their cache is in the home, or in the instance's PostgreSQL."""
        if instance is None or self._is_shared:
            return self._components
        from raptor_assets.home.records import shared_cache

        cache = shared_cache(instance, self.settings.store.corpus)
        if cache:
            self._is_shared = True
            self._components = self._components.with_cache(cache)
        return self._components

    @cached_property
    def kept(self) -> KeptBuilds:
        """Earlier builds of the trees."""
        return self._builds(VERSIONS)

    @cached_property
    def waiting(self) -> WaitingBuilds:
        """Builds that wait for approval."""
        return WaitingBuilds(self.tables, self._builds(WAITING))

    def _builds(self, folder: str) -> KeptBuilds:
        return KeptBuilds(f"{self.home.tables_url(self.settings).rstrip('/')}/{folder}")

    def pinned_trees(self, names: Collection[str]) -> set[str]:
        """Return those of these trees that are pinned to an earlier build."""
        if not self.store.exists():
            return set()
        with self.store.open_existing() as store:
            return {mark.tree for mark in store.marks(list(names)) if mark.pin}

    def notes_of(self, published: Manifest) -> dict[str, object]:
        """Return the notes on a published build: its changes and cost, if they are recorded."""
        from raptor_assets.shown.tree_records import read_records  # loads Dagster

        partition = partition_key(published.tree, self.settings.grouping)
        record = read_records(self.tables, partition).get(published.tree)
        return record.notes() if record and record.build_id == published.build_id else {}

    @cached_property
    def build_version(self) -> str:
        """Code version of the published trees; see ``versions.build_version``."""
        return build_version(self.settings, self._components.custom_fingerprints)

    def curation(self) -> Curation:
        """Return the present decisions of people."""
        return Curation(read_decisions(self.tables))

    def golden_cases(self) -> tuple[Question, ...]:
        """Return the questions of the golden set, if the settings name one."""
        path = self.home.golden(self.settings)
        return () if path is None else load_golden(path)

    @cached_property
    def n_layers(self) -> int:
        """Number of summary layers of the highest tree, or the maximum if that is not known.

        Tables in a bucket are not searched for it, since definitions are loaded often.
        """
        layers = list(range(1, self.settings.tree.max_layers + 1))
        is_local = "://" not in self.home.tables_url(self.settings)
        if is_local and self.tables.has_any(CHAIN_NAMES.tree.path):
            made = ((n, CHAIN_NAMES.summaries(n), CHAIN_NAMES.findings(n)) for n in layers)
            layers = [n for n, *assets in made if any(self.tables.has_any(a.path) for a in assets)]
        return max(layers, default=0)

    def declare(self) -> None:
        """Write the names of a named corpus into its home, unless another corpus builds there."""
        if self.names.corpus:
            self.home.check_owner(self.names.corpus)
            effective = self.settings.model_copy(update={"source": self.source.settings})
            self.home.declare(self.names, effective)

    def partitions(self, begun: Collection[str]) -> set[str]:
        """Return the partitions that a build began or that are published, also by an import."""
        return {*begun, *self.published().marks}

    def published(self) -> Published:
        """Read what is published, by partition."""
        if not self.store.exists():
            return Published()
        published = read_published(self.store.open_existing, self.settings.grouping)
        return replace(published, waiting=self.waiting.inputs)


def corpus_tree_access(below: CorpusAccess) -> CorpusAccess:
    """Return the access of the corpus tree of a corpus."""
    settings, home = corpus_tree_settings(below.settings), below.home.corpus_tree
    components = below.components().above(settings)
    above = CorpusAccess(settings, home, components=components, names=below.names.corpus_tree())
    above.below = below
    return above


class SourceAccess:
    """Source that the settings name; reading it raises a SourceError if it is missing or empty."""

    def __init__(self, access: CorpusAccess, scan: Scan | None) -> None:
        self._access = access
        self._settings = access.settings
        self._scan = scan
        self._is_emptied: dict[tuple[str, str, frozenset[str]], bool] = {}

    @property
    def settings(self) -> SourceSettings:
        """Settings of the source; for an upstream asset, with the path of its last documents."""
        source = self._settings.source
        if not self._access.names.follows:
            return source
        followed = self._followed()
        update: dict[str, Any] = {"tables": ()}
        if "rows" not in followed:
            paths = tuple(followed.get("paths", ()))
            return source.model_copy(update={"paths": paths, **update})
        rows = self._access.home.followed / followed["rows"]
        update |= {"paths": (str(rows),), "include": (), "exclude": ()}
        size_mb = rows.stat().st_size / MEGABYTE
        limit = float(max(source.max_file_mb, 2 ** (int(size_mb).bit_length() + 1)))
        return source.model_copy(update={**update, "max_file_mb": limit})

    @property
    def is_confirmed(self) -> bool:
        """Whether a person confirmed the removals of the upstream asset's last documents."""
        return self._access.names.follows and bool(self._followed().get("is_confirmed"))

    def _followed(self) -> dict[str, Any]:
        file = self._access.home.followed / ROWS_PLACE
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    def corpus(self, partitions: Collection[str] | None = None) -> Corpus:
        """Read the documents of these partitions (None: all), without those set aside by people."""
        corpus, curation = self._read(partitions), self._access.curation()
        if self._settings.access.required:
            corpus = skip_without_readers(corpus)
        documents = {document.id: document for document in corpus.documents}
        emptied = self._emptied(corpus.documents, lambda ids: map(documents.__getitem__, ids))
        aside = curation.documents | emptied
        if not aside:
            return corpus
        return replace(corpus, documents=tuple(d for d in corpus.documents if d.id not in aside))

    def _read(self, partitions: Collection[str] | None) -> Corpus:
        source, grouping = self.settings, self._settings.grouping
        if partitions is None:
            return load_documents(settings=source)
        scan = self._scan_now()
        scanned = scan.inventory.partitions(grouping)
        groups = (scanned.get(name, {}) for name in set(partitions))
        ids = {entry.id for trees in groups for entries in trees.values() for entry in entries}
        return read_scanned(scan, ids)

    def tree_of(self, document: str) -> str:
        """Return the tree of a document according to the last scan, which has its readers."""
        readings = load_catalog(self._access.tables, self.settings).values()
        entries = (e for reading in readings for _, e in reading.documents if e.id == document)
        entry = ReaderRules(self.settings).apply(next(entries, Entry(document, "", "")))
        return document_tree(entry, self._settings.grouping)

    def inventory(self) -> Inventory:
        """Scan the source for changes, without documents that people set aside.

        Under ``access.required`` documents without readers are skipped.

        Raises:
            SourceError: a part of the source is missing, empty or cannot be reached.
        """
        inventory = self.today()
        inventory.require_complete()
        return inventory

    def today(self) -> Inventory:
        """Return the inventory of what can be read now; its ``failure`` says what cannot."""
        scan, curation = self._scan_now(), self._access.curation()
        inventory = scan.inventory.without(curation.documents)
        emptied = self._emptied(inventory.documents, lambda ids: read_scanned(scan, ids).documents)
        if emptied:
            why = "is treated as set aside, since people set aside each of its chunks"
            skipped = (Skipped(name, why, is_empty=True) for name in sorted(emptied))
            inventory = replace(inventory.without(emptied), skipped=(*inventory.skipped, *skipped))
        return skip_without_readers(inventory) if self._settings.access.required else inventory

    def _emptied(
        self,
        documents: Iterable[Entry | Document],
        read: Callable[[set[str]], Iterable[Document]],
    ) -> frozenset[str]:
        """Return the documents of which people set aside each chunk, as after an edit.

        ``read`` reads documents by id; each text is cut only once.
        """
        curation = self._access.curation()
        cut, chunks = curation.documents_with_chunks, curation.chunks
        keys = {d.id: (d.id, d.content_hash, chunks) for d in documents if d.id in cut}
        unknown = {name for name, key in keys.items() if key not in self._is_emptied}
        for document in read(unknown) if unknown else ():
            key = (document.id, document.content_hash, chunks)
            components = self._access.components()
            self._is_emptied[key] = all_chunks_aside(document, components, curation)
        return frozenset(name for name, key in keys.items() if self._is_emptied.get(key))

    def without_chunks(self, manifests: Iterable[Manifest]) -> list[str]:
        """Return the documents of the last scan that have chunks set aside, and none published.

        Nothing is scanned.
        """
        curation = self._access.curation()
        cut = curation.documents_with_chunks - curation.documents
        cut = cut.difference(*(manifest.documents for manifest in manifests))
        readings = load_catalog(self._access.tables, self.settings).values() if cut else ()
        return sorted(cut.intersection(name for reading in readings for name in reading.ids))

    def withheld(self, manifests: Iterable[Manifest]) -> dict[str, str]:
        """Return why partitions stay as published: the last scan could not read a document.

        Nothing is scanned.
        """
        unread = Unread(last_skipped(self._access.tables))
        if not unread:
            return {}
        readings = load_catalog(self._access.tables, self.settings).values()
        known = {name for reading in readings for name in reading.ids}
        known |= self._access.curation().documents
        grouping = self._settings.grouping
        return {
            partition_key(manifest.tree, grouping): f"{place!r} {unread.reason(place)}"
            for manifest in manifests
            for document in manifest.published_documents
            if document.id not in known and (place := unread.place_of(document.id, document.source))
        }

    def _scan_now(self) -> Scan:
        """Return the given scan, or scan the source now and keep the catalog."""
        if self._scan is not None:
            return self._scan
        scan = rescan(self._access.tables, self.settings, is_whole=False)
        keep_catalog(self._access.tables, self.settings, scan)
        return scan


class StoreAccess:
    """Vector store in the home or on a server; opening it may raise a StoreError."""

    def __init__(self, access: CorpusAccess, settings: StoreSettings | None = None) -> None:
        self._access = access
        self._settings = settings or access.settings.store
        self._root = access.home.qdrant

    def open(self) -> VectorStore:
        """Open the collection for the settings' embedder; create it if it does not exist."""
        identity = self._access.components().probed_identity
        return open_store(self._settings, self._root, identity, owner=self._access.names.corpus)

    def open_existing(self) -> VectorStore:
        """Open the collection as it is, without loading an embedder."""
        return open_store(self._settings, self._root, owner=self._access.names.corpus)

    def replacing(self) -> AbstractContextManager[VectorStore]:
        """Open an empty store of the settings' embedder, which replaces the stored one."""
        identity = self._access.components().probed_identity
        return replacing_store(self._settings, self._root, identity)

    def exists(self) -> bool:
        """Return whether there is a store of this corpus."""
        return stored_identity(self._settings, self._root) is not None

    def check_embedder(self) -> None:
        """Raise StoreMismatchError if the store was made with another embedder."""
        if stored := stored_identity(self._settings, self._root):
            embedder = self._access.components().embedder
            where = f"the store of corpus {stored.corpus!r}"
            check_embedder(stored, embedder.fingerprint, f"embedder {embedder.model}", where)

    def trees(self) -> list[str]:
        """Return the names of the stored trees."""
        return [mark.tree for mark in self._marks()]

    def built_trees(self) -> list[str]:
        """Return the names of the trees that builds published."""
        return [mark.tree for mark in self._marks() if mark.inputs]

    def _marks(self) -> list[Mark]:
        if not self.exists():
            return []
        with self.open_existing() as store:
            return store.marks()
