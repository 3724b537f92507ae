"""Places behind fsspec: opening, reading and writing them, and the errors of their clients."""

import posixpath
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from raptor_core.disk import disk_remedy, replace_file
from raptor_core.errors import MissingExtraError, RaptorError
from raptor_core.redaction import hide_credentials

_EXTRAS = {
    **dict.fromkeys(("s3", "s3a"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("abfs", "abfss", "az", "adl"), "azure"),
}


def open_place(url: str, error: type[RaptorError]) -> tuple[Any, str]:
    """Return the fsspec file system of a folder or URL, and the path in it.

    Chained URLs are allowed. Time limits are those of the storage's client.

    Raises:
        MissingExtraError: the protocol needs an extra that is not installed.
        RaptorError: ``error``; the protocol is unknown, unusable or FTP, the place does not answer,
            or a file that is opened at once is missing or no archive.
    """
    import fsspec

    shown = hide_credentials(url)
    if any(part.startswith("ftp://") for part in url.split("::")):
        raise error(
            f"{shown}: FTP is not supported, since its client shows a folder that it may not list "
            "as an empty one; use sftp://, https:// or a mounted folder"
        )
    with storage_errors(shown, error):  # SFTP already logs in, archives are opened
        try:
            return fsspec.core.url_to_fs(url)  # type: ignore[no-any-return]
        except FileNotFoundError as failure:
            missing = hide_credentials(str(failure.filename or failure))
            raise error(f"nothing at {missing}, named in {shown}; check the address") from failure
        except (zipfile.BadZipFile, tarfile.TarError, EOFError) as failure:
            raise error(f"{shown} names no whole archive: {failure}; check the file") from failure
        except ImportError as failure:
            extra = _EXTRAS.get(url.partition("://")[0])
            if extra is not None:
                raise MissingExtraError(extra, f"opening {shown}") from failure
            raise error(f"cannot open {shown}: {failure}") from failure
        except ValueError as failure:
            raise error(
                f"cannot open {shown}: {failure}; expected a folder or a URL such as "
                "s3://bucket/folder"
            ) from failure


@contextmanager
def storage_errors(
    shown: str, error: type[RaptorError], address: str = "the address"
) -> Iterator[None]:
    """Raise every failure of a storage's client, except FileNotFoundError, as ``error``.

    The clients behind fsspec (botocore, aiohttp, google) share no base class but Exception.
    ``shown`` is the place in the message, ``address`` the object to correct.
    """
    try:
        yield
    except (RaptorError, FileNotFoundError):
        raise
    except Exception as failure:
        reason = hide_credentials(f"{type(failure).__name__}: {failure}")
        raise error(
            f"{shown} does not answer, or refuses: {reason}. Check {address}, the network and the "
            "credentials in the environment, then repeat; what stands there is unharmed"
        ) from failure


class Folder:
    """Folder of files by name, on this machine or on any storage that fsspec knows.

    A name has ``/`` between its parts. A file is written and read completely or not at all, also
    while a process replaces it. No bucket is made.

    Args:
        url: path, or fsspec URL such as ``s3://bucket/folder``.
        error: error of a failing place.
        wrong: error for a URL that fsspec does not know; None for ``error``.
        address: the setting to correct, for messages.
    """

    def __init__(
        self,
        url: str,
        error: type[RaptorError],
        wrong: type[RaptorError] | None = None,
        address: str = "the address",
    ) -> None:
        self.name = hide_credentials(url)
        self._error, self._address = error, address
        self._files, self._root = open_place(url, wrong or error)
        self._is_local = type(self._files).__name__ == "LocalFileSystem"

    def path(self, name: str) -> str:
        """Return the path of a file in its file system."""
        return posixpath.join(self._root, name)

    def shown(self, name: str) -> str:
        """Return the place of a file, for messages."""
        return posixpath.join(self.name, name)

    def exists(self, name: str) -> bool:
        """Return whether the file exists."""
        with suppress(FileNotFoundError), self._errors(name):
            self._files.info(self.path(name))
            return True
        return False

    def find(self, name: str) -> bytes | None:
        """Return the content of a file, or None if there is no such file."""
        with suppress(FileNotFoundError), self._errors(name):
            data: bytes = self._files.cat_file(self.path(name))
            return data
        return None

    def names(self, name: str) -> list[str]:
        """Return the sorted names of the files in an inner folder, which may be missing."""
        path = self.path(name)
        self._files.invalidate_cache(path)
        with suppress(FileNotFoundError), self._errors(name):
            return sorted(map(posixpath.basename, self._files.ls(path, detail=False)))
        return []

    def write(self, name: str, data: bytes) -> None:
        """Replace a file, or make it; after an error the previous file is unchanged."""
        path = self.path(name)
        if self._is_local:
            try:
                return replace_file(Path(path), data)
            except OSError as failure:
                raise self._error(
                    f"cannot write {path}: {failure}; {disk_remedy(failure)}, and repeat. What "
                    "stood there before is unharmed"
                ) from failure
        try:
            with self._errors(name):  # not in parts, since an error would close an incomplete file
                self._files.pipe_file(path, data)
        except FileNotFoundError as failure:
            raise self._error(
                f"cannot write {self.shown(name)}: {hide_credentials(str(failure))}; make the "
                f"bucket or container, or correct {self._address}"
            ) from failure

    def delete(self, name: str) -> bool:
        """Delete a file and return whether it existed."""
        if not self.exists(name):
            return False
        with self._errors(name):
            self._files.rm_file(self.path(name))
        return True

    @contextmanager
    def _errors(self, name: str) -> Iterator[None]:
        with storage_errors(self.shown(name), self._error, self._address):
            try:
                yield
            except OSError as failure:
                if not self._is_local or isinstance(failure, FileNotFoundError):
                    raise
                raise self._error(
                    f"{failure}; {disk_remedy(failure)}, and repeat. What stands there is unharmed"
                ) from failure
