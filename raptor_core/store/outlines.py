"""Outlines of nodes: the numbers that rank hundreds of candidates, without their texts.

Reading payloads and making nodes of all candidates took most of a search. An outline is a row of
numbers; names are hashed, since ranking only compares them.

Edge keeps the outlines of all its live points in a file. It is derived from the payloads, and made
again where it is missing, damaged or does not fit the engine's segments, which it names. It is
removed before the engine is written to and written when the engine is closed. So a process that
dies in between leaves none.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b, sha256
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from raptor_core.disk import disk_errors, sync_directory, write_durably
from raptor_core.errors import DamagedTreeError, StoreError
from raptor_core.identity import digest
from raptor_core.store.payload import Payload, damaged

OUTLINES = "nodes.outlines"
"""Name of Edge's file of them, beside its own."""

Keys = NDArray[np.uint64]
Rows = NDArray[Any]

OUTLINED = (
    "node_id",
    "tree",
    "layer",
    "position",
    "n_tokens",
    "documents",
    "children",
    "section",
    "paragraphs",
)
"""Fields of a payload that make an outline."""

NODE = np.dtype(
    [
        ("high", "<u8"),  # of the id; 60 of its bits are random, so it identifies the node
        ("low", "<u8"),
        ("document", "<u8"),  # hash of its first document's name
        ("place", "<u8"),  # of tree and document
        ("section", "<u8"),  # of tree, document and section
        ("layer", "<i4"),
        ("position", "<i4"),
        ("n_tokens", "<i4"),
        ("n_children", "<i4"),
    ]
)

_ROW = struct.Struct("<5Q4i")
"""A ``NODE`` in bytes."""


class Outline(NamedTuple):
    """Outline of a node: its ``NODE`` in bytes, and both halves of each of its children."""

    row: bytes
    children: bytes

    @classmethod
    def of(cls, stored: Payload) -> Self:
        """Return the outline of a payload, which holds it or has the fields ``OUTLINED``."""
        known: Self | None = stored.get("outline")
        if known:
            return known
        try:
            below = [halves(child) for child in stored["children"]]
            below = below or [(int(a), int(n)) for a, n in stored.get("paragraphs", ())]
            names = _hashes(stored["tree"], stored["documents"][0], tuple(stored["section"]))
            numbers = (stored["layer"], stored["position"], stored["n_tokens"], len(below))
            row = _ROW.pack(*halves(stored["node_id"]), *names, *map(int, numbers))
            return cls(row, struct.pack(f"<{2 * len(below)}Q", *chain.from_iterable(below)))
        except (LookupError, AttributeError, TypeError, ValueError, struct.error) as error:
            raise damaged(stored) from error


class Outlines(NamedTuple):
    """Nodes in any order, shape ``(n,)``, dtype ``NODE``, and their children in the same order.

    ``children`` has shape ``(n_children, 2)``: both halves of the ids of a summary's children, and
    of a chunk, which has none, its paragraphs (``Node.paragraphs``).
    """

    nodes: Rows
    children: Keys

    @classmethod
    def of(cls, payloads: Iterable[Payload], *, strict: bool = True) -> Self:
        """Return the outlines of payloads; unless ``strict``, damaged payloads are left out."""
        every = list(map(Outline.of, payloads) if strict else _sound(payloads))
        rows = np.frombuffer(b"".join(outline.row for outline in every), dtype=NODE)
        children = b"".join(outline.children for outline in every)
        return cls(rows, np.frombuffer(children, dtype=np.uint64).reshape(-1, 2))

    @classmethod
    def joined(cls, parts: "Sequence[Outlines]") -> Self:
        """Concatenate outlines."""
        nodes, children = zip(*parts, strict=True)
        return cls(np.concatenate(nodes), np.concatenate(children))

    def take(self, at: NDArray[Any]) -> "Outlines":
        """Return the outlines of some rows, ``at`` of shape ``(n,)``."""
        sizes = self.nodes["n_children"].astype(np.int64)
        begins, sizes = (np.cumsum(sizes) - sizes)[at], sizes[at]
        shifts = np.repeat(begins - (np.cumsum(sizes) - sizes), sizes)
        return Outlines(self.nodes[at], self.children[shifts + np.arange(len(shifts))])

    def ids(self) -> list[str]:
        """Return the ids of the nodes."""
        return [full_id(high, low) for high, low in self.nodes[["high", "low"]].tolist()]


def _sound(payloads: Iterable[Payload]) -> Iterator[Outline]:
    for stored in payloads:
        with suppress(DamagedTreeError):
            yield Outline.of(stored)


class Candidates(NamedTuple):
    """Candidates of a search: outlines and their scores, shape ``(n,)``, best first."""

    outlines: Outlines
    scores: NDArray[np.float64]


def outlined(rows: Iterable[tuple[Payload, float]]) -> Candidates:
    """Return the candidates of scored payloads, which have the fields ``OUTLINED``."""
    scored = list(rows)
    scores = np.array([score for _, score in scored], dtype=np.float64)
    return Candidates(Outlines.of(payload for payload, _ in scored), scores)


