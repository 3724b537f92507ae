"""Interface of a source, its files, and the rules by which they are listed.

Sources are in ``local``, ``remote`` and ``sql``; ``load`` opens and reads them.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol

from raptor_core.documents.base import Skipped
from raptor_core.documents.parsing.names import FileName, Named, explain_unsupported
from raptor_core.documents.parsing.process import parse
from raptor_core.errors import SourceError
from raptor_core.identity import composed
from raptor_core.redaction import hide_secrets
from raptor_core.settings import SourceSettings
from raptor_core.settings.sources import pattern_fault
from raptor_formats.base import UnreadableError
from raptor_formats.table import FORMATS, MANY_DOCUMENTS, OPTIONAL

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_MANY_DOCUMENTS_ENDINGS = tuple(e for e, kind in FORMATS.items() if kind in MANY_DOCUMENTS)

READING_TIMES, LISTING_TIMES = 10, 60
"""Multiples of ``source.timeout_seconds`` that limit the reading of a file, and a listing."""

CLOCK_SECONDS = 2.0
"""Tick of the clock of the coarsest file systems; two writes in one tick have the same time."""


def brief_digest(*values: object) -> bytes:
    """Return a digest of 16 bytes for caches, which takes a third of the time of an identity's."""
    return hashlib.blake2b(repr(values).encode(), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class SourceFile:
    """File of a source, or row of a table in a database, that is not read yet.

    Attributes:
        id: POSIX path relative to the source folder, with composed letters (NFC); its name if the
            file is the source.
        path: local path or URL.
        written: time of the last write, in seconds since 1970 UTC.
        etag: the storage's version of the content; equal ones mean equal content.
        mark: any further value that changes with a write.
        is_named: the source is this file.
        command: command of ``source.convert`` that reads it; "" without one.
    """

    id: str
    path: str
    size_bytes: int | None
    written: float | None = None
    etag: str = ""
    mark: str = ""
    is_named: bool = False
    command: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", composed(self.id))

    @property
    def extension(self) -> str:
        """Extension of the name with its dot, lower case; empty if there is none."""
        return posixpath.splitext(self.id)[1].lower()

    @property
    def stamp(self) -> str:
        """Digest of everything that a listing shows; a new write changes it."""
        values = self.path, self.size_bytes, self.written, self.etag, self.mark
        return brief_digest(*values, *filter(None, [self.command])).hex()

    @property
    def source(self) -> str:
        """Source of its documents: the URL without password, or the id."""
        return hide_secrets(self.path) if "://" in self.path else self.id

    @property
    def only_id(self) -> str | None:
        """Id of the only document that it can hold; None if its content decides."""
        return None if self.id.lower().endswith(_MANY_DOCUMENTS_ENDINGS) else self.id


@dataclass(frozen=True, slots=True)
class SourceListing:
    """Files of a source to read, ordered by id, and the names of the rest.

    ``omitted`` are files and folders that are hidden or excluded by a rule, which no report needs.
    """

    files: Sequence[SourceFile]
    skipped: tuple[Skipped, ...] = ()
    omitted: tuple[Skipped, ...] = ()

    @classmethod
    def of(
        cls,
        items: Iterable[SourceFile | Skipped],
        settings: SourceSettings,
        omitted: Iterable[Skipped] = (),
    ) -> SourceListing:
        """Return the listing of these items; files of unknown formats are skipped."""
        files: list[SourceFile] = []
        skipped: list[Skipped] = []
        for item in items:
            if isinstance(item, Skipped):
                skipped.append(item)
            elif command := settings.convert.get(item.extension):
                files.append(replace(item, command=command))
            elif item.extension in FORMATS:
                files.append(item)
            else:
                kind = item.extension or "no extension"
                skipped.append(Skipped(item.id, explain_unsupported(item.extension), kind=kind))
        files.sort(key=attrgetter("id"))
        skipped.sort(key=attrgetter("name"))
        return cls(files, tuple(skipped), tuple(omitted))


@dataclass(frozen=True, slots=True)
class Content:
    """Content of a file: its digest, "" for a file that could not be read, and its parser."""

    digest: str
    parse: Callable[[], list[Named | Skipped]]


def load_files(
    files: Iterable[SourceFile], read: Callable[[SourceFile], bytes], settings: SourceSettings
) -> Iterator[Content]:
    """Load files one after the other by the function ``read``; see ``Source.load``."""
    for file in files:
        try:
            data = read(file)
        except UnreadableError as error:
            problem = Skipped(file.id, str(error))
            yield Content("", partial(list[Named | Skipped], (problem,)))
        else:
            digest = hashlib.sha256(data + file.command.encode()).hexdigest()[:32]
            name = FileName(file.id, file.source, file.is_named)
            yield Content(digest, partial(parse, name, data, settings))


class Source(Protocol):
    """File, folder or table that can be listed and read.

    ``name`` is for people, without secrets.
    """

    name: str

    def list(self) -> SourceListing:
        """List the files to read; anything that cannot be listed is skipped by name.

        Raises:
            SourceError: the source as a whole is missing or cannot be reached.
        """

    def load(self, files: Sequence[SourceFile]) -> Iterator[Content]:
        """Read listed files one after the other, in this order.

        Raises:
            SourceError: the connection failed, so it is unknown which files exist.
        """


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules that select the files of a folder."""

    include: GitIgnoreSpec
    exclude: GitIgnoreSpec
    ignore: GitIgnoreSpec
    optional: GitIgnoreSpec

    @classmethod
    def of(cls, settings: SourceSettings, ignore_lines: Iterable[str]) -> Rules:
        """Return the rules of the settings and of the lines of the source's ignore file."""
        ignore_lines = [line for line in ignore_lines if line.strip() and not line.startswith("#")]
        if fault := next(filter(None, map(pattern_fault, ignore_lines)), ""):
            raise SourceError(f"a line of {IGNORE_FILE} in the source folder: {fault}")
        include, exclude = settings.include, settings.exclude
        optional = [line for line in include if line.rstrip().lower().endswith(OPTIONAL)]
        optional += [f"*{extension}" for extension in settings.convert]
        return cls(*map(compile_patterns, (include, exclude, ignore_lines, optional)))

    def omission(self, path: str, *, is_folder: bool = False) -> str:
        """Return why a relative path is omitted, or ""; include patterns concern files only."""
        if path.rpartition("/")[2].startswith("."):
            return "is hidden"
        name = f"{path}/" if is_folder else path
        for patterns, where in ((self.exclude, "source.exclude"), (self.ignore, IGNORE_FILE)):
            if patterns.patterns and patterns.match_file(name):
                return f"is left out by {where}"
        if not is_folder and self.include.patterns and not self.include.match_file(path):
            return "is not named in source.include"
        if path.lower().endswith(OPTIONAL) and not is_folder and not self.optional.match_file(path):
            return 'holds code or data; to read it, name its type in source.include: ["*", "*.py"]'
        return ""


IGNORE_FILE = ".raptorignore"
"""File in a source folder with patterns of omitted files, one in each line."""

_HERE = re.compile(r"^(!?)(?:\./)+")
_ALL_IN = re.compile(r"/\*\*(/?)\s*$")


def compile_patterns(lines: Iterable[str]) -> GitIgnoreSpec:
    """Compile patterns, of which the last match decides, or raise SourceError for a malformed one.

    A folder's path ends in "/".
    """
    from pathspec import GitIgnoreSpec

    # "a/**" matches "a" for pathspec, and not for git, where "!a/b" can include "a/b" again.
    try:
        return GitIgnoreSpec.from_lines(
            _ALL_IN.sub(r"/**/*\1", _HERE.sub(r"\1/", composed(line).lstrip())) for line in lines
        )
    except ValueError as error:
        raise SourceError(
            f"a pattern is malformed ({error}); see include, exclude and readers under [source], "
            f"and {IGNORE_FILE} in the source folder"
        ) from error
