"""Files of this program that lie in a source: homes, exports, tables, pages.

They hold texts of the documents, so each build would make documents of the last one's output. They
are known by what they are: a folder by all its entries, a file by a mark in it. A file or folder
that the settings name as a source is read.
"""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from raptor_core.layout import (
    EXPORT_ENTRIES,
    EXPORT_FORMAT,
    EXPORT_MANIFEST,
    FOOTER_PREFIX,
    HOME_DECLARATION,
    HOME_ENTRIES,
    HOME_RECORDS,
    HOME_SETTINGS,
    PAGE_MARK,
    PAGE_MARK_BYTES,
    ROWS,
    ROWS_ENTRIES,
    ROWS_PLACE,
    STUDY_ENTRIES,
    STUDY_SAMPLE,
    STUDY_SHEET,
)

HEAD_BYTES = 200
"""First bytes of a file, which prove what its folder is."""

ReadHead = Callable[[str], bytes]
"""Returns the first ``HEAD_BYTES`` of the file at a path relative to the source."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """Kind of folder: it holds all of ``marks`` and, besides hidden files, only ``entries``.

    Where ``proof`` names bytes, the head of ``proof_file`` holds them.
    """

    reason: str
    marks: frozenset[str]
    entries: frozenset[str]
    proof_file: str = ""
    proof: bytes = b""


_KINDS = (
    _Kind("is a home of raptor", frozenset({HOME_SETTINGS, HOME_RECORDS}), HOME_ENTRIES),
    _Kind("is a home of raptor", frozenset({HOME_DECLARATION, HOME_RECORDS}), HOME_ENTRIES),
    _Kind("is a study of raptor", frozenset({STUDY_SAMPLE, STUDY_SHEET}), STUDY_ENTRIES),
    _Kind(
        "holds the rows of a home of raptor",
        frozenset({ROWS, ROWS_PLACE}),
        ROWS_ENTRIES,
        ROWS_PLACE,
        b'{"rows": ',
    ),
    _Kind(
        "is an export of raptor",
        frozenset({EXPORT_MANIFEST}),
        EXPORT_ENTRIES,
        EXPORT_MANIFEST,
        EXPORT_FORMAT.encode(),
    ),
)
_MARKS = frozenset[str]().union(*(kind.marks for kind in _KINDS))


def refuse_folder(folder: str, entries: Collection[str], read_head: ReadHead) -> str:
    """Return why a folder is left out; "" for a folder that holds anything else.

    Args:
        folder: path relative to the source; "" is the source itself.
        entries: names of the files and folders in it.
        read_head: asked for the file that proves what the folder is.
    """
    if _MARKS.isdisjoint(entries):
        return ""
    shown = {name for name in entries if name and not name.startswith(".")}
    for kind in _KINDS:
        if kind.marks <= shown <= kind.entries:
            path = f"{folder}/{kind.proof_file}" if folder else kind.proof_file
            if not kind.proof or kind.proof in read_head(path):
                return kind.reason
    return ""


def refuse_folders(paths: Iterable[str], read_head: ReadHead) -> dict[str, str]:
    """Return the folders that are left out, each with the reason, from the paths of all files.

    A folder below another one of them is not named.
    """
    paths = list(paths)
    marked = {path.rpartition("/")[0] for path in paths if path.rpartition("/")[2] in _MARKS}
    entries: dict[str, set[str]] = defaultdict(set)
    for path in paths if marked else ():
        folder, name = path.rpartition("/")[::2]
        while True:
            if folder in marked:
                entries[folder].add(name)
            if not folder:
                break
            folder, name = folder.rpartition("/")[::2]
    reasons: dict[str, str] = {}
    for folder in sorted(marked):
        is_inside = any(folder.startswith(f"{outer}/") for outer in reasons if outer)
        if not is_inside and (reason := refuse_folder(folder, entries[folder], read_head)):
            reasons[folder] = reason
    return reasons


def refuse_file(kind: str, data: bytes) -> str:
    """Return why a file is left out by its content; "" for a file of anybody else.

    Args:
        kind: name of the format, as in ``FORMATS``.
        data: content of the file.
    """
    if kind == "html" and PAGE_MARK.encode() in data[:PAGE_MARK_BYTES]:
        return "is a page that raptor wrote"
    if kind == "parquet" and any(name.startswith(FOOTER_PREFIX.encode()) for name in _notes(data)):
        return "is a table that raptor wrote"
    return ""


def _notes(data: bytes) -> Collection[bytes]:
    """Return the names of the entries in the footer of a Parquet file; none where it is damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return dict(pq.read_metadata(io.BytesIO(data)).metadata or {})
    except (pa.ArrowException, OSError):
        return ()  # the parser tells
