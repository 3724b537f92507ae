"""Names and marks by which files of this program are known: homes, exports, tables, pages.

Whoever writes such a file takes its mark from here. The sources of documents leave these files out;
see ``documents/sources/own_files.py``.
"""

HOME_SETTINGS = "raptor.toml"
HOME_DECLARATION = "corpus.json"
HOME_RECORDS = "dagster"
HOME_ENTRIES = frozenset(
    {
        *(HOME_SETTINGS, HOME_DECLARATION, HOME_RECORDS),
        *("answers", "corpus_tree", "evaluation", "maps", "qdrant"),
        *("reports", "source", "tables", "turns"),
    }
)
"""Everything that stands in a home."""

ROWS, ROWS_PLACE = "documents.jsonl", "source.json"
ROWS_ENTRIES = frozenset({ROWS, ROWS_PLACE, "stamp.json"})
"""Files of the rows that an upstream asset or the trees of a corpus gave."""

EXPORT_MANIFEST = "export.json"
EXPORT_FORMAT = "raptor-export"
EXPORT_ENTRIES = frozenset({EXPORT_MANIFEST, "trees", "tables"})

STUDY_SAMPLE, STUDY_SHEET = "drawn.json", "sheet.csv"
STUDY_FILLED, STUDY_PAGE = "filled.csv", "sheet.html"
STUDY_ENTRIES = frozenset({STUDY_SAMPLE, STUDY_SHEET, STUDY_FILLED, STUDY_PAGE})

FOOTER_PREFIX = "raptor-"
"""Beginning of the name of an entry in the footer of every Parquet file of tables and exports."""

PAGE_MARK = '<meta name="generator" content="raptor-assets">'
"""Element of every page, within its first ``PAGE_MARK_BYTES``."""

PAGE_MARK_BYTES = 1000
