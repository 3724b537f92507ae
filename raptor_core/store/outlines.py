"""What ranks a node, without its words, column by column: a strategy weighs hundreds of nodes.

To make whole nodes of all of them, and to read their payloads, took most of a search. An outline is
a row of numbers; names are hashed, since ranking only asks whether they are the same.

Edge keeps the outlines of all its live points in one file (``OutlineFile``). It is derived from the
payloads and made again from them where it is missing or does not fit, so nothing but time is lost
with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, Self
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from raptor_core.errors import StoreError
from raptor_core.identity import digest
from raptor_core.store.files import OUTLINES, disk_errors, sync_directory, write_durably
from raptor_core.store.payload import Payload, damaged

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
)
"""Fields of a payload that make an outline."""

NODE = np.dtype(
    [
        ("high", "<u8"),  # of the id; 60 of its bits are random, so it stands for the node
        ("low", "<u8"),
        ("document", "<u8"),  # hash of its first document's name
        ("place", "<u8"),  # of tree and document
        ("section", "<u8"),  # of tree, document and section
        ("layer", "<i4"),
        ("position", "<i4"),
        ("n_tokens", "<i4"),
        ("n_children", "<i4"),
        ("check", "<u8"),  # of the words before
        ("child_at", "<u8"),
    ]
)
_ODD = np.arange(1, 15, 2, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
"""A factor for each word before the check: any of them that changes changes the sum."""

_STAMP_BYTES = 16
_HEAD_BYTES = _STAMP_BYTES + 16
_CHILD_BYTES = 16


class Outlines(NamedTuple):
    """Nodes in any order.

    Attributes:
        nodes: shape ``(n,)``, dtype ``NODE``.
        children: both halves of the ids of each node's children, shape ``(n_children, 2)``: those
            of a node stand together, from its ``child_at`` on.
    """

    nodes: Rows
    children: Keys

    @classmethod
    def of(cls, payloads: Iterable[Payload], *, strict: bool = True) -> Self:
        """Those of payloads that have the fields ``OUTLINED``.

        Raises:
            DamagedTreeError: one is not what was written; without ``strict`` it is left out.
        """
        rows: list[tuple[int, ...]] = []
        children: list[tuple[int, int]] = []
        for stored in payloads:
            try:
                below = [halves(child) for child in stored["children"]]
                rows.append((*_row(stored), 0, len(children)))
                children += below
            except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
                if strict:
                    raise damaged(stored) from error
        nodes = np.array(rows, dtype=NODE)
        nodes["check"] = _checks(nodes)
        return cls(nodes, np.array(children, dtype=np.uint64).reshape(-1, 2))

    @classmethod
    def joined(cls, parts: Sequence[Outlines]) -> Self:
        """One after the other."""
        nodes = np.concatenate([part.nodes for part in parts])
        sizes = [len(part.children) for part in parts]
        starts = np.cumsum([0, *sizes[:-1]]).astype(np.uint64)
        nodes["child_at"] += np.repeat(starts, [len(part.nodes) for part in parts])
        return cls(nodes, np.concatenate([part.children for part in parts]))

    def take(self, at: NDArray[Any]) -> Outlines:
        """Some of them, by row."""
        nodes = self.nodes[at]
        sizes = nodes["n_children"].astype(np.int64)
        ends = np.cumsum(sizes)
        starts = ends - sizes
        shifts = np.repeat(nodes["child_at"].astype(np.int64) - starts, sizes)
        children = self.children[shifts + np.arange(len(shifts))]
        nodes["child_at"] = starts
        return Outlines(nodes, children)

    def ids(self) -> list[str]:
        """The ids of the nodes."""
        return [full_id(high, low) for high, low in self.nodes[["high", "low"]].tolist()]


class Found(NamedTuple):
    """What a search found to be ranked: outlines and their scores, shape ``(n,)``, best first."""

    outlines: Outlines
    scores: NDArray[np.float64]


def outlined(rows: Iterable[tuple[Payload, float]]) -> Found:
    """What a search found, from payloads that have the fields ``OUTLINED``, and scores."""
    found = list(rows)
    scores = np.array([score for _, score in found], dtype=np.float64)
    return Found(Outlines.of(payload for payload, _ in found), scores)


def halves(node_id: str) -> tuple[int, int]:
    """The upper and the lower 64 bits of an id."""
    return divmod(int(node_id.replace("-", ""), 16), 1 << 64)


def full_id(high: int, low: int) -> str:
    """The id of two halves."""
    return str(UUID(int=high << 64 | low))


def _row(stored: Payload) -> tuple[int, ...]:
    """The fields of ``NODE`` before its check."""
    names = _hashes(stored["tree"], stored["documents"][0], tuple(stored["section"]))
    numbers = (stored["layer"], stored["position"], stored["n_tokens"], len(stored["children"]))
    return (*halves(stored["node_id"]), *names, *map(int, numbers))


@lru_cache(maxsize=1 << 14)
def _hashes(tree: str, document: str, section: tuple[str, ...]) -> tuple[int, int, int]:
    parts = [(document,), (tree, document), (tree, document, *section)]
    return tuple(_hash(repr(part)) for part in parts)  # type: ignore[return-value]


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _checks(nodes: Rows) -> Keys:
    words = nodes.view("<u8").reshape(len(nodes), NODE.itemsize // 8)
    checks: Keys = words[:, : len(_ODD)] @ _ODD
    return checks


NOTHING = Found(Outlines.of(()), np.zeros(0))


class OutlineFile:
    """The outlines of an engine's live points, read when they are first asked for.

    The file goes before the engine is written to, and comes back when that is closed, so a process
    that dies between leaves none. It also says of which segments it was made: a version that knows
    nothing of it adds points to them.

    Args:
        folder: of the engine.
        read: payloads of all live points.
    """

    def __init__(self, folder: Path, read: Callable[[], Iterable[Payload]]) -> None:
        self._folder = folder
        self._path = folder / OUTLINES
        self._read = read
        self.forget()

    def forget(self) -> None:
        """Know nothing, until it is read again."""
        self._sorted: Outlines | None = None
        self._highs: Keys = np.zeros(0, dtype=np.uint64)
        self._news: list[tuple[list[int], Outlines]] = []
        self._is_saved = True

    def load(self) -> bool:
        """Whether the outlines are known, from the file if need be."""
        if self._sorted is None and (stored := self._stored()):
            self._keep(stored)
        return self._sorted is not None

    def withdraw(self, *, is_new: bool) -> bool:
        """Whether the outlines are known; before the engine, empty if ``is_new``, is written to."""
        if is_new:
            self._keep(NOTHING.outlines)
        if self.load() and self._path.exists():
            nodes, children = self._whole()
            self._keep(Outlines(np.array(nodes), np.array(children)))  # some hold mapped files fast
        with disk_errors(self._path):
            if self._path.exists():
                self._path.unlink()
                sync_directory(self._folder)
        return self._sorted is not None

    def change(self, gone: Sequence[str], payloads: Iterable[Payload]) -> None:
        """Take in what was deleted from the engine and what was written to it."""
        self._news.append(([halves(name)[0] for name in gone], Outlines.of(payloads)))
        self._is_saved = False

    def find(self, ids: Sequence[int]) -> tuple[Outlines, NDArray[np.bool_]]:
        """Outlines of live points, ids as numbers, in order; and which of them have none."""
        keys = np.array([divmod(number, 1 << 64) for number in ids], np.uint64).reshape(-1, 2)
        lacking = np.ones(len(keys), dtype=bool)
        if self.load():
            found, lacking = self._look_up(keys)
        if lacking.any():
            self.forget()
            self._keep(_last([Outlines.of(self._read(), strict=False)], []))
            self._is_saved = False
            found, lacking = self._look_up(keys)
        return found, lacking

    def _look_up(self, keys: Keys) -> tuple[Outlines, NDArray[np.bool_]]:
        known = self._whole()
        if not len(known.nodes):
            return known, np.ones(len(keys), dtype=bool)
        at = np.minimum(np.searchsorted(self._highs, keys[:, 0]), len(known.nodes) - 1)
        nodes = known.nodes[at]
        ends = nodes["child_at"] + nodes["n_children"].astype(np.uint64)
        is_it = (nodes["high"] == keys[:, 0]) & (nodes["low"] == keys[:, 1])
        is_it &= (nodes["check"] == _checks(nodes)) & (ends <= len(known.children))
        return known.take(at[is_it]), ~is_it

    def _whole(self) -> Outlines:
        known = self._sorted or NOTHING.outlines
        if not self._news:
            return known
        gone, new = zip(*self._news, strict=True)
        self._news = []
        return self._keep(_last([known, *new], [[], *gone]))

    def _keep(self, known: Outlines) -> Outlines:
        self._sorted, self._highs = known, np.ascontiguousarray(known.nodes["high"])
        return known

    def _stored(self) -> Outlines | None:
        if not self._path.exists() or self._path.stat().st_size < _HEAD_BYTES:
            return None
        data = np.memmap(self._path, dtype=np.uint8, mode="r")
        n_nodes, n_children = data[_STAMP_BYTES:_HEAD_BYTES].view("<u8").tolist()
        end = _HEAD_BYTES + NODE.itemsize * n_nodes
        is_whole = len(data) == end + _CHILD_BYTES * n_children
        if not is_whole or data[:_STAMP_BYTES].tobytes() != self._stamp():
            return None
        return Outlines(data[_HEAD_BYTES:end].view(NODE), data[end:].view("<u8").reshape(-1, 2))

    def save(self) -> None:
        """Write the file, once the engine is closed. Where the disk refuses, it is made again."""
        if self._is_saved:
            return
        nodes, children = self._whole()
        counts = np.array([len(nodes), len(children)], dtype="<u8")
        with suppress(StoreError):
            data = (self._stamp(), counts.tobytes(), nodes.tobytes(), children.tobytes())
            write_durably(self._path, b"".join(data))
        self._is_saved = True

    def _stamp(self) -> bytes:
        """Digest of the names and sizes of what maps ids to points in the engine's segments."""
        files = sorted(self._folder.glob("segments/*/*id_tracker.*"))
        lines = (f"{path.parent.name}\0{path.name}\0{path.stat().st_size}" for path in files)
        return bytes.fromhex(digest("outlines", *lines))


def _last(parts: Sequence[Outlines], gone: Sequence[Sequence[int]]) -> Outlines:
    """Of each node what the last part says that has it, none that is ``gone`` by then; sorted."""
    every = Outlines.joined(parts)
    highs = [part.nodes["high"] for part in parts] + [np.array(g, np.uint64) for g in gone]
    ages = np.repeat([*range(len(parts)), *range(len(gone))], [len(keys) for keys in highs])
    keys = np.concatenate(highs)
    order = np.lexsort((ages, keys))
    is_last = np.append(keys[order][1:] != keys[order][:-1], True)[: len(order)]
    rows = order[is_last]
    return every.take(rows[rows < len(every.nodes)])
