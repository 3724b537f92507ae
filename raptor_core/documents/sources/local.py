"""Sources on this machine: files and folders."""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from raptor_core.documents.base import Skipped
from raptor_core.documents.own_files import HOME_REASON, is_home_folder
from raptor_core.documents.sources.base import (
    FileContent,
    FilePatterns,
    SourceFile,
    SourceListing,
    load_files,
)
from raptor_core.errors import SourceError
from raptor_core.identity import to_nfc
from raptor_core.settings import SourceSettings
from raptor_formats.base import MEGABYTE, UnreadableError, check_size

_HERE = os.path.join(os.curdir, "")  # noqa: PTH118  # "./", which a Path would drop


MAX_DEPTH = 200
"""Maximum depth of folders below the source."""


class LocalSource:
    """A local file, or a folder with everything below it except symbolic links."""

    def __init__(self, path: str, settings: SourceSettings) -> None:
        self._settings = settings
        self._root = Path(path).expanduser()
        self.name = str(self._root)

    def list(self) -> SourceListing:
        """List the files; see ``Source.list``."""
        root = self._root
        try:
            mode = root.stat().st_mode
        except OSError as error:
            raise SourceError(
                f"cannot read the source {root}: {error.strerror}; give an existing file or "
                f"folder, or a URL such as s3://bucket/folder"
            ) from error
        if not stat.S_ISDIR(mode):
            return SourceListing.from_items(
                [_make_file(str(root), root.name, is_named=True)], self._settings
            )
        walk = _FolderWalk(root, FilePatterns.from_settings(self._settings))
        return SourceListing.from_items(
            list(walk.walk_folder(root, "")), self._settings, walk.omitted
        )

    def load(self, files: Sequence[SourceFile]) -> Iterator[FileContent]:
        """See ``Source.load``."""
        return load_files(files, self._read, self._settings)

    def _read(self, file: SourceFile) -> bytes:
        limit = int(self._settings.max_file_mb * MEGABYTE)
        try:
            # Without O_NONBLOCK, opening a named pipe would block until something writes to it.
            descriptor = os.open(file.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            with os.fdopen(descriptor, "rb") as stream:
                size = os.fstat(descriptor).st_size
                data = stream.read(limit + 1) if size <= limit else b""
        except OSError as error:
            raise UnreadableError(f"cannot be read: {error.strerror}") from error
        check_size(max(size, len(data)), self._settings.max_file_mb)
        return data


class _FolderWalk:
    """A recursive listing of a folder, which does not follow symbolic links."""

    def __init__(self, root: Path, rules: FilePatterns) -> None:
        self._root = root
        self._rules = rules
        self.omitted: list[Skipped] = []

    def walk_folder(self, path: Path, relative: str) -> Iterator[SourceFile | Skipped]:
        """Yield everything below a folder; ``relative`` is its path relative to the source."""
        if relative.count("/") >= MAX_DEPTH:
            reason = f"is more than {MAX_DEPTH} folders deep; move it, or exclude it"
            yield Skipped(_printable_name(relative), reason)
            return
        try:
            with os.scandir(path) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            reason = f": {error.strerror}"
            if not relative:
                raise SourceError(f"cannot list the source folder {path}{reason}") from error
            yield Skipped(_printable_name(relative), f"cannot be listed{reason}")
            return
        if is_home_folder([entry.name for entry in entries]):
            if relative:
                self.omitted.append(Skipped(_printable_name(f"{relative}/"), HOME_REASON))
            else:  # the settings name this folder, so the report must mention it
                yield Skipped(self._root.name, HOME_REASON)
            return
        for entry in entries:
            name = to_nfc(entry.name)
            yield from self._walk_entry(entry, f"{relative}/{name}" if relative else name)

    def _walk_entry(self, entry: os.DirEntry[str], name: str) -> Iterator[SourceFile | Skipped]:
        try:
            is_folder = entry.is_dir()
        except OSError as error:
            yield Skipped(_printable_name(name), f"cannot be read: {error.strerror}")
            return
        omission = self._rules.explain_omission(name, is_folder=is_folder)
        if omission:
            self.omitted.append(
                Skipped(_printable_name(f"{name}/" if is_folder else name), omission)
            )
            return
        if problem := _skip_unstorable_name(name):
            yield problem
        elif entry.is_symlink():
            reason = "is a symbolic link; to read its target, name that as a source"
            yield Skipped(name, reason)
        elif is_folder:
            yield from self.walk_folder(Path(entry.path), name)
        else:
            yield _make_file(entry.path.removeprefix(_HERE), name)


def _make_file(path: str, name: str, *, is_named: bool = False) -> SourceFile | Skipped:
    try:
        status = os.stat(path)  # noqa: PTH116  # making a Path for each file would double the time
    except OSError as error:
        return Skipped(name, f"cannot be read: {error.strerror}")
    if not stat.S_ISREG(status.st_mode):
        return Skipped(name, "is not a regular file")
    # A copy may keep the modification time of its original, but not the inode and its change time.
    key = f"{status.st_mtime_ns}.{status.st_ctime_ns}.{status.st_ino}"
    return SourceFile(name, path, status.st_size, status.st_ctime, "", key, is_named)


def _skip_unstorable_name(name: str) -> Skipped | None:
    """Return a skipped item for a name with lone surrogates, or None for valid text."""
    shown = _printable_name(name)
    return None if shown == name else Skipped(shown, "its name is not valid text; rename it")


def _printable_name(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode("utf-8")
