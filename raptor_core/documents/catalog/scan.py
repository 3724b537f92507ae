"""Scans of a source, which read only files whose stamp changed.

A scan lists the hashes of documents, from which it is decided what to build;
``read_scanned_documents`` then reads them. A scan takes a catalog and returns the next one.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import TypeVar

from raptor_core.documents.base import Corpus, Document, DocumentEntry, Skipped, readers_of_both
from raptor_core.documents.catalog.catalog import Catalog, catalog_key, read_if_changed
from raptor_core.documents.grouping import Partitions
from raptor_core.documents.parsing.names import Named
from raptor_core.documents.reader_rules import ReaderRules
from raptor_core.documents.removal import UnreadPlaces
from raptor_core.documents.sources.base import FileContent, Source, SourceFile, is_table_file
from raptor_core.documents.sources.load import (
    FirstOfEachId,
    Listed,
    list_sources,
    load_listed,
    make_empty_source_error,
    separate_skipped,
    source_openers,
)
from raptor_core.errors import SourceError
from raptor_core.identity import digest
from raptor_core.settings import GroupingSettings, SourceSettings

Parsed = dict[tuple[bytes, str], list[Named]]
"""Documents of files by ``catalog_key`` and digest of the content."""

NO_READERS = (
    "has no readers, so access.required excludes it; declare its readers in the document, or name "
    "them under [[source.readers]]"
)

KEPT_CHARS = 10_000_000
"""Maximum characters of new documents that a scan keeps, so that a build does not parse again."""


@dataclass(frozen=True)
class Inventory:
    """The entries of a source's documents, and who may read what is published of it.

    Attributes:
        documents: entries of the documents that may be built, ordered by id.
        skipped: what was not read.
        empty_sources: sources without files and rows.
        aside_entries: entries of documents that are in the source but must not be built.
        rules: rules for the readers of documents that declare none.
        unmatched_rules: descriptions of rules that match no document; empty if a source failed.
        missing_entries: the last scan's entries of files that were not listed, if a source failed.
        failure: the first error of a source that is missing, empty or unreachable; the documents
            of that source are not known.
    """

    documents: tuple[DocumentEntry, ...] = field(repr=False)
    skipped: tuple[Skipped, ...] = ()
    empty_sources: tuple[str, ...] = ()
    aside_entries: tuple[DocumentEntry, ...] = field(default=(), repr=False)
    rules: ReaderRules = field(default_factory=ReaderRules, repr=False, compare=False)
    unmatched_rules: tuple[str, ...] = ()
    missing_entries: tuple[DocumentEntry, ...] = field(default=(), repr=False)
    failure: SourceError | None = field(default=None, compare=False)
    _grouped: dict[GroupingSettings, Partitions[DocumentEntry]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def without_documents(self, ids: Collection[str]) -> "Inventory":
        """Return a copy in which these documents are ``aside_entries``."""
        aside = tuple(entry for entry in self.documents if entry.id in ids)
        documents = tuple(entry for entry in self.documents if entry.id not in ids)
        return (
            replace(self, documents=documents, aside_entries=(*self.aside_entries, *aside))
            if aside
            else self
        )

    @property
    def set_aside_ids(self) -> set[str]:
        """Ids of documents that people set aside, without those that lack readers."""
        unread = UnreadPlaces(self.skipped).place_of
        return {entry.id for entry in self.aside_entries if not unread(entry.id, entry.source)}

    def require_complete(self) -> None:
        """Raise the ``failure`` if there is one."""
        if self.failure is not None:
            raise self.failure

    def current_readers(
        self, document_id: str, source: str, published: tuple[str, ...]
    ) -> tuple[str, ...]:
        """Return who may read a published document now.

        =====================================  ======================================
        published document                     who may read it
        =====================================  ======================================
        is in the source                       the readers that it declares, without
                                               those that an unread item of the same
                                               id does not name; else the last rule's
        its place cannot be read               the readers that the unread item
                                               declares, else the last rule's
        is absent, or its source failed        the last rule's
        =====================================  ======================================

        The last rule is the last one that matches. If none of these names readers, nobody may read
        the document. A document that is not in the source never gains readers over ``published``,
        because a rule does not know what the document declared. Nor does a row while a table cannot
        be read: another one of its id may be there.

        Args:
            source: source of the document; see ``Document``.
            published: readers with which it is published.
        """
        entry = self._entries_by_id.get(document_id)
        if entry is not None:
            of_same_id = self._unread_places.declared_readers(document_id)
            unread = (readers for readers in of_same_id if readers is not None)
            missing = self._missing_readers.get(document_id, ())
            readers = reduce(readers_of_both, (*unread, *missing), entry.readers or ())
            is_whole = not (is_table_file(entry.source) and self._has_unread_tables)
            return readers if is_whole else readers_of_both(readers, published)
        of_rule = self.rules.readers_of(document_id, source) or ()
        declared = self._unread_places.declared_readers(
            self._unread_places.place_of(document_id, source)
        ) or [None]
        each = (of_rule if readers is None else readers for readers in declared)
        return reduce(readers_of_both, each, published)

    @cached_property
    def _entries_by_id(self) -> dict[str, DocumentEntry]:
        return {entry.id: entry for entry in (*self.documents, *self.aside_entries)}

    @cached_property
    def _missing_readers(self) -> Mapping[str, list[tuple[str, ...]]]:
        readers: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
        for entry in self.missing_entries:
            readers[entry.id].append(self.rules.apply_to_document(entry).readers or ())
        return readers

    @cached_property
    def _has_unread_tables(self) -> bool:
        return any(is_table_file(item.name) and not item.is_empty for item in self.skipped)

    @cached_property
    def _unread_places(self) -> UnreadPlaces:
        return UnreadPlaces(self.skipped, with_empty=True)

    def document_ids(self) -> Iterator[str]:
        """Yield the ids of the documents in order."""
        return (entry.id for entry in self.documents)

    @property
    def digest(self) -> str:
        """Digest of all versions and of everything that decides on readers, 32 hex characters."""
        versions = (f"{entry.version}\0{entry.readers}" for entry in self.documents)
        aside = (f"{entry.id}\0{entry.readers}" for entry in self.aside_entries)
        skipped = (f"{item.place or item.name}\0{item.readers}" for item in self.skipped)
        missing = sorted(f"{entry.id}\0{entry.readers}" for entry in self.missing_entries)
        parts = (digest("part", *part) for part in (versions, aside, skipped, missing))
        return digest("inventory", *parts, self.rules.digest)

    def group_into_partitions(
        self, grouping: GroupingSettings, without: Collection[str] = ()
    ) -> Partitions[DocumentEntry]:
        """Return the documents by partition and tree, except for the trees ``without``."""
        if without:
            return Partitions(self.documents, grouping, without)
        if grouping not in self._grouped:
            self._grouped[grouping] = Partitions(self.documents, grouping)
        return self._grouped[grouping]


Result = TypeVar("Result", Corpus, Inventory)


def skip_without_readers(result: Result) -> Result:
    """Return a result in which documents without any declared or assigned readers are skipped."""
    refused: list[str] = [document.id for document in result.documents if document.readers is None]
    if not refused:
        return result
    skipped = (*result.skipped, *(Skipped(name, NO_READERS) for name in refused))
    if isinstance(result, Inventory):
        return replace(result.without_documents(frozenset(refused)), skipped=skipped)
    documents = tuple(document for document in result.documents if document.readers is not None)
    return replace(result, documents=documents, skipped=skipped)


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of a scan.

    Attributes:
        inventory: entries of the documents.
        catalog: catalog for the next scan; the object ``previous_catalog`` if nothing changed.
        n_read: number of files that were read.
        listed_files: sources with their files.
        previous_catalog: catalog of the scan before.
        parsed_documents: documents of new files, up to ``KEPT_CHARS`` of text, to parse only once.
        rules: rules for the readers of documents that declare none.
    """

    inventory: Inventory
    catalog: Catalog
    n_read: int
    listed_files: Listed
    previous_catalog: Catalog
    parsed_documents: Parsed
    rules: ReaderRules

    @property
    def is_catalog_changed(self) -> bool:
        """Whether the catalog differs from the previous one."""
        return self.catalog is not self.previous_catalog


