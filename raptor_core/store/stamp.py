"""A stamp of an embedded store's files, for whoever wants to know whether to look into it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from raptor_core.identity import digest
from raptor_core.store.files import OUTLINES, disk_errors

_PASSING = (".lock", ".holder.json", ".part", OUTLINES)
"""Files that come and go with every opening, and one that a reader may write."""


def store_stamp(root: Path, corpus: str) -> str:
    """Digest of the names of a corpus's files, with their sizes and the identity of their folders.

    It differs once a store was lost, replaced, put back from a copy, cut short, or published to.
    Reading changes neither sizes nor folders, though Edge touches its files each time. What was
    written in place at equal sizes goes unnoticed. No lock is taken; some 2 ms for each store.

    Raises:
        StoreError: the disk refuses.
    """
    with disk_errors(root):
        lines = [line for path in sorted(root.glob(f"{corpus}[.-]*")) for line in _lines(path)]
    return digest("store", *lines)


def _lines(path: Path) -> Iterator[str]:
    try:
        found = path.stat()
        if path.is_dir():
            yield f"{path}\0{found.st_ino}"
            for inner in sorted(path.iterdir()):
                yield from _lines(inner)
        elif not path.name.endswith(_PASSING):
            yield f"{path}\0{found.st_size}"
    except FileNotFoundError:  # a build is at it; the next stamp tells
        return
