"""Documents by their hashes, packed: those of one file, and all of a corpus in a few buffers."""

from __future__ import annotations

import hashlib
import json
import zlib
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from raptor_core.documents.base import Entry

if TYPE_CHECKING:
    from numpy.typing import NDArray

HASH_BYTES = 16
"""Of a content hash, and of a version."""

ENTRY_BYTES = 2 * HASH_BYTES

_LONG = 500
"""Bytes from which on it saves memory to compress."""

_ONE, _PLAIN, _COMPRESSED = b"1", b"p", b"z"


@dataclass(frozen=True, slots=True)
class FileEntries:
    """Names, ids and hashes of a file's documents, in the order of the file.

    Attributes:
        ids: packed texts.
        names: of the documents' places, packed; empty where they are the ids.
        hashes: of each document its content hash and its version, ``ENTRY_BYTES`` together.
    """

    ids: bytes = b""
    names: bytes = b""
    hashes: bytes = b""

    @classmethod
    def of(cls, named: Iterable[tuple[str, Entry]]) -> FileEntries:
        """What these entries, each with the name of its place, are packed."""
        listed = list(named)
        names, ids = [name for name, _ in listed], [entry.id for _, entry in listed]
        hashes = "".join(entry.content_hash + entry.version for _, entry in listed)
        packed = b"" if names == ids else _pack(names)
        return cls(_pack(ids) if ids else b"", packed, bytes.fromhex(hashes))

    def __len__(self) -> int:
        return len(self.hashes) // ENTRY_BYTES

    def __iter__(self) -> Iterator[tuple[str, Entry]]:
        """Each document by the name of its place."""
        ids = self.list_ids()
        names = _unpack(self.names) if self.names else ids
        for at, (name, document_id) in enumerate(zip(names, ids, strict=True)):
            yield name, unpack_entry(document_id, self.hashes, at)

    def list_ids(self) -> list[str]:
        """Ids of the documents."""
        return _unpack(self.ids) if self.ids else []


def unpack_entry(document_id: str, hashes: bytes | memoryview, at: int) -> Entry:
    """The entry whose hashes stand at the place ``at``, from 0."""
    both = hashes[at * ENTRY_BYTES : (at + 1) * ENTRY_BYTES].hex()
    return Entry(document_id, both[: 2 * HASH_BYTES], both[2 * HASH_BYTES :])


