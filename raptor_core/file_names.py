"""Names and marks of raptor's own files: homes, exports, tables, pages.

Sources of documents omit these files; see ``documents/own_files.py``.
"""

HOME_SETTINGS = "raptor.toml"
HOME_DECLARATION = "corpus.json"
HOME_RECORDS = "dagster"

ROWS, ROWS_PLACE = "documents.jsonl", "source.json"
"""Files with rows of an upstream asset, or of the trees of a corpus."""

EXPORT_MANIFEST = "export.json"
EXPORT_FORMAT = "raptor-export"

STUDY_SAMPLE, STUDY_SHEET = "drawn.json", "sheet.csv"
STUDY_FILLED, STUDY_PAGE = "filled.csv", "sheet.html"

FOOTER_PREFIX = "raptor-"
"""Prefix of names in the footer of every Parquet file of tables and exports."""

PAGE_MARK, PAGE_MARK_BYTES = '<meta name="generator" content="raptor-assets">', 1000
"""Element of every page, and the bytes at the page's start that contain it."""

INSTANCE_MARK = "# Written by raptor and kept up to date by it"
"""Beginning of Dagster's settings in a home, until a person writes them."""

DATA_MARKS = tuple(
    mark.encode() for mark in (*('"embedder_fingerprint": "', f'"{EXPORT_FORMAT}"', INSTANCE_MARK),)
)
"""Words at the beginning of JSON and YAML files of homes and exports."""
