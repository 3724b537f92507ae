"""The catalog, a cache of what was read from each file, so that unchanged files are not read again.

A stamp (size, times, the storage's version) proves that a file is unchanged only if no later write
can have the same stamp; git's index has the same rule. Scans that use the catalog are in ``scan``.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, replace
from functools import cache
from importlib import metadata
from typing import Any

from raptor_core.documents.base import DocumentEntry, Skipped
from raptor_core.documents.parsing.names import Named
from raptor_core.documents.parsing.process import PARSER_FIELDS
from raptor_core.documents.sources.base import (
    CLOCK_SECONDS,
    FileContent,
    SourceFile,
    brief_digest,
)
from raptor_core.documents.sources.load import separate_skipped
from raptor_core.identity import fingerprint
from raptor_core.settings import SourceSettings

PARSERS = "8"
"""Version of the parsers; raise it if any of them gives another document for the same bytes."""

_LIBRARIES = (
    *("lxml", "markdown-it-py", "pyarrow", "pypdfium2"),
    *("python-docx", "python-pptx", "openpyxl"),
)


@dataclass(frozen=True, slots=True)
class FileReading:
    """The result of reading a file.

    Attributes:
        listing_digest: see ``SourceFile.listing_digest``.
        content_digest: digest of the content; "" for a file that could not be read.
        is_final: no later write can have the same stamp.
        documents: name to show and entry of each document, in the order of the file; readers are
            only those that the file declares.
        skipped: rows that were not read.
    """

    listing_digest: str
    content_digest: str
    is_final: bool
    documents: tuple[tuple[str, DocumentEntry], ...] = ()
    skipped: tuple[Skipped, ...] = ()

    @property
    def document_ids(self) -> list[str]:
        """Ids of its documents."""
        return [entry.id for _, entry in self.documents]


class Catalog(dict[bytes, FileReading]):
    """Readings by ``catalog_key``."""

    def is_current(self, key: bytes, stamp: str) -> bool:
        """Return whether the reading of a file is valid, given its present stamp."""
        reading = self.get(key)
        return reading is not None and reading.is_final and reading.listing_digest == stamp

    def forget_unread(self) -> None:
        """Drop files that could not be read, so that the next scan tries again."""
        for key in [key for key, reading in self.items() if not reading.content_digest]:
            del self[key]

    def add_rows(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add readings from rows of a table, as ``rows`` returns them."""
        rows = list(rows)
        decoded = json.loads(f"[{','.join(row[-2] for row in rows)}]")  # faster than one by one
        for row, documents in zip(rows, decoded, strict=True):
            key, stamp, content, is_final, _, skipped = row
            named = tuple(
                (name, DocumentEntry(id_, content_hash, version, _to_tuple(readers), source))
                for name, id_, content_hash, version, readers, source in documents
            )
            problems = tuple(
                replace(Skipped(*values), readers=_to_tuple(readers))
                for *values, readers in json.loads(skipped or "[]")
            )
            reading = FileReading(stamp, content, bool(is_final), named, problems)
            self[key] = reading

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the readings as rows of a table, ordered by key."""
        for key, reading in sorted(self.items()):
            entries = [
                (name, e.id, e.content_hash, e.version, e.readers, e.source)
                for name, e in reading.documents
            ]
            skipped = json.dumps([*map(astuple, reading.skipped)]) if reading.skipped else ""
            head = key, reading.listing_digest, reading.content_digest, int(reading.is_final)
            yield *head, json.dumps(entries), skipped


def _to_tuple(readers: list[str] | None) -> tuple[str, ...] | None:
    return None if readers is None else tuple(readers)


def catalog_key(file: SourceFile) -> bytes:
    """Return the key of a file, a digest because its address may contain a password."""
    # ``is_named`` is included because a named file is read even if raptor wrote it.
    return brief_digest(file.path, file.id, file.is_named)


def parser_fingerprint(settings: SourceSettings) -> str:
    """Return the fingerprint of the settings and libraries that change a file's documents."""
    values = settings.model_dump(mode="json", include=set(PARSER_FIELDS))
    tables = [t.model_dump(mode="json", exclude={"url", "url_env"}) for t in settings.tables]
    libraries = {name: _installed_version(name) for name in _LIBRARIES}
    return fingerprint("parsers", {PARSERS: values, "tables": tables, "libraries": libraries})


def read_if_changed(
    file: SourceFile, content: FileContent, previous: FileReading | None, started: float
) -> tuple[FileReading, list[Named]]:
    """Parse a file if its bytes changed since ``previous``; return its reading and documents.

    There are no documents if the bytes are the same. ``started`` is the start of the scan, in
    seconds since 1970 UTC. The reading is final if the storage versions its content, or if the last
    write was clearly before the scan.
    """
    is_old = file.written_at is not None and file.written_at < started - CLOCK_SECONDS
    head = file.listing_digest, content.digest, bool(file.etag) or is_old
    if previous and previous.content_digest == content.digest:
        return FileReading(*head, previous.documents, previous.skipped), []
    skipped: list[Skipped] = []
    named = separate_skipped(content.parse(), skipped)
    entries = tuple((name, DocumentEntry.from_document(document)) for name, document in named)
    return FileReading(*head, entries, tuple(skipped)), named


@cache  # because a process keeps the version that it imported
def _installed_version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
