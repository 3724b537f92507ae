"""Files and folders of this machine."""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from raptor_core.documents.base import MEGABYTE, Skipped
from raptor_core.documents.formats.encoding import decode
from raptor_core.documents.formats.parsed import UnreadableError, check_size
from raptor_core.documents.own_files import HEAD_BYTES, refuse_folder
from raptor_core.documents.sources.base import (
    IGNORE_FILE,
    Content,
    Rules,
    SourceFile,
    SourceListing,
    load_files,
)
from raptor_core.errors import SourceError
from raptor_core.settings import SourceSettings

_HERE = os.path.join(os.curdir, "")  # noqa: PTH118 - "./", which a Path cannot hold


class LocalSource:
    """Local file, or folder with everything below it; it follows symbolic links inside itself."""

    is_transactional = False

    def __init__(self, path: str, settings: SourceSettings) -> None:
        self._settings = settings
        self._root = Path(path).expanduser()
        self.name = str(self._root)

    def list(self, among: Sequence[SourceFile] | None = None) -> SourceListing:
        """List the files; see ``Source.list``."""
        if among is not None:
            return SourceListing.of(_file(f.path, f.id, is_named=f.is_named) for f in among)
        root = self._root
        try:
            mode = root.stat().st_mode
        except OSError as error:
            raise SourceError(
                f"cannot read the source {root}: {error.strerror}; give an existing file or "
                f"folder, or a URL such as s3://bucket/folder"
            ) from error
        if not stat.S_ISDIR(mode):
            return SourceListing.of([_file(str(root), root.name, is_named=True)])
        walk = _Walk(root, self._rules())
        return SourceListing.of(list(walk.folder(root, "")), walk.omitted)

    def load(self, files: Sequence[SourceFile]) -> Iterator[Content]:
        """See ``Source.load``."""
        return load_files(files, self._read, self._settings)

    def _read(self, file: SourceFile) -> bytes:
        limit = int(self._settings.max_file_mb * MEGABYTE)
        try:
            # Without O_NONBLOCK, opening a named pipe would wait for a writer.
            descriptor = os.open(file.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            with os.fdopen(descriptor, "rb") as stream:
                size = os.fstat(descriptor).st_size
                data = stream.read(limit + 1) if size <= limit else b""
        except OSError as error:
            raise UnreadableError(f"cannot be read: {error.strerror}") from error
        check_size(max(size, len(data)), self._settings.max_file_mb)
        return data

    def _rules(self) -> Rules:
        path = self._root / IGNORE_FILE
        try:
            path.lstat()
        except FileNotFoundError:
            return Rules.of(self._settings, ())
        except OSError as error:
            raise SourceError(f"cannot look at the ignore rules in {path}: {error}") from error
        try:  # a link without a target is an error: its rules are unknown
            lines = decode(path.read_bytes()).splitlines()
        except (OSError, UnreadableError) as error:
            raise SourceError(f"cannot read the ignore rules in {path}: {error}") from error
        return Rules.of(self._settings, lines)


class _Walk:
    """Walk over a folder, which follows no link repeatedly, so that it ends."""

    def __init__(self, root: Path, rules: Rules) -> None:
        self._root = root
        self._rules = rules
        self._real_root = root.resolve()
        self._followed: set[Path] = set()
        self.omitted: list[Skipped] = []

    def folder(self, path: Path, relative: str) -> Iterator[SourceFile | Skipped]:
        """Yield everything below a folder whose path relative to the source is ``relative``."""
        try:
            with os.scandir(path) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            reason = f": {error.strerror}"
            if not relative:
                raise SourceError(f"cannot list the source folder {path}{reason}") from error
            yield Skipped(_printable(relative), f"cannot be listed{reason}")
            return
        refusal = refuse_folder(relative, [entry.name for entry in entries], self._read_head)
        if refusal and relative:
            self.omitted.append(Skipped(_printable(f"{relative}/"), refusal))
            return
        if refusal:  # a person named this folder, so the report names it
            yield Skipped(self._root.name, refusal, is_empty=True)
            return
        for entry in entries:
            yield from self._entry(entry, f"{relative}/{entry.name}" if relative else entry.name)

    def _read_head(self, path: str) -> bytes:
        """Return the first bytes of a file, or none if it cannot be read."""
        try:
            with (self._root / path).open("rb") as file:
                return file.read(HEAD_BYTES)
        except OSError:
            return b""

    def _entry(self, entry: os.DirEntry[str], name: str) -> Iterator[SourceFile | Skipped]:
        try:
            is_folder = entry.is_dir()
        except OSError as error:
            yield Skipped(_printable(name), f"cannot be read: {error.strerror}")
            return
        omission = self._rules.omission(name, is_folder=is_folder)
        if omission:
            self.omitted.append(Skipped(_printable(f"{name}/" if is_folder else name), omission))
            return
        problem = _unstorable(name)
        if not problem and entry.is_symlink():
            problem = self._link(entry, name, is_folder=is_folder)
        if problem:
            yield problem
        elif is_folder:
            yield from self.folder(Path(entry.path), name)
        else:
            yield _file(entry.path.removeprefix(_HERE), name)

    def _link(self, entry: os.DirEntry[str], name: str, *, is_folder: bool) -> Skipped | None:
        """Return why a symbolic link is not followed, or None."""
        try:
            target = Path(entry.path).resolve(strict=True)
        except (OSError, RuntimeError):  # Python 3.11 and 3.12 raise RuntimeError on a loop
            return Skipped(name, "is a symbolic link that leads nowhere")
        if not target.is_relative_to(self._real_root):
            return Skipped(
                name,
                f"is a symbolic link that leaves the source, to {_printable(str(target))}; "
                f"name that path as a source of its own to read it",
            )
        if is_folder:
            if Path(entry.path).parent.resolve().is_relative_to(target):
                return Skipped(name, "is a symbolic link to a folder that holds it", is_empty=True)
            if target in self._followed:
                reason = "is a further symbolic link to a folder already read"
                return Skipped(name, reason, is_empty=True)
            self._followed.add(target)
        return None


def _file(path: str, name: str, *, is_named: bool = False) -> SourceFile | Skipped:
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path of each file takes as long as the rest
    except OSError as error:
        return Skipped(name, f"cannot be read: {error.strerror}")
    if not stat.S_ISREG(status.st_mode):
        return Skipped(name, "is not a regular file")
    # A copy may keep an old time of modification; its inode and the inode's time differ.
    mark = f"{status.st_mtime_ns}.{status.st_ctime_ns}.{status.st_ino}"
    size, modified, written = status.st_size, status.st_mtime, status.st_ctime
    return SourceFile(name, path, size, modified, mark=mark, written=written, is_named=is_named)


def _unstorable(name: str) -> Skipped | None:
    """Return why a name with lone surrogates cannot be an id, or None for valid text."""
    shown = _printable(name)
    return None if shown == name else Skipped(shown, "its name is not valid text; rename it")


def _printable(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode("utf-8")
