"""The interface of a source, its files, and the rules that select them.

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
from raptor_core.documents.parsing.process import parse_safely
from raptor_core.errors import SourceError
from raptor_core.identity import to_nfc
from raptor_core.redaction import hide_secrets
from raptor_core.settings import SourceSettings
from raptor_formats.base import UnreadableError
from raptor_formats.table import FORMATS, MANY_DOCUMENTS, OPTIONAL

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_TABLE_EXTENSIONS = tuple(e for e, kind in FORMATS.items() if kind in MANY_DOCUMENTS)


def is_table_file(name: str) -> bool:
    """Return whether a file contains many documents, by its name."""
    return name.lower().endswith(_TABLE_EXTENSIONS)


CLOCK_SECONDS = 2.0
"""Resolution of the coarsest file system clock; two writes within it may have the same time."""


def brief_digest(*values: object) -> bytes:
    """Return a digest of 16 bytes for caches, three times as fast as ``identity.digest``."""
    return hashlib.blake2b(repr(values).encode(), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A listed file of a source, or a row of a database table, which is not read yet.

    Attributes:
        id: POSIX path relative to the source folder, in the Unicode form NFC; the file's name if
            the file is the source.
        path: local path or URL.
        size_bytes: size of the file; None if it is not known.
        written_at: time of the last write, in seconds since 1970 UTC.
        etag: the storage's version of the content; equal ones mean equal content.
        change_key: any further value that changes with a write.
        is_named: the settings name this file as a source.
        command: command of ``source.convert`` for it; "" if there is none.
    """

    id: str
    path: str
    size_bytes: int | None
    written_at: float | None = None
    etag: str = ""
    change_key: str = ""
    is_named: bool = False
    command: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", to_nfc(self.id))

    @property
    def extension(self) -> str:
        """Extension of the name with its dot, lower case; empty if there is none."""
        return posixpath.splitext(self.id)[1].lower()

    @property
    def listing_digest(self) -> str:
        """Digest of everything that a listing shows; a write changes it."""
        values = self.path, self.size_bytes, self.written_at, self.etag, self.change_key
        return brief_digest(*values, *filter(None, [self.command])).hex()

    @property
    def source(self) -> str:
        """``Document.source`` of its documents: the URL without password, or the id."""
        return hide_secrets(self.path) if "://" in self.path else self.id

    @property
    def only_id(self) -> str | None:
        """Id of the only document that it can contain; None for tables, which have many."""
        return None if is_table_file(self.id) else self.id


@dataclass(frozen=True, slots=True)
class SourceListing:
    """The files of a source.

    Attributes:
        files: files to read, ordered by id.
        skipped: files and folders that cannot be read, ordered by name.
        omitted: hidden files, and those that a rule excludes on purpose, so no report names them.
    """

    files: Sequence[SourceFile]
    skipped: tuple[Skipped, ...] = ()
    omitted: tuple[Skipped, ...] = ()

    @classmethod
    def from_items(
        cls,
        items: Iterable[SourceFile | Skipped],
        settings: SourceSettings,
        omitted: Iterable[Skipped] = (),
    ) -> SourceListing:
        """Return the listing of these items; files of unsupported formats are skipped."""
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
class FileContent:
    """Content of a file: its digest ("" if it could not be read), and a function to parse it."""

    digest: str
    parse: Callable[[], list[Named | Skipped]]


def load_files(
    files: Iterable[SourceFile], read: Callable[[SourceFile], bytes], settings: SourceSettings
) -> Iterator[FileContent]:
    """Load files one after another with the function ``read``; see ``Source.load``."""
    for file in files:
        try:
            data = read(file)
        except UnreadableError as error:
            problem = Skipped(file.id, str(error))
            yield FileContent("", partial(list[Named | Skipped], (problem,)))
        else:
            digest = hashlib.sha256(data + file.command.encode()).hexdigest()[:32]
            name = FileName(file.id, file.source, file.is_named)
            yield FileContent(digest, partial(parse_safely, name, data, settings))


class Source(Protocol):
    """Interface of a file, folder or table that can be listed and read.

    ``name`` is shown to people and contains no secrets.
    """

    name: str

    def list(self) -> SourceListing:
        """List the files; a file or folder that cannot be listed is skipped.

        Raises:
            SourceError: the whole source is missing or cannot be reached.
        """

    def load(self, files: Sequence[SourceFile]) -> Iterator[FileContent]:
        """Yield the contents of listed files, in the same order.

        Raises:
            SourceError: the connection failed, so it is unknown which files exist.
        """


@dataclass(frozen=True, slots=True)
class FilePatterns:
    """The patterns that select files of a folder; ``optional`` admits code and data files."""

    include: GitIgnoreSpec
    exclude: GitIgnoreSpec
    optional: GitIgnoreSpec

    @classmethod
    def from_settings(cls, settings: SourceSettings) -> FilePatterns:
        """Compile the patterns of the settings."""
        include, exclude = settings.include, settings.exclude
        optional = [line for line in include if line.rstrip().lower().endswith(OPTIONAL)]
        optional += [f"*{extension}" for extension in settings.convert]
        return cls(*map(compile_patterns, (include, exclude, optional)))

    def explain_omission(self, path: str, *, is_folder: bool = False) -> str:
        """Return why a relative path is omitted, or ""; include patterns apply only to files."""
        if path.rpartition("/")[2].startswith("."):
            return "is hidden"
        name = f"{path}/" if is_folder else path
        if self.exclude.patterns and self.exclude.match_file(name):
            return "is excluded by source.exclude"
        if not is_folder and self.include.patterns and not self.include.match_file(path):
            return "is not named in source.include"
        if path.lower().endswith(OPTIONAL) and not is_folder and not self.optional.match_file(path):
            return 'is code or data; to read it, name its type in source.include: ["*", "*.py"]'
        return ""


_HERE = re.compile(r"^(!?)(?:\./)+")
_ALL_IN = re.compile(r"/\*\*(/?)\s*$")


def compile_patterns(lines: Iterable[str]) -> GitIgnoreSpec:
    """Compile patterns as in .gitignore: the last match decides, and folders end in "/".

    Raises:
        SourceError: a pattern is malformed.
    """
    from pathspec import GitIgnoreSpec

    # In git, unlike in pathspec, "a/**" does not match "a", so that "!a/b" can include "a/b" again.
    try:
        return GitIgnoreSpec.from_lines(
            _ALL_IN.sub(r"/**/*\1", _HERE.sub(r"\1/", to_nfc(line).lstrip())) for line in lines
        )
    except ValueError as error:
        raise SourceError(
            f"a pattern is malformed ({error}); see include, exclude and readers under [source]"
        ) from error
