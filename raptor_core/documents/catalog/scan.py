"""Looking at a source again: only files whose stamp changed are read.

A scan tells what there is by hashes, for whoever decides what to build; ``read_documents`` then
reads the documents that are built. Both take the catalog of what was read before and give the
next one, so that they also find what the other one read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from raptor_core.documents.base import Corpus, Document, Entry, Skipped
from raptor_core.documents.catalog.catalog import Catalog, Reading, catalog_key, make_reading
from raptor_core.documents.catalog.entries import Entries, Gathered
from raptor_core.documents.formats.records import Named
from raptor_core.documents.grouping import Partitions
from raptor_core.documents.sources.base import Source, SourceFile
from raptor_core.documents.sources.load import (
    Listed,
    Unique,
    explain_empty,
    list_sources,
    loaded,
    named_sources,
    split,
)
from raptor_core.settings import GroupingSettings, SourceSettings

Parsed = dict[tuple[bytes, str], list[Named]]
"""Documents of files by ``catalog_key`` and digest of the content."""

KEPT_CHARS = 10_000_000
"""Characters of new documents that a scan keeps for whoever reads them next."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a source holds, by hashes alone; documents are ordered by id.

    ``unsettled`` names the files that are being written now, each with the ids of the documents
    that were in it before. Those documents are listed as they were. ``empty_sources`` are the
    sources that list no file and no row.
    """

    documents: Entries
    skipped: tuple[Skipped, ...] = ()
    unsettled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    empty_sources: tuple[str, ...] = ()
    _grouped: dict[GroupingSettings, Partitions[Entry]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def without(self, ids: Collection[str]) -> Inventory:
        """The same but for these documents."""
        if not ids:
            return self
        left = Entries.of(entry for entry in self.documents if entry.id not in ids)
        return replace(self, documents=left)

    def partitions(self, grouping: GroupingSettings) -> Partitions[Entry]:
        """The documents by partition and tree, put together once."""
        if grouping not in self._grouped:
            self._grouped[grouping] = Partitions(self.documents, grouping)
        return self._grouped[grouping]


@dataclass(frozen=True, slots=True)
class Scan:
    """What a source holds, the catalog for the next scan, how many files were read, and all files.

    Hashes, names and times of each file and document. ``is_new`` says whether the catalog differs
    from the one that was given. ``parsed`` are new files, up to ``KEPT_CHARS`` of text: a parser
    is slower than all else that reading takes.
    """

    inventory: Inventory
    catalog: Catalog
    n_read: int
    listed: Listed
    is_new: bool
    parsed: Parsed


def scan_source(
    settings: SourceSettings,
    catalog: Catalog | None = None,
    *,
    clock: Callable[[], float] = time.time,
) -> Scan:
    """List the source, read what changed since the catalog, and leave alone what is being written.

    A file is being written if it was modified within ``settle_seconds``, or differs between a first
    listing and one after the reading. What was known of it stays. A storage that gives versions of
    its own (etags) shows whole files only, and so does a database. Without a catalog everything is
    read; ``clock`` gives seconds since 1970 UTC.

    Raises:
        SourceError: no source is named, or one is missing or cannot be reached.
        EmptySourceError: there is no document, and no file that is being written.
        MissingExtraError: a file or URL needs an extra that is not installed.
    """
    scan = Scanning(settings, catalog or Catalog(), clock())
    scan.read()
    if settings.settle_seconds:
        scan.look_again()
    return scan.result()


@dataclass
class Scanning:
    """One scan under way; ``readings`` is the next catalog, and what is not to be kept in it."""

    settings: SourceSettings
    catalog: Catalog
    started: float
    readings: Catalog = field(default_factory=Catalog)
    unsettled: dict[str, tuple[str, ...]] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    queue: Listed = field(default_factory=list)
    parsed: Parsed = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.listed = list_sources(named_sources((), self.settings), self.skipped)
        self.empty_sources = tuple(source.name for source, files in self.listed if not files)

    def read(self) -> None:
        """Sort the files into unchanged, unsettled and the others, and read these."""
        for source, files in self.listed:
            changed = []
            for file in files:
                key = catalog_key(file)
                if self.catalog.answers_for(key, file.stamp):
                    self.readings[key] = self.catalog[key]
                elif self.age_left(source, file) > 0:
                    self._hold(file)
                else:
                    changed.append(file)
            self.queue.append((source, changed))
        left = KEPT_CHARS
        for file, content in loaded(self.queue):
            key = catalog_key(file)
            known = self.catalog.reading(key)
            reading, named = make_reading(file, content, known, self.started)
            self.readings[key] = reading.pack()
            n_chars = sum(len(document.text) for _, document in named)
            if 0 < n_chars <= left:
                self.parsed[key, content.digest] = named
                left -= n_chars

    def look_again(self) -> None:
        """List once more: hold what changed while it was read, or was not there for a moment."""
        gone = {key for key in self.catalog if key not in self.readings}
        for source, files in self.queue:
            if source.is_transactional or not (files or gone):
                continue
            again = {file.id: file for file in source.list().files}
            changed = [f for f in files if f.id not in again or again[f.id].stamp != f.stamp]
            read = {file.id for file in files}
            back = [f for f in again.values() if f.id not in read and catalog_key(f) in gone]
            self.listed.append((source, back))
            for file in (*changed, *back):
                self._hold(file)

    def result(self) -> Scan:
        """What was found.

        Raises:
            EmptySourceError: nothing.
        """
        is_new = self.readings != self.catalog
        if not is_new:
            self.readings = self.catalog  # and its copy can go
        gathered, skipped = Gathered(), [*self.skipped]
        for _, reading in self._file_readings():
            gathered.add(reading.documents)
            skipped += reading.skipped
        documents, taken = gathered.ordered()
        if taken:
            skipped = self._tell_clashes(taken)
        if not documents and not self.unsettled:
            raise explain_empty((), self.settings, skipped)
        inventory = Inventory(documents, tuple(skipped), self.unsettled, self.empty_sources)
        n_read = sum(len(files) for _, files in self.queue)
        self.readings.forget_unread()
        return Scan(inventory, self.readings, n_read, self.listed, is_new, self.parsed)

    def _tell_clashes(self, taken: Collection[str]) -> list[Skipped]:
        """What is skipped, with all documents but the first of each of these ids."""
        skipped = [*self.skipped]
        corpus: Unique[Entry] = Unique(skipped)
        seen: dict[bytes, list[tuple[str, Entry]]] = {}  # a source may be named twice
        for file, reading in self._file_readings():
            named = [pair for pair in reading.documents if pair[1].id in taken]
            if named:
                named = seen.setdefault(catalog_key(file), named)
            corpus.add(named, file.path)
            skipped += reading.skipped
        return skipped

    def _file_readings(self) -> Iterator[tuple[SourceFile, Reading]]:
        """Files and what is in them, one after the other."""
        for _, files in self.listed:
            for file in files:
                reading = self.readings.reading(catalog_key(file))
                if reading:
                    yield file, reading

    def age_left(self, source: Source, file: SourceFile) -> float:
        """Seconds until a file counts as settled; 0 or less if it does.

        A time in the future says nothing: the clocks differ, or somebody set it.
        """
        if source.is_transactional or file.etag or file.modified is None:
            return 0.0
        settle = self.settings.settle_seconds
        age = self.started - file.modified
        return settle - age if -settle < age < settle else 0.0

    def _hold(self, file: SourceFile) -> None:
        """Keep what is known of a file that is being written."""
        key = catalog_key(file)
        self.readings.pop(key, None)
        known = self.catalog.reading(key)
        if known:
            self.readings[key] = self.catalog[key]
        self.unsettled[file.id] = tuple(known.ids) if known else (file.id,)


MAX_WAITS = 5
"""Times ``settle_seconds`` that a run waits for files that are being written."""


def read_documents(
    settings: SourceSettings,
    catalog: Catalog,
    wanted: Callable[[str], bool],
    *,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Corpus, Catalog]:
    """Read the documents whose ids are wanted, and the next catalog.

    Of files that hold one document each only those are read, of tables those that changed or
    held a wanted document before. A file that is being written is waited for, at most
    ``MAX_WAITS`` times ``settle_seconds``; then it is read as it is. Raises as ``scan_source``
    does, but for an empty source.
    """
    for rounds in range(MAX_WAITS + 1):
        scan = Scanning(settings, catalog, clock())
        queue: Listed = [
            (source, [file for file in files if _concerns(scan, file, wanted)])
            for source, files in scan.listed
        ]
        left = max((scan.age_left(s, f) for s, files in queue for f in files), default=0.0)
        if left <= 0 or rounds == MAX_WAITS:
            break
        sleep(left)
    return _read_wanted(scan, queue, wanted)


def _read_wanted(
    scan: Scanning, queue: Listed, wanted: Callable[[str], bool]
) -> tuple[Corpus, Catalog]:
    listed = (catalog_key(file) for _, files in scan.listed for file in files)
    readings = Catalog({key: scan.catalog[key] for key in listed if key in scan.catalog})
    skipped = [*scan.skipped]
    corpus: Unique[Document] = Unique(skipped)
    for file, content in loaded(queue):
        key = catalog_key(file)
        reading, named = make_reading(
            file, content, scan.catalog.reading(key), scan.started, parse=True
        )
        readings[key] = reading.pack()
        corpus.add([item for item in named if wanted(item[1].id)], file.path)
    skipped += [item for packed in readings.values() for item in Reading.unpack(packed).skipped]
    readings.forget_unread()
    return Corpus(corpus.ordered(), tuple(skipped)), readings


def _concerns(scan: Scanning, file: SourceFile, wanted: Callable[[str], bool]) -> bool:
    """Whether a file may hold a wanted document."""
    if file.only_id is not None:
        return wanted(file.only_id)
    key = catalog_key(file)
    if not scan.catalog.answers_for(key, file.stamp):
        return True
    return any(wanted(document_id) for document_id in Reading.unpack(scan.catalog[key]).ids)


def read_scanned(scan: Scan, ids: Collection[str]) -> Corpus:
    """The documents of these ids as they are now; of tables only those that held one are read.

    What has gone since the scan is missing. ``skipped`` is the scan's, and what cannot be read now.

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
    known = scan.catalog.reading(catalog_key(file))
    return known is not None and any(document_id in ids for document_id in known.ids)
