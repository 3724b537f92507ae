"""Detection of raptor's own files in a source: homes, tables, pages, files of exports.

They contain texts of the documents, so each build would read the output of the previous one. A home
is recognized by its settings and records, a file by some of its bytes. A file that the settings
name explicitly is read nevertheless.
"""

import io
from collections.abc import Collection, Iterable

from raptor_core import file_names

HOME_REASON = "is a home of raptor; keep documents in another folder"

_HOME_FILES = (file_names.HOME_SETTINGS, file_names.HOME_DECLARATION)
_HEAD_BYTES = 1000


def is_home_folder(entries: Collection[str]) -> bool:
    """Return whether a folder with these entries is a home."""
    return file_names.HOME_RECORDS in entries and any(name in entries for name in _HOME_FILES)


def find_homes(paths: Iterable[str]) -> list[str]:
    """Return the folders that are homes, given all relative paths; "" is the source itself."""
    paths = list(paths)
    places = {path.rpartition("/")[::2] for path in paths}
    folders = {folder for folder, name in places if name in _HOME_FILES}
    records = [(f"{folder}/{file_names.HOME_RECORDS}/".lstrip("/"), folder) for folder in folders]
    return [folder for start, folder in records if any(path.startswith(start) for path in paths)]


def explain_file_refusal(kind: str, data: bytes) -> str:
    """Return why the content of a file forbids reading it, or ""."""
    if kind == "html" and file_names.PAGE_MARK.encode() in data[: file_names.PAGE_MARK_BYTES]:
        return "is a page that raptor wrote"
    if kind == "text" and any(m in data[:_HEAD_BYTES] for m in file_names.DATA_MARKS):
        return "is a file of a home or an export of raptor"
    prefix = file_names.FOOTER_PREFIX.encode()
    if kind == "parquet" and any(name.startswith(prefix) for name in _parquet_footer_names(data)):
        return "is a table that raptor wrote"
    return ""


def _parquet_footer_names(data: bytes) -> Collection[bytes]:
    """Return the names of the entries in a Parquet file's footer, or none if it is damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return dict(pq.read_metadata(io.BytesIO(data)).metadata or {})
    except (pa.ArrowException, OSError):
        return ()  # the parser reports this error
