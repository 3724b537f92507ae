"""Scans of a source, which read only files whose stamp changed.

A scan lists documents by hashes, for the decision on what to build; ``read_documents`` reads those
to build. Both take a catalog and return the next one, so that each uses the readings of both.
"""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from raptor_core.documents.base import Corpus, Document, Entry, Skipped
from raptor_core.documents.catalog.catalog import Catalog, FileReading, catalog_key, make_reading
from raptor_core.documents.formats.records import Named
from raptor_core.documents.grouping import Partitions
from raptor_core.documents.sources.base import SourceFile
from raptor_core.documents.sources.load import (
    Listed,
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

    def partitions(self, grouping: GroupingSettings) -> Partitions[Entry]:
        """Return the documents by partition and tree, grouped once."""
        if grouping not in self._grouped:
            self._grouped[grouping] = Partitions(self.documents, grouping)
        return self._grouped[grouping]


@dataclass(frozen=True, slots=True)
class Scan:
    """Inventory of a source, its files, and the catalog for the next scan.

    Attributes:
        n_read: number of files that were read.
        previous: the catalog before; the same object without changes.
        parsed: new files, up to ``KEPT_CHARS`` of text, since parsers are slow.
    """

    inventory: Inventory
    catalog: Catalog
    n_read: int
    listed: Listed
    previous: Catalog
    parsed: Parsed

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
    scan = _RunningScan(settings, catalog or Catalog(), clock())
    scan.read()
    return scan.result()


@dataclass
class _RunningScan:
    """Scan in progress; ``readings`` is the next catalog, with unread files in it."""

    settings: SourceSettings
    catalog: Catalog
    started: float
    readings: Catalog = field(default_factory=Catalog)
    skipped: list[Skipped] = field(default_factory=list)
    queue: Listed = field(default_factory=list)
    parsed: Parsed = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.listed = list_sources(named_sources((), self.settings), self.skipped)
        self.keys = [list(map(catalog_key, files)) for _, files in self.listed]
        self.empty_sources = tuple(source.name for source, files in self.listed if not files)

    def read(self) -> None:
        """Read all files that changed."""
        for (source, files), keys in zip(self.listed, self.keys, strict=True):
            changed = []
            for file, key in zip(files, keys, strict=True):
                if self.catalog.is_current(key, file.stamp):
                    self.readings[key] = self.catalog[key]
                else:
                    changed.append(file)
            self.queue.append((source, changed))
        n_free_chars = KEPT_CHARS
        for file, content in loaded(self.queue):
            key = catalog_key(file)
            reading, named = make_reading(file, content, self.catalog.get(key), self.started)
            self.readings[key] = reading
            n_chars = sum(len(document.text) for _, document in named)
            if 0 < n_chars <= n_free_chars:
                self.parsed[key, content.digest] = named
                n_free_chars -= n_chars

    def result(self) -> Scan:
        """Return the finished scan.

        Raises:
            EmptySourceError: there is no document.
        """
        if self.readings == self.catalog:
            self.readings = self.catalog  # frees the equal copy
        skipped = [*self.skipped]
        entries: Unique[Entry] = Unique(skipped)
        read: dict[bytes, Sequence[tuple[str, Entry]]] = {}  # a source may be named twice
        for file, key, reading in self._file_readings():
            entries.add(read.setdefault(key, reading.documents), file.path)
            skipped += reading.skipped
        documents = entries.ordered()
        if not documents:
            raise explain_empty((), self.settings, skipped)
        inventory = Inventory(documents, tuple(skipped), self.empty_sources)
        n_read = sum(len(files) for _, files in self.queue)
        self.readings.forget_unread()
        return Scan(inventory, self.readings, n_read, self.listed, self.catalog, self.parsed)

    def _file_readings(self) -> Iterator[tuple[SourceFile, bytes, FileReading]]:
        for (_, files), keys in zip(self.listed, self.keys, strict=True):
            for file, key in zip(files, keys, strict=True):
                reading = self.readings.get(key)
                if reading:
                    yield file, key, reading


def read_documents(
    settings: SourceSettings,
    catalog: Catalog,
    is_needed: Callable[[str], bool],
    *,
    clock: Callable[[], float] = time.time,
) -> tuple[Corpus, Catalog]:
    """Read the documents whose ids are needed; return them and the next catalog.

    Tables are read if they changed, or held such a document. Raises as ``scan_source`` does, but
    for an empty source.
    """
    scan = _RunningScan(settings, catalog, clock())
    queue: Listed = [
        (source, [file for file in files if _may_hold(catalog, file, is_needed)])
        for source, files in scan.listed
    ]
    listed = (key for keys in scan.keys for key in keys if key in catalog)
    readings = Catalog({key: catalog[key] for key in listed})
    skipped = [*scan.skipped]
    corpus: Unique[Document] = Unique(skipped)
    for file, content in loaded(queue):
        key = catalog_key(file)
        previous = catalog.get(key)
        reading, named = make_reading(file, content, previous, scan.started, parse=True)
        readings[key] = reading
        corpus.add([item for item in named if is_needed(item[1].id)], file.path)
    skipped += [item for reading in readings.values() for item in reading.skipped]
    readings.forget_unread()
    return Corpus(corpus.ordered(), tuple(skipped)), readings


def _may_hold(catalog: Catalog, file: SourceFile, is_needed: Callable[[str], bool]) -> bool:
    """Return whether a file may hold a needed document."""
    if file.only_id is not None:
        return is_needed(file.only_id)
    key = catalog_key(file)
    if not catalog.is_current(key, file.stamp):
        return True
    return any(map(is_needed, catalog[key].ids))


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
    return Corpus(corpus.ordered(), tuple(dict.fromkeys(skipped)))


def _holds(scan: Scan, file: SourceFile, ids: Collection[str]) -> bool:
    if file.only_id is not None:
        return file.only_id in ids
    known = scan.catalog.get(catalog_key(file))
    return known is not None and any(document_id in ids for document_id in known.ids)
