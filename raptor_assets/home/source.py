"""The source of one corpus: the documents that its settings name, as they are now.

``access`` has the other parts of a corpus, ``source_state`` the cache of scans, ``current_state``
what published trees must follow.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

from raptor_assets.home.folder import Home
from raptor_assets.home.source_state import keep_catalog, load_catalog, read_last_skipped, rescan
from raptor_core.curation import Curation
from raptor_core.documents import (
    Corpus,
    DocumentEntry,
    Inventory,
    Scan,
    document_tree_name,
    load_documents,
    partition_key,
    read_scanned_documents,
)
from raptor_core.documents.base import Document, Skipped
from raptor_core.documents.catalog.scan import skip_without_readers
from raptor_core.documents.reader_rules import ReaderRules
from raptor_core.documents.removal import UnreadPlaces
from raptor_core.file_names import ROWS_PLACE
from raptor_core.settings import Settings, SourceSettings
from raptor_core.store.base import Manifest
from raptor_core.tables.curation import read_decisions
from raptor_core.tables.files import TableStore
from raptor_core.tree.components import Components
from raptor_core.tree.leaves import are_all_chunks_set_aside
from raptor_formats.base import MEGABYTE


class SourceAccess:
    """Source that the settings name; reading it raises a SourceError if it is missing or empty.

    Args:
        scan: scan of the source, if the caller has one.
        components: returns the parts that cut documents into chunks.
        follows: the documents come from an upstream asset.
    """

    def __init__(
        self,
        settings: Settings,
        home: Home,
        scan: Scan | None,
        components: Callable[[], Components],
        *,
        follows: bool,
    ) -> None:
        self._settings = settings
        self._home = home
        self._scan = scan
        self._looks_again = scan is None
        self._components = components
        self._follows = follows
        self._is_emptied: dict[tuple[str, str, frozenset[str]], bool] = {}

    @cached_property
    def _tables(self) -> TableStore:
        return self._home.table_store(self._settings)

    def _read_curation(self) -> Curation:
        return Curation(read_decisions(self._tables))

    @property
    def settings(self) -> SourceSettings:
        """Settings of the source; for an upstream asset, with the path of its last documents."""
        source = self._settings.source
        if not self._follows:
            return source
        followed = self._read_upstream_record()
        update: dict[str, Any] = {"tables": ()}
        if "rows" not in followed:
            paths = tuple(followed.get("paths", ()))
            return source.model_copy(update={"paths": paths, **update})
        rows = self._home.upstream_folder / followed["rows"]
        update |= {"paths": (str(rows),), "include": (), "exclude": ()}
        size_mb = rows.stat().st_size / MEGABYTE
        limit = float(max(source.max_file_mb, 2 ** (int(size_mb).bit_length() + 1)))
        return source.model_copy(update={**update, "max_file_mb": limit})

    @property
    def is_confirmed(self) -> bool:
        """Whether a person confirmed the removals of the upstream asset's last documents."""
        return self._follows and bool(self._read_upstream_record().get("is_confirmed"))

    def _read_upstream_record(self) -> dict[str, Any]:
        file = self._home.upstream_folder / ROWS_PLACE
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    def read_corpus(self, partitions: Collection[str] | None = None) -> Corpus:
        """Read the documents of these partitions (None: all), without those set aside by people."""
        corpus, curation = self._read_corpus_unfiltered(partitions), self._read_curation()
        if self._settings.access.required:
            corpus = skip_without_readers(corpus)
        documents = {document.id: document for document in corpus.documents}
        emptied = self._find_emptied_documents(
            corpus.documents, lambda ids: map(documents.__getitem__, ids)
        )
        aside = curation.set_aside_documents | emptied
        if not aside:
            return corpus
        return replace(corpus, documents=tuple(d for d in corpus.documents if d.id not in aside))

    def _read_corpus_unfiltered(self, partitions: Collection[str] | None) -> Corpus:
        source, grouping = self.settings, self._settings.grouping
        if partitions is None:
            return load_documents(settings=source)
        scan = self._scan or self._scan_or_reuse()
        scanned = scan.inventory.group_into_partitions(grouping)
        groups = (scanned.get(name, {}) for name in set(partitions))
        ids = {entry.id for trees in groups for entries in trees.values() for entry in entries}
        return read_scanned_documents(scan, ids)

    def tree_of(self, document: str) -> str:
        """Return the tree of a document according to the last scan, which has its readers."""
        readings = load_catalog(self._tables, self.settings).values()
        entries = (e for reading in readings for _, e in reading.documents if e.id == document)
        entry = ReaderRules(self.settings).apply_to_document(
            next(entries, DocumentEntry(document, "", ""))
        )
        return document_tree_name(entry, self._settings.grouping)

    def complete_inventory(self) -> Inventory:
        """Scan the source for changes, without documents that people set aside.

        Under ``access.required`` documents without readers are skipped.

        Raises:
            SourceError: a part of the source is missing, empty or cannot be reached.
        """
        inventory = self.current_inventory()
        inventory.require_complete()
        return inventory

    def current_inventory(self) -> Inventory:
        """Return the inventory of what can be read now; its ``failure`` says what cannot."""
        scan, curation = self._scan_or_reuse(), self._read_curation()
        inventory = scan.inventory.without_documents(curation.set_aside_documents)
        emptied = self._find_emptied_documents(
            inventory.documents, lambda ids: read_scanned_documents(scan, ids).documents
        )
        if emptied:
            why = "is treated as set aside, since people set aside each of its chunks"
            skipped = (Skipped(name, why, is_empty=True) for name in sorted(emptied))
            inventory = replace(
                inventory.without_documents(emptied), skipped=(*inventory.skipped, *skipped)
            )
        return skip_without_readers(inventory) if self._settings.access.required else inventory

    def _find_emptied_documents(
        self,
        documents: Iterable[DocumentEntry | Document],
        read: Callable[[set[str]], Iterable[Document]],
    ) -> frozenset[str]:
        """Return the documents of which people set aside each chunk, as after an edit.

        ``read`` reads documents by id; each text is cut only once.
        """
        curation = self._read_curation()
        cut, chunks = curation.documents_with_excluded_chunks, curation.set_aside_chunk_subjects
        keys = {d.id: (d.id, d.content_hash, chunks) for d in documents if d.id in cut}
        unknown = {name for name, key in keys.items() if key not in self._is_emptied}
        for document in read(unknown) if unknown else ():
            key = (document.id, document.content_hash, chunks)
            components = self._components()
            self._is_emptied[key] = are_all_chunks_set_aside(document, components, curation)
        return frozenset(name for name, key in keys.items() if self._is_emptied.get(key))

    def find_documents_without_chunks(self, manifests: Iterable[Manifest]) -> list[str]:
        """Return the documents of the last scan that have chunks set aside, and none published.

        Nothing is scanned.
        """
        curation = self._read_curation()
        cut = curation.documents_with_excluded_chunks - curation.set_aside_documents
        cut = cut.difference(*(manifest.documents for manifest in manifests))
        readings = load_catalog(self._tables, self.settings).values() if cut else ()
        return sorted(
            cut.intersection(name for reading in readings for name in reading.document_ids)
        )

    def explain_withheld(self, manifests: Iterable[Manifest]) -> dict[str, str]:
        """Return why partitions stay as published: the last scan could not read a document.

        Nothing is scanned.
        """
        unread = UnreadPlaces(read_last_skipped(self._tables))
        if not unread:
            return {}
        readings = load_catalog(self._tables, self.settings).values()
        known = {name for reading in readings for name in reading.document_ids}
        known |= self._read_curation().set_aside_documents
        grouping = self._settings.grouping
        return {
            partition_key(manifest.tree, grouping): f"{place!r} {unread.reason_unread(place)}"
            for manifest in manifests
            for document in manifest.published_documents
            if document.id not in known and (place := unread.place_of(document.id, document.source))
        }

    def rescan_from_now_on(self) -> None:
        """Scan the source again from now on; only documents to build are those of a given scan."""
        self._looks_again = True

    def _scan_or_reuse(self) -> Scan:
        """Return the given scan, or scan the source now and keep the catalog."""
        if self._scan and not self._looks_again:
            return self._scan
        scan = rescan(self._tables, self.settings, is_whole=False)
        keep_catalog(self._tables, self.settings, scan)
        return scan
