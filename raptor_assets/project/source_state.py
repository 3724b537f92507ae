"""Cache of the last scans of the source, next to the tables, for the next tick or process.

It may be deleted, and several machines may write it: an entry is valid for a file with the stamp
that it names. A large catalog has parts by the first bits of the keys, so that an edit writes one
part. The first part has their number. Files of a missing or damaged part are read again.
"""

from raptor_core.documents import Catalog, Scan, parser_fingerprint, scan_source
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
    ("first_seen", "float"),
    ("is_final", "int"),
    ("documents", "json"),
    ("skipped", "json"),
)
_PARSERS = "parsers"
_PARTS = "parts"

PART_DOCUMENTS = 2**15  # documents of readings in one table
MAX_PARTS = 256


def load_catalog(tables: TableStore, settings: SourceSettings) -> Catalog:
    """Return the kept catalog, without parts that are damaged or of other settings."""
    parsers = parser_fingerprint(settings)
    catalog = Catalog()
    for number in range(_read(catalog, tables, 0, parsers)):
        if number:
            _read(catalog, tables, number, parsers)
    return catalog


def look(tables: TableStore, settings: SourceSettings) -> Scan:
    """Scan the source without writing anything."""
    return scan_source(settings, load_catalog(tables, settings))


def keep_look(tables: TableStore, settings: SourceSettings, scan: Scan) -> None:
    """Keep the catalog of a ``look`` for the next one."""
    if scan.is_new:
        save_catalog(tables, settings, scan.catalog, scan.previous)


def save_catalog(
    tables: TableStore, settings: SourceSettings, catalog: Catalog, previous: Catalog
) -> None:
    """Write the parts of a catalog that differ from the previous one."""
    known = catalog.keys() | previous.keys()
    changed = {key for key in known if catalog.get(key) != previous.get(key)}
    if not changed:
        return
    parsers = parser_fingerprint(settings)
    n_documents = sum(len(reading.documents) for reading in catalog.values())
    n_previous = _read(Catalog(), tables, 0, parsers)
    n_parts = max(n_previous, min(MAX_PARTS, 1 << (n_documents // PART_DOCUMENTS).bit_length()))
    notes = {_PARSERS: parsers, _PARTS: str(n_parts)}
    rewritten = {_part(key, n_parts) for key in changed}
    numbers = rewritten if n_parts == n_previous else range(n_parts)
    parts: dict[int, list[bytes]] = {number: [] for number in numbers}
    for key in sorted(catalog):
        if (number := _part(key, n_parts)) in parts:
            parts[number].append(key)
    for number, keys in parts.items():
        tables.write(KEY, _name(number), _READINGS.table(catalog.rows(keys)), notes)


def _read(catalog: Catalog, tables: TableStore, number: int, parsers: str) -> int:
    """Add one part to a catalog, and return the number of parts, 0 if it cannot be used."""
    try:
        table = tables.read(KEY, _name(number))
    except TableError:  # a cache that cannot be read is as good as none
        return 0
    notes = table_properties(table.schema)
    if notes.get(_PARSERS) != parsers:
        return 0
    catalog.add_rows(_READINGS.rows(table))
    return int(notes[_PARTS])


def _part(key: bytes, n_parts: int) -> int:
    """Return the number of the part that holds a key, by its first bits; ``n_parts`` <= 256."""
    return key[0] * n_parts // 256


def _name(number: int) -> str:
    return f"{_NAME}-{number}" if number else _NAME
