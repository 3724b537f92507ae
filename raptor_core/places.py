"""Places behind fsspec: how they are opened, asked and written, and what may fail there."""

from __future__ import annotations

import posixpath
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from raptor_core.disk import disk_remedy, replace_file
from raptor_core.errors import MissingExtraError, RaptorError, SourceError
from raptor_core.redaction import hide_credentials

_EXTRAS = {
    **dict.fromkeys(("s3", "s3a"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("abfs", "abfss", "az", "adl"), "azure"),
}


TIMEOUT_SECONDS = 60.0
"""How long a storage may be silent."""

Result = TypeVar("Result")


def answer_within(
    seconds: float, shown: str, error: type[RaptorError], call: Callable[[], Result]
) -> Result:
    """Return what a call to a storage returns.

    Clients bound only the silence between two bytes, or nothing. A call that takes too long goes on
    in a thread of its own, which ends with the process at the latest.

    Raises:
        RaptorError: ``error``; the call took longer. It names the place as ``shown``.
    """
    answer: Future[Result] = Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as failure:  # noqa: BLE001 - raised again by the caller
            answer.set_exception(failure)

    threading.Thread(target=run, name=f"reading {shown}", daemon=True).start()
    try:
        return answer.result(seconds)
    except TimeoutError:
        if answer.done():  # the client's own bound
            return answer.result()
    setting = ", or raise source.timeout_seconds" if issubclass(error, SourceError) else ""
    raise error(
        f"{shown} did not finish its answer within {seconds:g} s; check the address and the "
        f"network{setting}, and repeat"
    )


def open_place(
    url: str,
    error: type[RaptorError],
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[Any, str]:
    """Return the fsspec file system of a folder or URL, and the path in it.

    Args:
        url: chained URLs included.
        error: what is raised where the place fails.
        timeout_seconds: how long FTP and SFTP servers may be silent.
        options: of fsspec, by protocol.

    Raises:
        MissingExtraError: the protocol needs an extra that is not installed.
        RaptorError: ``error``; fsspec does not know the protocol or cannot use it, nobody is
            there, or a file that is opened at once is missing or no archive.
    """
    shown = hide_credentials(url)
    by_protocol = {**_timeouts(url, timeout_seconds), **_s3_options(url), **(options or {})}
    with reached(shown, error):  # FTP and SFTP log in already, archives are opened
        try:
            return answer_within(timeout_seconds, shown, error, lambda: _open_url(url, by_protocol))
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


def _open_url(url: str, options: Mapping[str, Mapping[str, Any]]) -> tuple[Any, str]:
    import fsspec

    return fsspec.core.url_to_fs(url, **options)  # type: ignore[no-any-return]


def _timeouts(url: str, seconds: float) -> dict[str, dict[str, float]]:
    """Return the options of clients that have no bound of their own, for parts of this URL."""
    ssh = dict.fromkeys(("timeout", "banner_timeout", "auth_timeout", "channel_timeout"), seconds)
    known = {"ftp": {"timeout": seconds}, "sftp": ssh, "ssh": ssh}
    protocols = {part.partition("://")[0] for part in url.split("::")}
    return {protocol: values for protocol, values in known.items() if protocol in protocols}


def _s3_options(url: str) -> dict[str, Any]:
    """Return fsspec's options for the S3 parts of a URL: no redirect of a store is followed."""
    parts = {part.partition("://")[0] for part in url.split("::")} & {"s3", "s3a"}
    return {part: {"config_kwargs": {"http_session_cls": _steady_session()}} for part in parts}


@cache
def _steady_session() -> type:
    """Return a class of HTTP sessions for aiobotocore that follows no redirect.

    aiohttp would send what is read or written, and a session's token, wherever the store says.
    AWS's own redirects to another region are botocore's, which knows the regions' addresses.
    """
    from aiobotocore.httpsession import AIOHTTPSession  # type: ignore[import-untyped]

    class SteadySession(AIOHTTPSession):  # type: ignore[misc]
        async def _get_session(self, proxy_url: Any) -> Any:
            session = await super()._get_session(proxy_url)
            return SimpleNamespace(request=partial(session.request, allow_redirects=False))

    return SteadySession


@contextmanager
def reached(shown: str, error: type[RaptorError], address: str = "the address") -> Iterator[None]:
    """Every failure of a storage's client, but a file that is not there, as ``error``.

    The clients behind fsspec raise errors of their own (botocore, aiohttp, google), which share
    no base class but Exception. ``shown`` names the place, ``address`` what to correct.
    """
    try:
        yield
    except (RaptorError, FileNotFoundError):
        raise
    except Exception as failure:
        told = hide_credentials(f"{type(failure).__name__}: {failure}")
        raise error(
            f"{shown} does not answer, or refuses: {told}. Check {address}, the network and the "
            "credentials in the environment, then repeat; what stands there is unharmed"
        ) from failure


class Folder:
    """Files by their names in a folder of this machine or of any storage that fsspec knows.

    A name has ``/`` between its parts. A file is written whole or not at all: locally by renaming
    a finished one, elsewhere by one put. It is read by one get, so that one that is replaced
    meanwhile is read as it was or as it is. A bucket must be there: none is made.

    Args:
        url: a path, or an fsspec URL such as ``s3://bucket/folder``.
        error: what is raised where the place fails.
        wrong: what is raised for a URL that fsspec does not know; None for ``error``.
        address: what an error says to correct.

    Raises:
        MissingExtraError: the URL needs an extra that is not installed.
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
        """Path of a file in its file system."""
        return posixpath.join(self._root, name)

    def shown(self, name: str) -> str:
        """Where a file is, for messages."""
        return posixpath.join(self.name, name)

    def exists(self, name: str) -> bool:
        """Whether the file is there; raises as ``find`` does."""
        with suppress(FileNotFoundError), self._reached(name):
            self._files.info(self.path(name))
            return True
        return False

    def find(self, name: str) -> bytes | None:
        """Content of a file; None where there is none.

        Raises:
            RaptorError: the folder's ``error``; the place does not answer, or refuses.
        """
        with suppress(FileNotFoundError), self._reached(name):
            data: bytes = self._files.cat_file(self.path(name))
            return data
        return None

    def names(self, name: str) -> list[str]:
        """Names of the files of a folder in it, sorted; none where there is none.

        Raises as ``find`` does.
        """
        path = self.path(name)
        self._files.invalidate_cache(path)
        with suppress(FileNotFoundError), self._reached(name):
            return sorted(map(posixpath.basename, self._files.ls(path, detail=False)))
        return []

    def write(self, name: str, data: bytes) -> None:
        """Replace a file, or make it.

        Raises:
            RaptorError: the folder's ``error``; the place refuses, and what stood there is as it
                was.
        """
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
            with self._reached(name):  # in parts it would be closed, half written, by an error
                self._files.pipe_file(path, data)
        except FileNotFoundError as failure:
            raise self._error(
                f"cannot write {self.shown(name)}: {hide_credentials(str(failure))}; make the "
                f"bucket or container, or correct {self._address}"
            ) from failure

    def delete(self, name: str) -> bool:
        """Delete a file; whether it was there. Raises as ``find`` does."""
        if not self.exists(name):
            return False
        with self._reached(name):
            self._files.rm_file(self.path(name))
        return True

    @contextmanager
    def _reached(self, name: str) -> Iterator[None]:
        with reached(self.shown(name), self._error, self._address):
            try:
                yield
            except OSError as failure:
                if not self._is_local or isinstance(failure, FileNotFoundError):
                    raise
                raise self._error(
                    f"{failure}; {disk_remedy(failure)}, and repeat. What stands there is unharmed"
                ) from failure
