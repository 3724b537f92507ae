"""Names of raptor's own files (homes, exports, tables, pages), and bytes that identify them.

Sources of documents omit these files; see ``documents/own_files.py``.
"""

HOME_SETTINGS = "raptor.toml"
HOME_DECLARATION = "corpus.json"
HOME_RECORDS = "dagster"

ROWS, ROWS_PLACE = "documents.jsonl", "source.json"
"""Files with the rows of an upstream asset, or with the top nodes of a corpus's trees."""

EXPORT_MANIFEST = "export.json"
EXPORT_FORMAT = "raptor-export"

FOOTER_PREFIX = "raptor-"
"""Prefix of names in the footer of every Parquet file of tables and exports."""

PAGE_MARK, PAGE_MARK_BYTES = '<meta name="generator" content="raptor-assets">', 1000
"""Element of every page, and number of bytes at the start of a page that contain it."""

INSTANCE_MARK = "# Written by raptor and kept up to date by it"
"""Beginning of a home's Dagster settings as long as no person has edited them."""

DATA_MARKS = tuple(
    mark.encode() for mark in (*('"embedder_fingerprint": "', f'"{EXPORT_FORMAT}"', INSTANCE_MARK),)
)
"""Bytes at the beginning of JSON and YAML files in homes and exports."""
