"""From a path or URL to the source that reads it."""

from __future__ import annotations

from pathlib import Path

from raptor_core.documents.sources.base import Source
from raptor_core.documents.sources.local import LocalSource
from raptor_core.documents.sources.remote import RemoteSource
from raptor_core.settings import SourceSettings


def open_source(path: str | Path, settings: SourceSettings) -> Source:
    """The source at a local path or an fsspec URL.

    Raises:
        SourceError: no such file or folder, unknown protocol, unreachable.
        MissingExtraError: the URL needs an extra.
    """
    text = str(path)
    if text.startswith("file://"):
        text = text.removeprefix("file://")
    if isinstance(path, str) and ("://" in text or "::" in text):
        return RemoteSource(text, settings)
    return LocalSource(text, settings)
