"""What earlier scans found in each file, so that an unchanged one is not read again.

Only a cache: without it everything is read once more, and nothing else changes. A file counts as
unchanged by its stamp (size, times, the storage's version) only when no later write can have the
same stamp, as git's index has it: a stamp with a fresh time is confirmed by a second look.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata

from raptor_core.documents.base import Entry, Skipped
from raptor_core.documents.load import split
from raptor_core.documents.records import Named
from raptor_core.documents.source import Content, SourceFile
from raptor_core.identity import digest, fingerprint
from raptor_core.settings import SourceSettings

PARSERS = "1"
"""Raise it when a parser gives another document for the same bytes."""

GRANULARITY_SECONDS = 2.0
"""Two writes that are further apart have different times, on the coarsest file systems too."""

_LIBRARIES = ("charset-normalizer", "lxml", "markdown-it-py", "pyarrow", "pypdf", "python-docx")


@dataclass(frozen=True, slots=True)
class Reading:
    """One file as it was read.

    Attributes:
        stamp: see ``SourceFile.stamp``.
        content: digest of what was read.
        first_seen: when a scan first saw this stamp, in seconds since 1970 UTC, own clock.
        is_final: no write that came after the reading can have left this stamp.
        documents: its documents by the names of their places, in the order of the file.
        skipped: what in it was not read.
    """

    stamp: str
    content: str
    first_seen: float
    is_final: bool
    documents: tuple[tuple[str, Entry], ...] = ()
    skipped: tuple[Skipped, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of its documents."""
        return tuple(entry.id for _, entry in self.documents)

    def to_json(self) -> str:
        """For ``of_json``."""
        found = [[name, e.id, e.content_hash, e.version] for name, e in self.documents]
        skipped = [[item.name, item.reason, item.is_empty] for item in self.skipped]
        head = [self.stamp, self.content, self.first_seen, self.is_final]
        return json.dumps([*head, found, skipped], ensure_ascii=False)

    @classmethod
    def of_json(cls, text: str) -> Reading:
        """A reading that ``to_json`` wrote."""
        stamp, content, first_seen, is_final, found, skipped = json.loads(text)
        return cls(
            stamp,
            content,
            first_seen,
            is_final,
            tuple((name, Entry(*values)) for name, *values in found),
            tuple(Skipped(*values) for values in skipped),
        )


Catalog = Mapping[str, Reading]
"""Readings by ``catalog_key``."""


def catalog_key(file: SourceFile) -> str:
    """Key of a file: a digest of its address, which may hold a password, and its id."""
    return digest("file", file.path, file.id)


def parser_fingerprint(settings: SourceSettings) -> str:
    """What a reading depends on besides the file; a catalog of another one is worth nothing."""
    fields = {"id_field", "text_field", "title_field", "max_file_mb"}
    values = settings.model_dump(mode="json", include=fields)
    tables = [
        table.model_dump(mode="json", exclude={"url", "url_env"}) for table in settings.tables
    ]
    libraries = {name: _installed(name) for name in _LIBRARIES}
    return fingerprint("parsers", {PARSERS: values, "tables": tables, "libraries": libraries})


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
    if file.modified is not None and file.modified < read_at - GRANULARITY_SECONDS:
        return True
    return read_at - first_seen > GRANULARITY_SECONDS


def make_reading(
    file: SourceFile,
    content: Content,
    known: Reading | None,
    started: float,
    *,
    parse: bool = False,
) -> tuple[Reading, list[Named]]:
    """What a file holds; its documents are parsed if asked for, or if its bytes are new.

    Args:
        file: as it was listed.
        content: as it was read.
        known: what an earlier scan found in it.
        started: when this scan began, in seconds since 1970 UTC.
        parse: whatever is known; the documents are given by name then, and else none.
    """
    same_stamp = known is not None and known.stamp == file.stamp
    first_seen = known.first_seen if known and same_stamp else started
    final = is_final(file, first_seen, started)
    if known and known.content == content.digest and not parse:
        found, skipped = known.documents, known.skipped
        return Reading(file.stamp, content.digest, first_seen, final, found, skipped), []
    problems: list[Skipped] = []
    named = split(content.parse(), problems)
    entries = tuple((name, Entry.of(document)) for name, document in named)
    return (
        Reading(file.stamp, content.digest, first_seen, final, entries, tuple(problems)),
        named,
    )


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
