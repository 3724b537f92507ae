"""Reading the documents that are wanted, with a scan of the source at hand or without one."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from raptor_core.documents.base import Corpus, Document
from raptor_core.documents.catalog.catalog import Catalog, Reading, catalog_key, make_reading
from raptor_core.documents.catalog.scan import Queue, Scan, Scanning, loaded
from raptor_core.documents.sources.base import SourceFile
from raptor_core.documents.sources.load import Unique, shown_path, split
from raptor_core.settings import SourceSettings

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
    ``MAX_WAITS`` times ``settle_seconds``; then it is read as it is.

    Raises:
        SourceError: no source is named, or one is missing or cannot be reached.
        MissingExtraError: a file or URL needs an extra that is not installed.
    """
    for rounds in range(MAX_WAITS + 1):
        scan = Scanning(settings, catalog, clock())
        queue: Queue = [
            (source, [file for file in files if _concerns(scan, file, wanted)])
            for source, files in scan.listed
        ]
        left = max((scan.age_left(s, f) for s, files in queue for f in files), default=0.0)
        if left <= 0 or rounds == MAX_WAITS:
            break
        sleep(left)
    return _read_wanted(scan, queue, wanted)


def _read_wanted(
    scan: Scanning, queue: Queue, wanted: Callable[[str], bool]
) -> tuple[Corpus, Catalog]:
    readings = Catalog()
    for _, files in scan.listed:
        for file in files:
            if (key := catalog_key(file)) in scan.catalog:
                readings[key] = scan.catalog[key]
    skipped = [*scan.skipped]
    corpus: Unique[Document] = Unique(skipped)
    for file, content in loaded(queue):
        key = catalog_key(file)
        reading, named = make_reading(
            file, content, scan.catalog.reading(key), scan.started, parse=True
        )
        readings[key] = reading.pack()
        corpus.add([item for item in named if wanted(item[1].id)], shown_path(file))
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
    queue: Queue = [(s, [f for f in files if _holds(scan, f, ids)]) for s, files in scan.listed]
    for file, content in loaded(queue):
        named = scan.parsed.get((catalog_key(file), content.digest))
        if named is None:
            named = split(content.parse(), skipped)
        corpus.add([item for item in named if item[1].id in ids], shown_path(file))
    return Corpus(corpus.ordered(), tuple(dict.fromkeys(skipped)))


def _holds(scan: Scan, file: SourceFile, ids: Collection[str]) -> bool:
    if file.only_id is not None:
        return file.only_id in ids
    known = scan.catalog.reading(catalog_key(file))
    return known is not None and any(document_id in ids for document_id in known.ids)
