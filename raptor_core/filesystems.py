"""Files on any storage that fsspec supports: opening, reading and writing them, and their errors.

Atomic replacement and locks on a local disk are in ``disk``.
"""

import posixpath
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from raptor_core.disk import os_error_remedy, replace_file
from raptor_core.errors import MissingExtraError, RaptorError
from raptor_core.redaction import hide_credentials

_EXTRAS = {
    **dict.fromkeys(("s3", "s3a"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("abfs", "abfss", "az", "adl"), "azure"),
}


def open_file_system(url: str, error: type[RaptorError]) -> tuple[Any, str]:
    """Return the fsspec file system of a folder or URL, and the path in it.

    Chained URLs are allowed. The storage's client sets the time limits.

    Args:
        url: folder or fsspec URL.
        error: class of the error to raise.

    Raises:
        MissingExtraError: the protocol needs an extra that is not installed.
        RaptorError: an ``error``, because the protocol is unknown, unusable or FTP, the storage
            does not respond, or an archive in a chained URL is missing or damaged.
    """
    import fsspec

    shown = hide_credentials(url)
    if any(part.startswith("ftp://") for part in url.split("::")):
        raise error(
            f"{shown}: FTP is not supported, because its client shows a folder that it may not "
            "list as an empty one; use sftp://, https:// or a mounted folder"
        )
    with translate_storage_errors(
        shown, error
    ):  # because SFTP logs in here, and archives are opened
        try:
            return fsspec.core.url_to_fs(url)  # type: ignore[no-any-return]
        except FileNotFoundError as failure:
            missing = hide_credentials(str(failure.filename or failure))
            raise error(f"nothing at {missing}, named in {shown}; check the address") from failure
        except (zipfile.BadZipFile, tarfile.TarError, EOFError) as failure:
            raise error(f"{shown} is not a complete archive: {failure}; check it") from failure
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
def translate_storage_errors(
    shown: str, error: type[RaptorError], address: str = "the address"
) -> Iterator[None]:
    """Raise every failure of a storage's client, except FileNotFoundError, as ``error``.

    The clients behind fsspec (botocore, aiohttp, google) share no base class but Exception. The
    message names the location ``shown`` and asks the user to check ``address``.
    """
    try:
        yield
    except (RaptorError, FileNotFoundError):
        raise
    except Exception as failure:
        reason = hide_credentials(f"{type(failure).__name__}: {failure}")
        raise error(
            f"{shown} does not answer, or denies access: {reason}. Check {address}, the network "
            "and the credentials in the environment, then repeat; existing files are unchanged"
        ) from failure


class Folder:
    """Folder of files by name, on this machine or on any storage that fsspec supports.

    Names separate folders by ``/``. A file is written and read completely or not at all, even
    while another process replaces it. Buckets are never created.

    Args:
        url: path, or fsspec URL such as ``s3://bucket/folder``.
        error: class of the error that a failing storage raises.
        url_error: class of the error for an unusable URL; None for ``error``.
        address: name of the setting that contains the URL, for messages.
    """

    def __init__(
        self,
        url: str,
        error: type[RaptorError],
        url_error: type[RaptorError] | None = None,
        address: str = "the address",
    ) -> None:
        self.name = hide_credentials(url)
        self._error, self._address = error, address
        self._files, self._root = open_file_system(url, url_error or error)
        self._is_local = type(self._files).__name__ == "LocalFileSystem"

    def path(self, name: str) -> str:
        """Return the path of a file in its file system."""
        return posixpath.join(self._root, name)

    def shown_path(self, name: str) -> str:
        """Return the location of a file as messages show it, without credentials."""
        return posixpath.join(self.name, name)

    def exists(self, name: str) -> bool:
        """Return whether the file exists."""
        with suppress(FileNotFoundError), self._translate_errors(name):
            self._files.info(self.path(name))
            return True
        return False

    def read_if_exists(self, name: str) -> bytes | None:
        """Return the content of a file, or None if there is no such file."""
        with suppress(FileNotFoundError), self._translate_errors(name):
            data: bytes = self._files.cat_file(self.path(name))
            return data
        return None

    def file_names(self, name: str) -> list[str]:
        """Return the sorted file names in a subfolder; none if it does not exist."""
        path = self.path(name)
        self._files.invalidate_cache(path)
        with suppress(FileNotFoundError), self._translate_errors(name):
            return sorted(map(posixpath.basename, self._files.ls(path, detail=False)))
        return []

    def write(self, name: str, data: bytes) -> None:
        """Create or replace a file; after an error the previous file is unchanged."""
        path = self.path(name)
        if self._is_local:
            try:
                return replace_file(Path(path), data)
            except OSError as failure:
                raise self._error(
                    f"cannot write {path}: {failure}; {os_error_remedy(failure)}, and repeat. The "
                    "previous file is unchanged"
                ) from failure
        try:
            with self._translate_errors(
                name
            ):  # in one piece: after an error, parts would leave a short file
                self._files.pipe_file(path, data)
        except FileNotFoundError as failure:
            raise self._error(
                f"cannot write {self.shown_path(name)}: {hide_credentials(str(failure))}; create "
                f"the bucket or container, or correct {self._address}"
            ) from failure

    def delete(self, name: str) -> bool:
        """Delete a file and return whether it existed."""
        if not self.exists(name):
            return False
        with self._translate_errors(name):
            self._files.rm_file(self.path(name))
        return True

    @contextmanager
    def _translate_errors(self, name: str) -> Iterator[None]:
        with translate_storage_errors(self.shown_path(name), self._error, self._address):
            try:
                yield
            except OSError as failure:
                if not self._is_local or isinstance(failure, FileNotFoundError):
                    raise
                raise self._error(
                    f"{failure}; {os_error_remedy(failure)}, and repeat. Existing files are "
                    "unchanged"
                ) from failure