def scan_source(
    settings: SourceSettings,
    catalog: Catalog | None = None,
    *,
    clock: Callable[[], float] = time.time,
) -> Scan:
    """List the sources of the settings, and read the files that changed since the catalog.

    If a source is missing, empty or unreachable, its error is the ``failure`` of the inventory,
    which contains the documents of all others. ``clock`` returns seconds since 1970 UTC.

    Raises:
        SourceError: the settings name no source, or a malformed pattern.
        MissingExtraError: a file or URL needs an extra that is not installed.
    """
    rules = ReaderRules(settings)
    reading = _SourceReading(catalog or Catalog(), clock())
    reading.list_sources(source_openers((), settings))
    reading.read_changed_files()
    documents = reading.collect_entries().sorted_with_readers(rules)
    skipped, failure = tuple(reading.skipped), reading.failure
    if not documents:
        failure = failure or make_empty_source_error((), settings, skipped)
    return Scan(
        inventory=Inventory(
            documents=documents,
            skipped=skipped,
            empty_sources=tuple(source.name for source, files in reading.listed if not files),
            rules=rules,
            unmatched_rules=() if failure else _unmatched_rules(rules, documents, skipped),
            missing_entries=reading.missing_entries(),
            failure=failure,
        ),
        catalog=reading.next_catalog(),
        n_read=reading.n_read,
        listed_files=reading.listed,
        previous_catalog=reading.previous,
        parsed_documents=reading.parsed,
        rules=rules,
    )


