"""Where tables are kept: a folder, or a place behind any fsspec URL, and what it answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from raptor_core.errors import SettingsError, TableError
from raptor_core.places import missing_extra
from raptor_core.redaction import hide_credentials, hide_password


def open_place(url: str) -> tuple[Any, str]:
    """The fsspec file system of a folder or URL, and the path in it.

    Raises:
        MissingExtraError: the protocol needs an extra that is not installed.
        SettingsError: it is no protocol that fsspec knows.
    """
    import fsspec

    shown = hide_password(url)
    try:
        files, root = fsspec.core.url_to_fs(url)
    except ImportError as error:
        missing = missing_extra(url, f"the table folder {shown}")
        if missing is not None:
            raise missing from error
        raise SettingsError(f"tables.url {shown}: {error}") from error
    except ValueError as error:
        raise SettingsError(
            f"tables.url {shown}: {error}; expected a folder or a URL such as s3://bucket/tables"
        ) from error
    return files, root


@contextmanager
def reached(path: str) -> Iterator[None]:
    """Every failure of a storage's client, but a file that is not there, as a TableError.

    The clients behind fsspec raise errors of their own (botocore, aiohttp, google), which share
    no base class but Exception.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except Exception as error:
        raise TableError(
            f"the place of the table {path} does not answer, or refuses: "
            f"{hide_credentials(f'{type(error).__name__}: {error}')}. Check the address under "
            "[tables], the network and the credentials in the environment, then run again; what "
            "stands there is unharmed"
        ) from error