def _pack(texts: list[str]) -> bytes:
    if len(texts) == 1:
        return _ONE + texts[0].encode("utf-8", "surrogatepass")
    data = json.dumps(texts, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return _PLAIN + data if len(data) < _LONG else _COMPRESSED + zlib.compress(data, 1)


def _unpack(packed: bytes) -> list[str]:
    kind, data = packed[:1], packed[1:]
    plain = zlib.decompress(data) if kind == _COMPRESSED else data
    text = plain.decode("utf-8", "surrogatepass")
    texts: list[str] = [text] if kind == _ONE else json.loads(text)
    return texts


class Entries(Sequence[Entry]):
    """Entries ordered by id; each is made when it is asked for.

    Args:
        ids: the ids' bytes, one after the other.
        bounds: where each begins in ``ids``, and the end of the last: (n + 1,) int64.
        hashes: ``ENTRY_BYTES`` of each.
    """

    def __init__(self, ids: memoryview, bounds: NDArray[np.int64], hashes: memoryview) -> None:
        self._ids = ids
        self._bounds = bounds.data  # gives plain integers, at once
        self._hashes = hashes

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Entries:
        """These entries, ordered; the first of an id counts."""
        gathered = Gathered()
        gathered.add(FileEntries.of((entry.id, entry) for entry in entries))
        return gathered.ordered()[0]

    def __len__(self) -> int:
        return len(self._bounds) - 1

    @overload
    def __getitem__(self, at: int) -> Entry: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Entry, ...]: ...
    def __getitem__(self, at: int | slice) -> Entry | tuple[Entry, ...]:
        if isinstance(at, slice):
            return tuple(self[i] for i in range(*at.indices(len(self))))
        place = range(len(self))[at]
        return unpack_entry(self._id(place), self._hashes, place)

    def __iter__(self) -> Iterator[Entry]:
        for at, document_id in enumerate(self.ids()):
            yield unpack_entry(document_id, self._hashes, at)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Entries):
            return NotImplemented
        return (
            np.array_equal(self._bounds, other._bounds)
            and self._ids == other._ids
            and self._hashes == other._hashes
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Entries of {len(self)} documents"

    def ids(self) -> Iterator[str]:
        """Ids, in order."""
        return map(self._id, range(len(self)))

    @property
    def digest(self) -> str:
        """Digest of all versions, 32 hexadecimal characters."""
        return hashlib.sha256(self._hashes).hexdigest()[:32]

    def _id(self, at: int) -> str:
        encoded = self._ids[self._bounds[at] : self._bounds[at + 1]]
        return str(encoded, "utf-8", "surrogatepass")


class Gathered:
    """Collects the documents of one file after the other."""

    def __init__(self) -> None:
        self._ids = bytearray()
        self._lengths = array("q")
        self._hashes = bytearray()

    def add(self, entries: FileEntries) -> None:
        """Add the documents of a file."""
        ids = entries.list_ids()
        text = "".join(ids).encode("utf-8", "surrogatepass")
        self._ids += text
        if text.isascii():
            self._lengths.extend(map(len, ids))
        else:
            self._lengths.extend(len(i.encode("utf-8", "surrogatepass")) for i in ids)
        self._hashes += entries.hashes

    def ordered(self) -> tuple[Entries, Collection[str]]:
        """The first entry of each id, ordered by id; and the ids that there are more than once."""
        bounds = np.zeros(len(self._lengths) + 1, dtype=np.int64)
        np.cumsum(np.asarray(self._lengths), out=bounds[1:])
        ids, hashes = memoryview(self._ids), memoryview(self._hashes)
        if _is_ascending(ids, bounds):
            return Entries(ids, bounds, hashes), ()
        return _sorted(ids, bounds, hashes)


def _is_ascending(ids: memoryview, bounds: NDArray[np.int64]) -> bool:
    import pyarrow.compute as pc

    texts = _texts(ids, bounds)
    is_less = pc.less(texts.slice(0, max(0, len(texts) - 1)), texts.slice(1))
    return bool(pc.all(is_less, min_count=0).as_py())


def _sorted(
    ids: memoryview, bounds: NDArray[np.int64], hashes: memoryview
) -> tuple[Entries, Collection[str]]:
    """Sorted by the bytes of the ids, which is the order of their characters too."""
    import pyarrow.compute as pc

    texts = _texts(ids, bounds)
    order = pc.array_sort_indices(texts)  # keeps the order of equal ones
    texts = texts.take(order)
    is_again = np.zeros(len(texts), dtype=bool)
    is_again[1:] = pc.equal(texts.slice(0, len(texts) - 1), texts.slice(1)).to_numpy(False)
    taken = {str(text, "utf-8", "surrogatepass") for text in texts.filter(is_again).to_pylist()}
    if taken:
        texts, order = texts.filter(~is_again), order.filter(~is_again)
    rows = np.frombuffer(hashes, dtype=np.uint8).reshape(-1, ENTRY_BYTES)[order.to_numpy()]
    _, offsets, data = texts.buffers()
    starts = np.frombuffer(offsets, dtype=np.int64)[: len(texts) + 1]
    sorted_ids = memoryview(data).cast("B")[: starts[-1]]  # Arrow's bytes are signed
    return Entries(sorted_ids, starts, memoryview(rows.reshape(-1))), taken


def _texts(ids: memoryview, bounds: NDArray[np.int64]) -> Any:
    """An Arrow array over the same memory."""
    import pyarrow as pa

    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(ids)]
    return pa.Array.from_buffers(pa.large_binary(), len(bounds) - 1, buffers)
