"""Catalog of the readings of files, a cache by which unchanged files are not read again.

A stamp (size, times, the storage's version) proves a file unchanged only if no later write can have
the same stamp; git's index has the same rule. Scans that use the catalog are in ``scan``.
"""

import itertools
import json
import struct
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata

from raptor_core.documents.base import Entry, Skipped
from raptor_core.documents.catalog.entries import FileEntries
from raptor_core.documents.formats.parser_process import PARSER_FIELDS
from raptor_core.documents.formats.records import Named
from raptor_core.documents.sources.base import Content, SourceFile, brief_digest
from raptor_core.documents.sources.load import split
from raptor_core.identity import fingerprint
from raptor_core.settings import SourceSettings

PARSERS = "4"
"""Version of the parsers; raise it when one gives a different document for the same bytes."""

PACKING = "3"
"""Version of the packed form of readings, and of their keys and stamps."""

_HEAD = struct.Struct("<16s16s??dIII")
"""Stamp, content, is read, is final, first seen, lengths of its ``FileEntries``."""

_IS_READ_AT, _IS_FINAL_AT = 32, 33

_LIBRARIES = (
    *("lxml", "markdown-it-py", "pyarrow", "pypdfium2"),
    *("python-docx", "python-pptx", "openpyxl"),
)


@dataclass(frozen=True, slots=True)
class FileReading:
    """Result of reading a file.

    Attributes:
        stamp: see ``SourceFile.stamp``.
        content: digest of the content; empty for a file that could not be read.
        first_seen: time at which a scan first saw this stamp, in seconds since 1970 UTC.
        is_final: no later write can have the same stamp.
    """

    stamp: str
    content: str
    first_seen: float
    is_final: bool
    documents: FileEntries = field(default_factory=FileEntries)
    skipped: tuple[Skipped, ...] = ()

    @property
    def ids(self) -> list[str]:
        """Ids of its documents."""
        return self.documents.list_ids()

    def pack(self) -> bytes:
        """Return the reading as bytes, which ``unpack`` reads."""
        entries = self.documents
        stamp, content = bytes.fromhex(self.stamp), bytes.fromhex(self.content)
        lengths = (len(entries.ids), len(entries.names), len(entries.hashes))
        head = _HEAD.pack(stamp, content, bool(content), self.is_final, self.first_seen, *lengths)
        rows = [[item.name, item.reason, item.is_empty, item.place] for item in self.skipped]
        skipped = json.dumps(rows).encode() if rows else b""
        return b"".join((head, entries.ids, entries.names, entries.hashes, skipped))

    @classmethod
    def unpack(cls, packed: bytes) -> "FileReading":
        """Return a reading that ``pack`` wrote."""
        stamp, content, is_read, is_final, first_seen, *lengths = _HEAD.unpack_from(packed)
        ends = itertools.accumulate(lengths, initial=_HEAD.size)
        parts = [packed[start:end] for start, end in itertools.pairwise(ends)]
        skipped = packed[_HEAD.size + sum(lengths) :]
        return cls(
            stamp.hex(),
            content.hex() if is_read else "",
            first_seen,
            is_final,
            FileEntries(*parts),
            tuple(Skipped(*values) for values in json.loads(skipped)) if skipped else (),
        )


class Catalog(dict[bytes, bytes]):
    """Packed readings by ``catalog_key``."""

    def reading(self, key: bytes) -> FileReading | None:
        """Return the reading of a file, if there is one."""
        packed = self.get(key)
        return None if packed is None else FileReading.unpack(packed)

    def is_current(self, key: bytes, stamp: str) -> bool:
        """Return whether the file with this stamp need not be read."""
        packed = self.get(key)
        return packed is not None and bool(packed[_IS_FINAL_AT]) and packed[:16].hex() == stamp

    def forget_unread(self) -> None:
        """Drop files that could not be read, so that the next scan tries them again."""
        for key in [key for key, packed in self.items() if not packed[_IS_READ_AT]]:
            del self[key]


def catalog_key(file: SourceFile) -> bytes:
    """Return the key of a file: a digest of its address, which may hold a password, and its id."""
    # A named file is read even if raptor wrote it.
    return brief_digest(file.path, file.id, file.is_named)


def parser_fingerprint(settings: SourceSettings) -> str:
    """Return the fingerprint of everything but the file that decides a reading."""
    values = settings.model_dump(mode="json", include=set(PARSER_FIELDS))
    tables = [t.model_dump(mode="json", exclude={"url", "url_env"}) for t in settings.tables]
    libraries = {name: _installed(name) for name in _LIBRARIES}
    return fingerprint(
        "parsers", {PARSERS: values, "tables": tables, "libraries": libraries, "packing": PACKING}
    )


def is_final(file: SourceFile, first_seen: float, read_at: float) -> bool:
    """Return whether no write after ``read_at`` can leave the same stamp.

    That is so with an etag, if the file's time was old when it was read, or if the stamp had been
    there for longer than a tick of the storage's clock.
    """
    if file.etag:
        return True
    if file.modified is None and not file.mark:
        return False  # a write of the same size leaves the same stamp
    written = file.modified if file.written is None else file.written
    if written is not None and written < read_at - file.clock_seconds:
        return True
    return read_at - first_seen > file.clock_seconds


def make_reading(
    file: SourceFile,
    content: Content,
    previous: FileReading | None,
    started: float,
    *,
    parse: bool = False,
) -> tuple[FileReading, list[Named]]:
    """Return the reading of a file, and its documents if it was parsed.

    It is parsed if ``parse`` demands it, or if its bytes changed since the ``previous`` reading.
    ``started`` is the start of the scan, in seconds since 1970 UTC.
    """
    has_same_stamp = previous is not None and previous.stamp == file.stamp
    first_seen = previous.first_seen if previous and has_same_stamp else started
    head = file.stamp, content.digest, first_seen, is_final(file, first_seen, started)
    if previous and previous.content == content.digest and not parse:
        return FileReading(*head, previous.documents, previous.skipped), []
    skipped: list[Skipped] = []
    named = split(content.parse(), skipped)
    entries = FileEntries.of((name, Entry.of(document)) for name, document in named)
    return FileReading(*head, entries, tuple(skipped)), named


@cache  # a process keeps the version that it imported
def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
