"""A folder of an export: a local one, or any that fsspec knows."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from raptor_core.errors import ExportError
from raptor_core.places import missing_extra
from raptor_core.redaction import hide_credentials
from raptor_core.store.files import disk_errors, write_durably
from raptor_core.transfer.values import Stamp


def stamp(data: bytes) -> Stamp:
    """Size and digest of a file's content."""
    return Stamp(len(data), hashlib.sha256(data).hexdigest())


class Folder:
    """Files by their name in a folder; a name has ``/`` between its parts.

    Args:
        url: a path, or an fsspec URL such as ``s3://bucket/export``.

    Raises:
        ExportError: no such kind of URL is known.
        MissingExtraError: its vendor is not installed.
    """

    def __init__(self, url: str) -> None:
        import fsspec

        self.name = hide_credentials(url)
        try:
            self._files, self._root = fsspec.core.url_to_fs(url)
        except ImportError as error:
            missing = missing_extra(url, f"the folder {self.name}")
            raise missing or ExportError(f"cannot open {self.name}: {error}") from error
        except ValueError as error:
            raise ExportError(f"{self.name} is neither a folder nor a known URL: {error}") from None
        self._is_local = type(self._files).__name__ == "LocalFileSystem"

    def path(self, name: str) -> str:
        """Where a file is, for messages."""
        return posixpath.join(self.name, name)

    def exists(self, name: str) -> bool:
        """Whether the file is there.

        Raises:
            ExportError: the place cannot be reached.
        """
        with self._reached(name):
            return bool(self._files.exists(posixpath.join(self._root, name)))

    def read(self, name: str) -> bytes:
        """Content of a file.

        Raises:
            ExportError: it is missing, or cannot be read.
        """
        try:
            with self._reached(name):
                data: bytes = self._files.cat_file(posixpath.join(self._root, name))
        except FileNotFoundError as error:
            raise ExportError(
                f"{self.path(name)} is missing; copy the export again, whole"
            ) from error
        return data

    def verified(self, name: str, expected: Stamp) -> bytes:
        """Content of a file that is what it was when it was written.

        Raises:
            ExportError: it is missing, cut short, or another.
        """
        data = self.read(name)
        found = stamp(data)
        if found != expected:
            what = "is cut short" if found.n_bytes < expected.n_bytes else "is damaged"
            raise ExportError(
                f"{self.path(name)} {what}: {found.n_bytes} bytes with SHA-256 "
                f"{found.sha256[:12]} where the export says {expected.n_bytes} with "
                f"{expected.sha256[:12]}; copy it again, or export again"
            )
        return data

    def write(self, name: str, data: bytes) -> Stamp:
        """Write a file, whole or not at all.

        Raises:
            StoreError: the local disk refuses.
            ExportError: the other place refuses.
        """
        where = posixpath.join(self._root, name)
        if self._is_local:
            path = Path(where)
            with disk_errors(path):
                path.parent.mkdir(parents=True, exist_ok=True)
            write_durably(path, data)
            return stamp(data)
        try:
            with self._reached(name):
                self._files.pipe_file(where, data)  # a bucket must be there: none is made
        except FileNotFoundError as error:
            raise ExportError(
                f"cannot write {self.path(name)}: {hide_credentials(str(error))}; make the bucket "
                "or container, or correct the address"
            ) from error
        return stamp(data)

    @contextmanager
    def _reached(self, name: str) -> Iterator[None]:
        """Every failure of a storage's client, but a file that is not there, as an ExportError.

        The clients behind fsspec raise errors of their own, which share no base class but
        Exception.
        """
        try:
            yield
        except FileNotFoundError:
            raise
        except Exception as error:
            told = hide_credentials(f"{type(error).__name__}: {error}")
            raise ExportError(
                f"{self.path(name)} cannot be reached: {told}. Check the address, the network and "
                "the credentials in the environment"
            ) from error
