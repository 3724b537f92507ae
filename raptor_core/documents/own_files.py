"""Detection of raptor's own files in a source: homes, exports, tables, pages.

They hold texts of the documents, so each build would read the previous build's output. A folder is
recognized by all its entries, a file by a mark in it. A source that the settings name is read.
"""

import io
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from raptor_core import layout

HEAD_BYTES = 200
"""Bytes of a file's head, which proves the kind of its folder."""

ReadHead = Callable[[str], bytes]
"""Function that returns the first ``HEAD_BYTES`` of the file at a path relative to the source."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """Kind of folder: it holds all ``marks`` and, except for hidden files, only ``entries``.

    The head of ``proof_file`` contains ``proof``.
    """

    reason: str
    marks: AbstractSet[str]
    entries: AbstractSet[str]
    proof_file: str = ""
    proof: bytes = b""


_HOME = "is a home of raptor"
_KINDS = (
    _Kind(_HOME, {layout.HOME_SETTINGS, layout.HOME_RECORDS}, layout.HOME_ENTRIES),
    _Kind(_HOME, {layout.HOME_DECLARATION, layout.HOME_RECORDS}, layout.HOME_ENTRIES),
    _Kind(
        "is a collection of raptor's store",
        layout.COLLECTION_MARKS,
        layout.COLLECTION_MARKS | {"journal"},
    ),
    _Kind("is a study of raptor", {layout.STUDY_SAMPLE, layout.STUDY_SHEET}, layout.STUDY_ENTRIES),
    _Kind(
        "holds the rows of a home of raptor",
        {layout.ROWS, layout.ROWS_PLACE},
        layout.ROWS_ENTRIES,
        layout.ROWS_PLACE,
        b'{"rows": ',
    ),
    _Kind(
        "is an export of raptor",
        {layout.EXPORT_MANIFEST},
        layout.EXPORT_ENTRIES,
        layout.EXPORT_MANIFEST,
        layout.EXPORT_FORMAT.encode(),
    ),
)
_HEAD_BYTES = 1000
_MARKS = frozenset[str]().union(*(kind.marks for kind in _KINDS))


def refuse_folder(folder: str, entries: Collection[str], read_head: ReadHead) -> str:
    """Return why a folder is omitted, or "".

    ``folder`` is relative to the source, "" for the source; ``entries`` are the names in it.
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
    """Return the outermost omitted folders with their reasons, from the paths of all files."""
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
    """Return why a file of this format is omitted for its content, or ""."""
    if kind == "html" and layout.PAGE_MARK.encode() in data[: layout.PAGE_MARK_BYTES]:
        return "is a page that raptor wrote"
    if kind in {"json", "yaml"} and any(m in data[:_HEAD_BYTES] for m in layout.DATA_MARKS):
        return "is a file of a home or an export of raptor"
    prefix = layout.FOOTER_PREFIX.encode()
    if kind == "parquet" and any(name.startswith(prefix) for name in _footer_names(data)):
        return "is a table that raptor wrote"
    return ""


def _footer_names(data: bytes) -> Collection[bytes]:
    """Return the names of the entries in a Parquet file's footer, or none if it is damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return dict(pq.read_metadata(io.BytesIO(data)).metadata or {})
    except (pa.ArrowException, OSError):
        return ()  # the parser reports the damage
