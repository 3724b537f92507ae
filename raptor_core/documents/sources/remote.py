"""Sources at fsspec URLs, such as s3://, gs://, abfs://, https:// and memory://."""

from collections.abc import Iterator, Mapping, MutableSequence, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from raptor_core.documents.base import Skipped
from raptor_core.documents.own_files import HOME_REASON, find_homes
from raptor_core.documents.sources.base import (
    FileContent,
    FilePatterns,
    SourceFile,
    SourceListing,
    load_files,
)
from raptor_core.errors import SourceError
from raptor_core.filesystems import open_file_system, translate_storage_errors
from raptor_core.identity import to_nfc
from raptor_core.redaction import hide_secrets
from raptor_core.settings import SourceSettings
from raptor_formats.base import MEGABYTE, UnreadableError, check_size

Info = Mapping[str, Any]
Infos = dict[str, Info]
"""Metadata of files in fsspec's form, by path."""

_WRITTEN = ("mtime", "modified", "LastModified", "last_modified", "updated", "created")
_ETAGS = ("ETag", "etag", "md5Hash", "content_md5", "content_hash", "blob_id", "sha", "hex")
"""Names that storages give to the version of a file's content."""


class RemoteSource:
    """A file or folder at an fsspec URL, which may be chained; see ``Source``."""

    def __init__(self, url: str, settings: SourceSettings) -> None:
        self.name = hide_secrets(url)
        self._url = url
        self._settings = settings
        self._fs, self._root = open_file_system(url, SourceError)
        self._base = f"{self._root.rstrip('/')}/" if self._root else ""

    def list(self) -> SourceListing:
        """List the files; see ``Source.list``."""
        with _translate_storage_errors(self._url):
            self._fs.invalidate_cache()  # else every later listing would repeat the first one
            info = self._fs.info(self._root)
            if info["type"] != "directory":
                name = self._root.rstrip("/").rpartition("/")[2].partition("?")[0]
                return SourceListing.from_items(
                    [_make_file(name, self._url, info, is_named=True)], self._settings
                )
            omitted: list[Skipped] = []
            return SourceListing.from_items(
                list(self._list_folder(omitted)), self._settings, omitted
            )

    def load(self, files: Sequence[SourceFile]) -> Iterator[FileContent]:
        """See ``Source.load``."""
        return load_files(files, self._read, self._settings)

    def _read(self, file: SourceFile) -> bytes:
        check_size(file.size_bytes or 0, self._settings.max_file_mb)
        try:
            data = self._download(file)
        except SourceError as error:
            # Only if the storage answers that the file is missing or forbidden, it is unreadable. A
            # broken connection must not look like a document that is gone.
            if isinstance(error.__cause__, FileNotFoundError | PermissionError):
                raise UnreadableError(f"cannot be read: {error.__cause__}") from error
            raise
        check_size(len(data), self._settings.max_file_mb)
        return data

    def _download(self, file: SourceFile) -> bytes:
        name = file.path.removeprefix(f"{self._url.rstrip('/')}/")  # the id is normalized to NFC
        path = self._root if file.path == self._url else f"{self._base}{name}"
        with _translate_storage_errors(file.path), self._fs.open(path, "rb") as stream:
            data: bytes = stream.read(int(self._settings.max_file_mb * MEGABYTE) + 1)
        return data

    def _list_folder(self, omitted: MutableSequence[Skipped]) -> Iterator[SourceFile | Skipped]:
        """Yield the files that the rules select, and append the others to ``omitted``."""
        base = self._base
        listed = _list_below(self._fs, self._root)
        # Some storages list paths without the leading slash that their root has.
        prefix = base if all(path.startswith(base) for path in listed) else base.lstrip("/")
        rules = FilePatterns.from_settings(self._settings)
        names = {path: to_nfc(path.removeprefix(prefix)) for path in sorted(listed)}
        homes = find_homes(names.values())
        if "" in homes:  # the settings name this folder, so the report must mention it
            yield Skipped(self.name, HOME_REASON)
            return
        omitted += (
            Skipped(f"{folder}/", HOME_REASON)
            for folder in homes
            if not _explain_omission(rules, folder, is_folder=True)
        )
        for path, name in names.items():
            if omission := _explain_omission(rules, name) if name else "":
                omitted.append(Skipped(name, omission))
            elif name and not any(name.startswith(f"{folder}/") for folder in homes):
                address = f"{self._url.rstrip('/')}/{path.removeprefix(prefix)}"
                yield _make_file(name, address, listed[path])


def _list_below(files: Any, root: str) -> Infos:
    """Return all files below a folder.

    Object stores list all files in one call, which fails as a whole. In other storages each folder
    is listed separately, because fsspec's ``find`` treats a folder that it cannot list as empty.

    Raises:
        OSError: a folder cannot be listed, or the storage failed.
    """
    from fsspec import AbstractFileSystem
    from fsspec.asyn import AsyncFileSystem

    find = getattr(files._find if files.async_impl else files.find, "__func__", None)  # noqa: SLF001
    if find not in (None, AbstractFileSystem.find, AsyncFileSystem._find):  # noqa: SLF001
        return files.find(root, detail=True)  # type: ignore[no-any-return]
    listed: Infos = {}
    folders = [root]
    while folders:
        folder = folders.pop()
        _, inner, infos = next(files.walk(folder, maxdepth=1, detail=True, on_error="raise"))
        folders += (info["name"] for info in inner.values())
        listed |= {info["name"]: info for info in infos.values()}
    return listed


def _make_file(
    name: str, path: str, info: Mapping[str, Any], *, is_named: bool = False
) -> SourceFile:
    written = next((info[key] for key in _WRITTEN if info.get(key) is not None), None)
    if isinstance(written, datetime):
        written = written.timestamp()
    seconds = float(written) if isinstance(written, int | float) else None
    etag = next((str(info[key]) for key in _ETAGS if info.get(key)), "")
    return SourceFile(name, path, info.get("size"), seconds, etag, is_named=is_named)


def _explain_omission(rules: FilePatterns, name: str, *, is_folder: bool = False) -> str:
    """Return why a path or a folder above it is omitted, or ""."""
    steps = (at for at, char in enumerate(name) if char == "/")
    folders = (rules.explain_omission(name[:at], is_folder=True) for at in steps)
    return next(filter(None, folders), "") or rules.explain_omission(name, is_folder=is_folder)


@contextmanager
def _translate_storage_errors(url: str) -> Iterator[None]:
    """Raise every failure of a storage's client, also of a missing file, as SourceError."""
    shown = hide_secrets(url)
    try:
        with translate_storage_errors(shown, SourceError):
            yield
    except FileNotFoundError as error:
        if isinstance(error.__cause__, SourceError):  # fsspec reports denied access as missing
            raise error.__cause__ from None
        raise SourceError(f"nothing at {shown}; check the address") from error
