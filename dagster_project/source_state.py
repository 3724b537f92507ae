"""What the last scans of the source found, kept beside the tables for the next tick or process.

Only a cache. It may be deleted, and where several machines write it the last one wins: an entry
is good for a file that still has the stamp that it names, whoever wrote it.
"""

from __future__ import annotations

from raptor_core.documents import Catalog, Scan, parser_fingerprint, scan_source
from raptor_core.errors import TableError
from raptor_core.settings import SourceSettings
from raptor_core.tables import TableStore

KEY = ("source_scan",)
_NAME = "files"
_PARSERS = "parsers"


def load_catalog(tables: TableStore, settings: SourceSettings) -> Catalog:
    """The catalog that was kept; empty if there is none for these settings, or it is damaged."""
    if not tables.exists(KEY, _NAME):
        return Catalog()
    try:
        if tables.properties(KEY, _NAME).get(_PARSERS) != parser_fingerprint(settings):
            return Catalog()
        frame = tables.read(KEY, _NAME)
    except TableError:  # a cache that cannot be read is as good as none
        return Catalog()
    return Catalog(zip(frame["file"], frame["reading"], strict=True))


def look(tables: TableStore, settings: SourceSettings) -> Scan:
    """What the source holds now; nothing is written, and only files that changed are read.

    For whoever builds by hand: a file that was just written is wanted as it is.

    Raises:
        SourceError: the source is missing, unreachable or empty.
    """
    at_once = settings.model_copy(update={"settle_seconds": 0.0})
    return scan_source(at_once, load_catalog(tables, settings))


def keep_look(tables: TableStore, settings: SourceSettings, scan: Scan) -> None:
    """Keep what ``look`` found for the next one.

    Raises:
        TableError: it cannot be written.
    """
    save_catalog(tables, settings, scan.catalog, load_catalog(tables, settings))


def save_catalog(
    tables: TableStore, settings: SourceSettings, catalog: Catalog, before: Catalog
) -> None:
    """Keep a catalog, unless it says what was kept before.

    Raises:
        TableError: it cannot be written.
    """
    import pandas as pd

    if catalog == before:
        return
    frame = pd.DataFrame(sorted(catalog.packed()), columns=["file", "reading"])
    tables.write(KEY, _NAME, frame, {_PARSERS: parser_fingerprint(settings)})