def _unmatched_rules(
    rules: ReaderRules, documents: Sequence[DocumentEntry], skipped: Sequence[Skipped]
) -> tuple[str, ...]:
    """Describe the patterns that match neither a document nor anything that was not read."""
    names = [(entry.id, entry.source) for entry in documents]
    places = (item.place or item.name for item in skipped)
    return rules.describe_unmatched([*names, *((place, f"{place}/file") for place in places)])


class _SourceReading:
    """Listing and reading of sources, which continues with the others if one fails."""

    def __init__(self, previous: Catalog, started: float) -> None:
        self.previous = previous
        self.listed: Listed = []
        self.skipped: list[Skipped] = []
        self.failure: SourceError | None = None
        self.parsed = Parsed()
        self.n_read = 0
        self._started = started
        self._files: list[tuple[bytes, SourceFile]] = []
        self._readings = Catalog()
        self._n_free_chars = KEPT_CHARS

    @contextmanager
    def _record_failure(self) -> Iterator[None]:
        try:
            yield
        except SourceError as error:
            self.failure = self.failure or error

    def list_sources(self, openers: Iterable[Callable[[], Source]]) -> None:
        """Open and list the sources."""
        for opened in openers:
            with self._record_failure():
                self.listed += list_sources([opened()], self.skipped)

    def read_changed_files(self) -> None:
        """Read the files that changed."""
        for source, files in self.listed:
            changed: list[SourceFile] = []
            for file in files:
                key = catalog_key(file)
                self._files.append((key, file))
                if self.previous.is_current(key, file.listing_digest):
                    self._readings[key] = self.previous[key]
                else:
                    changed.append(file)
            with self._record_failure():
                for file, content in load_listed([(source, changed)]):
                    self._keep_reading(file, content)

    def _keep_reading(self, file: SourceFile, content: FileContent) -> None:
        """Keep the reading of a file, and its documents if their texts are within the limit."""
        key = catalog_key(file)
        reading, named = read_if_changed(file, content, self.previous.get(key), self._started)
        self._readings[key] = reading
        self.n_read += 1
        n_chars = sum(len(document.text) for _, document in named)
        if 0 < n_chars <= self._n_free_chars:
            self.parsed[key, content.digest] = named
            self._n_free_chars -= n_chars

    def collect_entries(self) -> FirstOfEachId[DocumentEntry]:
        """Return the entries of all files, and add what was not read to ``skipped``."""
        entries: FirstOfEachId[DocumentEntry] = FirstOfEachId(self.skipped)
        for key, file in self._files:
            if reading := self._readings.get(key):  # None if its source failed
                entries.add(reading.documents, file.path)
                self.skipped += reading.skipped
        return entries

    def missing_entries(self) -> tuple[DocumentEntry, ...]:
        """Return the entries that a failed source had; those of deleted files are among them."""
        absent = self.previous.keys() - self._readings.keys() if self.failure else ()
        return tuple(entry for key in absent for _, entry in self.previous[key].documents)

    def next_catalog(self) -> Catalog:
        """Return the catalog for the next scan; the previous object if nothing changed.

        After a failure it also contains earlier readings, because files may only seem to be gone.
        """
        readings = Catalog({**self.previous, **self._readings} if self.failure else self._readings)
        readings.forget_unread()
        return self.previous if readings == self.previous else readings


def read_scanned_documents(scan: Scan, ids: Collection[str]) -> Corpus:
    """Read the documents with these ids from the files in which the scan found them.

    They are read as they are now; documents that are gone since the scan are missing. ``skipped``
    contains what the scan and this reading skipped.

    Raises:
        SourceError: a source cannot be reached.
        MissingExtraError: a file or URL needs an extra that is not installed.
    """
    skipped = list(scan.inventory.skipped)
    corpus: FirstOfEachId[Document] = FirstOfEachId(skipped)
    queue: Listed = [
        (s, [f for f in files if _had_any_document(scan, f, ids)]) for s, files in scan.listed_files
    ]
    for file, content in load_listed(queue):
        named = scan.parsed_documents.get((catalog_key(file), content.digest))
        if named is None:
            named = separate_skipped(content.parse(), skipped)
        corpus.add([item for item in named if item[1].id in ids], file.path)
    return Corpus(corpus.sorted_with_readers(scan.rules), tuple(dict.fromkeys(skipped)))


def _had_any_document(scan: Scan, file: SourceFile, ids: Collection[str]) -> bool:
    """Return whether a file had any of these documents when it was scanned."""
    if file.only_id is not None:
        return file.only_id in ids
    reading = scan.catalog.get(catalog_key(file))
    return reading is not None and any(document_id in ids for document_id in reading.document_ids)
