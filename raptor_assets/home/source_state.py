"""Cache of the last scans of the source, next to the tables, for the next tick or process.

It may be deleted, and several machines may write it: an entry is valid only for a file with the
same stamp. If the cache is missing or damaged, all files are read again.
"""

import json
from dataclasses import astuple

from raptor_core.documents import Catalog, Scan, parser_fingerprint, scan_source
from raptor_core.documents.base import Skipped
from raptor_core.errors import TableError
from raptor_core.settings import SourceSettings
from raptor_core.tables.files import TableStore, table_properties
from raptor_core.tables.schema import Schema

KEY = ("source_scan",)
_NAME = "files"
_READINGS = Schema(
    ("file", "bytes"),
    ("stamp", "string"),
    ("content", "string"),
    ("is_final", "int"),
    ("documents", "json"),
    ("skipped", "json"),
)
_PARSERS, _SKIPPED = "parsers", "skipped"


def load_catalog(tables: TableStore, settings: SourceSettings) -> Catalog:
    """Return the kept catalog, or an empty one if it is missing, damaged or from other settings."""
    catalog = Catalog()
    try:
        table = tables.read(KEY, _NAME)
    except TableError:  # a cache that cannot be read is as good as none
        return catalog
    if table_properties(table.schema).get(_PARSERS) == parser_fingerprint(settings):
        catalog.add_rows(_READINGS.rows(table))
    return catalog


def rescan(tables: TableStore, settings: SourceSettings, *, is_whole: bool = True) -> Scan:
    """Scan the source without writing anything.

    Raises:
        SourceError: a source is missing, empty or unreachable. Without ``is_whole`` this is the
            ``failure`` of the inventory.
    """
    scan = scan_source(settings, load_catalog(tables, settings))
    if is_whole:
        scan.inventory.require_complete()
    return scan


def keep_catalog(tables: TableStore, settings: SourceSettings, scan: Scan) -> None:
    """Keep the catalog of a scan for the next one, if it differs from the previous catalog."""
    if scan.is_catalog_changed:
        table = _READINGS.to_table(scan.catalog.rows())
        skipped = json.dumps([astuple(item) for item in scan.inventory.skipped])
        properties = {_PARSERS: parser_fingerprint(settings), _SKIPPED: skipped}
        tables.write(KEY, _NAME, table, properties)


def read_last_skipped(tables: TableStore) -> list[Skipped]:
    """Return what the last scan could not read; nothing if the cache is missing or damaged."""
    try:
        properties = tables.properties(KEY, _NAME) or {}
    except TableError:
        return []
    return [Skipped(*values) for values in json.loads(properties.get(_SKIPPED, "[]"))]
