"""Scans of a source, which read only files whose stamp changed.

A scan lists documents by hashes, for the decision on what to build; ``read_scanned`` reads those to
build. A scan takes a catalog and returns the next one.
"""

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

from raptor_core.documents.base import Corpus, Document, Entry, Skipped
from raptor_core.documents.catalog.catalog import Catalog, catalog_key, make_reading
from raptor_core.documents.formats.records import Named
from raptor_core.documents.grouping import Partitions
from raptor_core.documents.sources.base import SourceFile
from raptor_core.documents.sources.load import (
    Listed,
    ReaderRules,
    Unique,
    explain_empty,
    list_sources,
    loaded,
    named_sources,
    split,
)
from raptor_core.identity import digest
from raptor_core.settings import GroupingSettings, SourceSettings

Parsed = dict[tuple[bytes, str], list[Named]]
"""Documents of files by ``catalog_key`` and digest of the content."""

NO_READERS = (
    "has no readers, and access.required refuses it; declare its readers, or name them under "
    "[[source.readers]]"
)

KEPT_CHARS = 10_000_000
"""Characters of new documents that a scan keeps for the next reading."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """Entries of a source's documents, ordered by id.

    Attributes:
        empty_sources: sources that list no file and no row.
    """

    documents: tuple[Entry, ...] = field(repr=False)
    skipped: tuple[Skipped, ...] = ()
    empty_sources: tuple[str, ...] = ()
    _grouped: dict[GroupingSettings, Partitions[Entry]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def without(self, ids: Collection[str]) -> "Inventory":
        """Return a copy that lacks these documents."""
        if not ids:
            return self
        documents = tuple(entry for entry in self.documents if entry.id not in ids)
        return replace(self, documents=documents)

    def ids(self) -> Iterator[str]:
        """Yield the ids of the documents in order."""
        return (entry.id for entry in self.documents)

    @property
    def digest(self) -> str:
        """Digest of all versions, 32 hexadecimal characters."""
        return digest("entries", *(entry.version for entry in self.documents))

    def partitions(
        self, grouping: GroupingSettings, without: Collection[str] = ()
    ) -> Partitions[Entry]:
        """Return the documents by partition and tree, but those of trees ``without``."""
        if without:
            return Partitions(self.documents, grouping, without)
        if grouping not in self._grouped:
            self._grouped[grouping] = Partitions(self.documents, grouping)
        return self._grouped[grouping]


Result = TypeVar("Result", Corpus, Inventory)


def refuse_unassigned(result: Result) -> Result:
    """Return a result without the documents that have no readers, which it names as skipped."""
    refused: list[Skipped] = [
        Skipped(document.id, NO_READERS) for document in result.documents if not document.readers
    ]
    if not refused:
        return result
    documents = tuple(document for document in result.documents if document.readers)
    return replace(result, documents=documents, skipped=(*result.skipped, *refused))


@dataclass(frozen=True, slots=True)
class Scan:
    """Inventory of a source, its files, and the catalog for the next scan.

    Attributes:
        n_read: number of files that were read.
        previous: the catalog before; the same object without changes.
        parsed: new files, up to ``KEPT_CHARS`` of text, since parsers are slow.
        rules: rules for the readers of documents that declare none.
    """

    inventory: Inventory
    catalog: Catalog
    n_read: int
    listed: Listed
    previous: Catalog
    parsed: Parsed
    rules: ReaderRules

    @property
    def is_new(self) -> bool:
        """Whether the catalog differs from the previous one."""
        return self.catalog is not self.previous


def scan_source(
    settings: SourceSettings,
    catalog: Catalog | None = None,
    *,
    clock: Callable[[], float] = time.time,
) -> Scan:
    """List the source, and read the files that changed since the catalog.

    ``clock`` returns seconds since 1970 UTC.

    Raises:
        SourceError: no source is named, or one is missing or cannot be reached.
        EmptySourceError: there is no document.
        MissingExtraError: a file or URL needs an extra that is not installed.
    """
    previous, started = catalog or Catalog(), clock()
    skipped: list[Skipped] = []
    listed = list_sources(named_sources((), settings), skipped)
    keyed = [(source, [(catalog_key(file), file) for file in files]) for source, files in listed]
    changed: Listed = [
        (source, [file for key, file in pairs if not previous.is_current(key, file.stamp)])
        for source, pairs in keyed
    ]
    read, parsed = _read(changed, previous, started)
    readings = Catalog()
    entries: Unique[Entry] = Unique(skipped)
    for key, file in (pair for _, pairs in keyed for pair in pairs):
        reading = readings[key] = read[key] if key in read else previous[key]
        entries.add(reading.documents, file.path)
        skipped += reading.skipped
    rules = ReaderRules(settings)
    documents = entries.ordered(rules)
    if not documents:
        raise explain_empty((), settings, skipped)
    empty = tuple(source.name for source, files in listed if not files)
    readings.forget_unread()
    return Scan(
        inventory=Inventory(documents, tuple(skipped), empty),
        catalog=previous if readings == previous else readings,
        n_read=sum(len(files) for _, files in changed),
        listed=listed,
        previous=previous,
        parsed=parsed,
        rules=rules,
    )


def _read(changed: Listed, previous: Catalog, started: float) -> tuple[Catalog, Parsed]:
    """Return the readings of changed files, and some of their documents."""
    readings, parsed, n_free_chars = Catalog(), Parsed(), KEPT_CHARS
    for file, content in loaded(changed):
        key = catalog_key(file)
        readings[key], named = make_reading(file, content, previous.get(key), started)
        n_chars = sum(len(document.text) for _, document in named)
        if 0 < n_chars <= n_free_chars:
            parsed[key, content.digest] = named
            n_free_chars -= n_chars
    return readings, parsed


def read_scanned(scan: Scan, ids: Collection[str]) -> Corpus:
    """Read the documents of these ids, in their present state, from files that held them.

    Documents that are gone since the scan are missing. ``skipped`` is that of the scan and of this
    reading.

    Raises:
        SourceError: a source cannot be reached.
        MissingExtraError: a file or URL needs an extra that is not installed.
    """
    skipped = list(scan.inventory.skipped)
    corpus: Unique[Document] = Unique(skipped)
    queue: Listed = [(s, [f for f in files if _holds(scan, f, ids)]) for s, files in scan.listed]
    for file, content in loaded(queue):
        named = scan.parsed.get((catalog_key(file), content.digest))
        if named is None:
            named = split(content.parse(), skipped)
        corpus.add([item for item in named if item[1].id in ids], file.path)
    return Corpus(corpus.ordered(scan.rules), tuple(dict.fromkeys(skipped)))


def _holds(scan: Scan, file: SourceFile, ids: Collection[str]) -> bool:
    if file.only_id is not None:
        return file.only_id in ids
    known = scan.catalog.get(catalog_key(file))
    return known is not None and any(document_id in ids for document_id in known.ids)
