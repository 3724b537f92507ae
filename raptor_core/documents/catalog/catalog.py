"""What earlier scans found in each file, so that an unchanged one is not read again.

Only a cache: without it everything is read once more, and nothing else changes. A file counts as
unchanged by its stamp (size, times, the storage's version) only when no later write can have the
same stamp, as git's index has it: a stamp with a fresh time is confirmed by a second look.
"""

from __future__ import annotations

import itertools
import json
import struct
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata

from raptor_core.documents.base import Entry, Skipped
from raptor_core.documents.catalog.entries import FileEntries
from raptor_core.documents.formats.pages import find_tesseract
from raptor_core.documents.formats.records import Named
from raptor_core.documents.sources.base import Content, SourceFile
from raptor_core.documents.sources.load import split
from raptor_core.identity import digest, fingerprint
from raptor_core.settings import SourceSettings

PARSERS = "2"
"""Raise it when a parser gives another document for the same bytes."""

PACKING = "2"
"""Raise it when readings are packed in another way."""

_HEAD = struct.Struct("<16s16s??dIII")
"""Stamp, content, whether it was read, is final, first seen, lengths of its ``FileEntries``."""

_IS_READ_AT, _IS_FINAL_AT = 32, 33

_LIBRARIES = (
    *("charset-normalizer", "lxml", "markdown-it-py", "pyarrow", "pypdfium2"),
    *("python-docx", "python-pptx", "openpyxl", "python-oxmsg"),
)


@dataclass(frozen=True, slots=True)
class Reading:
    """One file as it was read.

    Attributes:
        stamp: see ``SourceFile.stamp``.
        content: digest of what was read; empty when it could not be read.
        first_seen: when a scan first saw this stamp, in seconds since 1970 UTC, own clock.
        is_final: no write that came after the reading can have left this stamp.
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
        """For ``unpack``."""
        entries = self.documents
        stamp, content = bytes.fromhex(self.stamp), bytes.fromhex(self.content)
        lengths = (len(entries.ids), len(entries.names), len(entries.hashes))
        head = _HEAD.pack(stamp, content, bool(content), self.is_final, self.first_seen, *lengths)
        told = [[item.name, item.reason, item.is_empty, item.place] for item in self.skipped]
        skipped = json.dumps(told).encode() if told else b""
        return b"".join((head, entries.ids, entries.names, entries.hashes, skipped))

    @classmethod
    def unpack(cls, packed: bytes) -> Reading:
        """A reading that ``pack`` wrote."""
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
    """Readings as ``Reading.pack`` gives them, by ``catalog_key``."""

    def reading(self, key: bytes) -> Reading | None:
        """What was found in a file."""
        packed = self.get(key)
        return None if packed is None else Reading.unpack(packed)

    def answers_for(self, key: bytes, stamp: str) -> bool:
        """Whether it has a reading that is all that this stamp can stand for."""
        packed = self.get(key)
        return packed is not None and bool(packed[_IS_FINAL_AT]) and packed[:16].hex() == stamp

    def forget_unread(self) -> None:
        """Leave out files that could not be read: the next scan tries them again."""
        for key in [key for key, packed in self.items() if not packed[_IS_READ_AT]]:
            del self[key]


def catalog_key(file: SourceFile) -> bytes:
    """Key of a file: a digest of its address, which may hold a password, and its id."""
    named = ("named",) if file.is_named else ()  # then it is read, whoever wrote it
    return bytes.fromhex(digest("file", file.path, file.id, *named))


def parser_fingerprint(settings: SourceSettings) -> str:
    """What a reading depends on besides the file; a catalog of another one is worth nothing."""
    fields = {"id_field", "text_field", "title_field", "max_file_mb", "whole_pages"}
    values = settings.model_dump(mode="json", include=fields)
    if settings.ocr:
        values |= {"ocr": settings.ocr, "tesseract": find_tesseract()}
    tables = [
        table.model_dump(mode="json", exclude={"url", "url_env"}) for table in settings.tables
    ]
    libraries = {name: _installed(name) for name in _LIBRARIES}
    return fingerprint(
        "parsers", {PARSERS: values, "tables": tables, "libraries": libraries, "packing": PACKING}
    )


def is_final(file: SourceFile, first_seen: float, read_at: float) -> bool:
    """Whether what was read at ``read_at`` is all that this stamp can stand for.

    Either the storage says so (an etag), or its time was old when it was read, or the stamp had
    been there long enough for the storage's clock, whatever it shows, to have moved on. Where a
    storage tells neither time nor version, a file is read every time.
    """
    if file.etag:
        return True
    if file.modified is None and not file.mark:
        return False  # nothing in the stamp changes with a write of the same size
    written = file.modified if file.written is None else file.written
    if written is not None and written < read_at - file.clock_seconds:
        return True
    return read_at - first_seen > file.clock_seconds


def make_reading(
    file: SourceFile,
    content: Content,
    known: Reading | None,
    started: float,
    *,
    parse: bool = False,
) -> tuple[Reading, list[Named]]:
    """What a file holds, and its documents by name where it was parsed.

    It is parsed if asked for, or if its bytes are others than those that are ``known`` of it.
    ``started`` is when this scan began, in seconds since 1970 UTC.
    """
    same_stamp = known is not None and known.stamp == file.stamp
    first_seen = known.first_seen if known and same_stamp else started
    final = is_final(file, first_seen, started)
    if known and known.content == content.digest and not parse:
        entries, skipped = known.documents, known.skipped
        return Reading(file.stamp, content.digest, first_seen, final, entries, skipped), []
    problems: list[Skipped] = []
    named = split(content.parse(), problems)
    entries = FileEntries.of((name, Entry.of(document)) for name, document in named)
    return Reading(file.stamp, content.digest, first_seen, final, entries, tuple(problems)), named


@cache  # a process goes on with what it imported
def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
