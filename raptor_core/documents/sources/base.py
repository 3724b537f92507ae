"""Where documents come from: a path, a URL or a table, listed by rules, read item by item."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol

from raptor_core.documents.base import Skipped
from raptor_core.documents.formats.records import Named
from raptor_core.errors import SourceError
from raptor_core.identity import digest
from raptor_core.redaction import hide_secrets
from raptor_core.settings import SourceSettings

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

FORMATS = {
    ".txt": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".rst": "rst",
    ".html": "html",
    ".htm": "html",
    ".pdf": "pdf",
    ".docx": "docx",
    ".pptx": "pptx",
    ".xlsx": "xlsx",
    ".csv": "csv",
    ".tsv": "csv",
    ".epub": "epub",
    ".odt": "odt",
    ".eml": "eml",
    ".msg": "msg",
    ".jsonl": "jsonl",
    ".parquet": "parquet",
}
"""Name of the format by file name extension, lower case."""

SUPPORTED = frozenset(FORMATS)
"""File name extensions that are read, lower case."""

MANY_DOCUMENTS = frozenset({"jsonl", "parquet"})
"""Formats whose files hold a document for each row; of all others the file's id is the only one."""

READING_TIMES, LISTING_TIMES = 10, 60
"""Times ``source.timeout_seconds`` that a storage may take for one file, and for a listing."""

CLOCK_SECONDS = 2.0
"""Two writes that are further apart have different times, on the coarsest file systems too."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a source, or one row of a table in a database, not yet read.

    ``id`` is the POSIX path relative to the source folder, or the file's name when the source
    is the file itself. ``path`` is a local path or a URL. ``modified`` is in seconds since 1970
    UTC. ``etag`` is the storage's own version of the content: equal ones mean equal content.
    ``mark`` is whatever else changes when it is written. Each is given where it is known. Two
    writes may have one time where they are not ``clock_seconds`` apart; ``written`` is that time,
    where ``modified`` may be another that somebody set. ``is_named`` says that the source is this
    file itself.
    """

    id: str
    path: str
    size_bytes: int | None
    modified: float | None = None
    etag: str = ""
    mark: str = ""
    clock_seconds: float = CLOCK_SECONDS
    written: float | None = None
    is_named: bool = False

    @property
    def extension(self) -> str:
        """Extension of the name with its dot, lower case; empty if there is none."""
        return posixpath.splitext(self.id)[1].lower()

    @property
    def stamp(self) -> str:
        """Changes when the file was written again: digest of all that a listing knows."""
        parts = (repr(self.size_bytes), repr(self.modified), self.etag, self.mark)
        return digest(self.path, *parts)

    @property
    def source(self) -> str:
        """What its documents name as their source: the URL without password, or else the id."""
        return hide_secrets(self.path) if "://" in self.path else self.id

    @property
    def only_id(self) -> str | None:
        """Id of the one document that it can hold; None if only its content tells."""
        return None if FORMATS.get(self.extension) in MANY_DOCUMENTS else self.id


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a source that are to be read, ordered by id, and what is left out by name.

    ``omitted`` are files and whole folders that are hidden, or left out by a rule that somebody
    wrote: nobody has to be told of them unasked.
    """

    files: Sequence[SourceFile]
    skipped: tuple[Skipped, ...] = ()
    omitted: tuple[Skipped, ...] = ()

    @classmethod
    def of(cls, items: Iterable[SourceFile | Skipped], omitted: Iterable[Skipped] = ()) -> Listing:
        """Of files, of which those are skipped that cannot be read by their name."""
        files: list[SourceFile] = []
        skipped: list[Skipped] = []
        for item in items:
            if isinstance(item, Skipped):
                skipped.append(item)
            elif item.extension in SUPPORTED:
                files.append(item)
            else:
                skipped.append(_unsupported(item))
        files.sort(key=attrgetter("id"))
        skipped.sort(key=attrgetter("name"))
        return cls(files, tuple(skipped), tuple(omitted))


@dataclass(frozen=True, slots=True)
class Content:
    """A file that was read: the digest of what was read, and the parser of it.

    ``digest`` has 32 hexadecimal characters, or none when it could not be read this time;
    another time it may be.
    """

    digest: str
    parse: Callable[[], list[Named | Skipped]]


class Source(Protocol):
    """A file, a folder or a table that can be listed and read.

    ``name`` is for people, without secrets. ``is_transactional`` says that nobody can see it half
    written, as rows of a database.
    """

    name: str
    is_transactional: bool

    def list(self) -> Listing:
        """List the files to read; what cannot be looked at is skipped by name, never left out.

        Raises:
            SourceError: the source as a whole is missing or cannot be reached.
        """

    def load(self, files: Sequence[SourceFile]) -> Iterator[Content]:
        """Listed files, read one after the other, in this order.

        Raises:
            SourceError: the connection failed; whether a file exists is not known.
        """


@dataclass(frozen=True, slots=True)
class Rules:
    """Which files of a folder are read."""

    include: GitIgnoreSpec
    exclude: GitIgnoreSpec
    ignore: GitIgnoreSpec

    @classmethod
    def of(cls, settings: SourceSettings, ignore_lines: Iterable[str]) -> Rules:
        """Rules of the settings and the lines of the source's ignore file."""
        given = (settings.include, settings.exclude, ignore_lines)
        return cls(*map(compile_patterns, given))

    def omission(self, path: str, *, is_folder: bool = False) -> str:
        """Why a relative path is left out without a word; empty if it is not.

        The include patterns, if there are any, concern files only.
        """
        if path.rpartition("/")[2].startswith("."):
            return "is hidden"
        name = f"{path}/" if is_folder else path
        for patterns, where in ((self.exclude, "source.exclude"), (self.ignore, IGNORE_FILE)):
            if patterns.match_file(name):
                return f"is left out by {where}"
        if not is_folder and self.include.patterns and not self.include.match_file(path):
            return "is not named in source.include"
        return ""


def _unsupported(file: SourceFile) -> Skipped:
    kind = f"files of type {file.extension}" if file.extension else "files without an extension"
    known = " ".join(sorted(SUPPORTED))
    return Skipped(file.id, f"{kind} are not supported (supported: {known})")


IGNORE_FILE = ".raptorignore"
"""File in a source folder that lists what is not read, one pattern per line."""

_ALL_IN = re.compile(r"/\*\*(/?)\s*$")


def compile_patterns(lines: Iterable[str]) -> GitIgnoreSpec:
    """Patterns in order, of which the last that matches decides; a folder's path ends in "/".

    Raises:
        SourceError: a pattern is malformed.
    """
    from pathspec import GitIgnoreSpec

    # pathspec takes "a/**" for "a" too; git does not, so that "!a/b" can take "a/b" back.
    given = [_ALL_IN.sub(r"/**/*\1", line.lstrip()) for line in lines]
    try:
        return GitIgnoreSpec.from_lines(given)
    except ValueError as error:
        raise SourceError(
            f"a pattern is malformed ({error}); see include and exclude under [source], and "
            f"{IGNORE_FILE} in the source folder"
        ) from error