def halves(node_id: str) -> tuple[int, int]:
    """Return the upper and the lower 64 bits of an id."""
    return divmod(int(node_id.replace("-", ""), 16), 1 << 64)


def full_id(high: int, low: int) -> str:
    """Return the id that two halves make."""
    return str(UUID(int=high << 64 | low))


@lru_cache(maxsize=1 << 14)
def _hashes(tree: str, document: str, section: tuple[str, ...]) -> tuple[int, int, int]:
    parts = [(document,), (tree, document), (tree, document, *section)]
    return tuple(_hash(repr(part)) for part in parts)  # type: ignore[return-value]


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


NOTHING = Candidates(Outlines.of(()), np.zeros(0))


_HEAD_BYTES = 32
_DELETED = -1
"""Layer of a row that stands for a deleted node."""


class OutlineFile:
    """Outlines of all live points: a head, and their two arrays as numpy writes them.

    They are read at the first use. Changes are kept in a list until the next use. The upper half
    of an id identifies it. ``read`` returns the payloads of all live points.
    """

    def __init__(self, folder: Path, read: Callable[[], Iterable[Payload]]) -> None:
        self._folder = folder
        self._path = folder / OUTLINES
        self._read = read
        self.forget()

    def forget(self) -> None:
        """Drop what is in memory; the next call reads it again."""
        self._parts: list[Outlines] = []
        self._rows = NOTHING.outlines
        self._is_saved = True

    def withdraw(self, *, is_new: bool) -> None:
        """Read the file and remove it, before the engine (empty if ``is_new``) is written to."""
        if is_new:
            self._parts = [NOTHING.outlines]
        self._load()
        with disk_errors(self._path):
            if self._path.exists():
                self._path.unlink()
                sync_directory(self._folder)

    def change(self, deletes: Sequence[str], payloads: Iterable[Payload]) -> None:
        """Add the changes of a batch: ids that were deleted, payloads that were written."""
        if self._parts:
            rows = np.zeros(len(deletes), dtype=NODE)
            rows["high"], rows["layer"] = [halves(name)[0] for name in deletes], _DELETED
            self._parts += [Outlines(rows, NOTHING.outlines.children), Outlines.of(payloads)]
            self._is_saved = False

    def find(self, numbers: Sequence[int]) -> tuple[Outlines, list[int]]:
        """Return the outlines of live points, by ids as numbers, and the ids without one."""
        self._load()
        highs = np.array([number >> 64 for number in numbers], dtype=np.uint64)
        rows, at, is_known = self._places(highs)
        if not is_known.all():
            self._parts, self._is_saved = [Outlines.of(self._read(), strict=False)], False
            rows, at, is_known = self._places(highs)
        lacking = [numbers[row] for row in np.flatnonzero(~is_known).tolist()]
        return rows.take(at[is_known]), lacking

    def _places(self, ids: Keys) -> tuple[Outlines, NDArray[Any], NDArray[np.bool_]]:
        """Return all outlines, the row of each id, and whether it has one."""
        rows = self._joined()
        highs = np.append(rows.nodes["high"], np.uint64(0))
        at = np.searchsorted(highs[:-1], ids)
        return rows, at, highs[at] == ids

    def _joined(self) -> Outlines:
        """Return the latest outline of each node, by id."""
        if len(self._parts) != 1 or self._parts[0] is not self._rows:
            every = Outlines.joined([NOTHING.outlines, *self._parts])
            _, last = np.unique(every.nodes["high"][::-1], return_index=True)
            at = len(every.nodes) - 1 - last
            self._rows = every.take(at[every.nodes["layer"][at] != _DELETED])
            self._parts = self._parts and [self._rows]
        return self._rows

    def _load(self) -> None:
        """Read the file, where it fits and nothing is in memory."""
        if not self._parts and self._path.exists():
            with disk_errors(self._path):
                data = self._path.read_bytes()
            if data[:_HEAD_BYTES] == self._head(data[_HEAD_BYTES:]):
                file = BytesIO(data[_HEAD_BYTES:])
                self._parts = [Outlines(np.load(file), np.load(file))]

    def save(self) -> None:
        """Write the file, after the engine was closed; where that fails, it is made again later."""
        if self._parts and not self._is_saved:
            file = BytesIO()
            for array in self._joined():
                np.save(file, array)
            with suppress(StoreError):
                write_durably(self._path, self._head(file.getvalue()) + file.getvalue())
        self._is_saved = True

    def _head(self, data: bytes) -> bytes:
        """Return a digest of the arrays, and of the segments' id trackers by name and size."""
        files = sorted(self._folder.glob("segments/*/*id_tracker.*"))
        lines = (f"{path.parent.name}\0{path.name}\0{path.stat().st_size}" for path in files)
        return bytes.fromhex(digest("outline arrays", *lines) + sha256(data).hexdigest()[:32])
