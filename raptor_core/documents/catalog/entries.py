"""Entries of documents in packed form: those of a file, and those of a corpus in few buffers."""

from __future__ import annotations

import hashlib
import json
import zlib
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from raptor_core.documents.base import Entry

if TYPE_CHECKING:
    from numpy.typing import NDArray

ENTRY_BYTES = 2 * 16
"""Bytes of a content hash and a version."""

_LONG = 500
"""Bytes above which compression saves memory."""

_ONE, _PLAIN, _COMPRESSED = b"1", b"p", b"z"


@dataclass(frozen=True, slots=True)
class FileEntries:
    """Ids, names and hashes of a file's documents, in the order of the file.

    ``names`` is empty if they equal the ids. ``hashes`` takes ``ENTRY_BYTES`` for each document.
    """

    ids: bytes = b""
    names: bytes = b""
    hashes: bytes = b""

    @classmethod
    def of(cls, named: Iterable[tuple[str, Entry]]) -> FileEntries:
        """Pack entries, each with the name of its place."""
        listed = list(named)
        names, ids = [name for name, _ in listed], [entry.id for _, entry in listed]
        hashes = "".join(entry.content_hash + entry.version for _, entry in listed)
        packed = b"" if names == ids else _pack(names)
        return cls(_pack(ids) if ids else b"", packed, bytes.fromhex(hashes))

    def __len__(self) -> int:
        return len(self.hashes) // ENTRY_BYTES

    def __iter__(self) -> Iterator[tuple[str, Entry]]:
        """Yield each entry with the name of its place."""
        ids = self.list_ids()
        names = _unpack(self.names) if self.names else ids
        for at, (name, document_id) in enumerate(zip(names, ids, strict=True)):
            yield name, unpack_entry(document_id, self.hashes, at)

    def list_ids(self) -> list[str]:
        """Return the ids of the documents."""
        return _unpack(self.ids) if self.ids else []


def unpack_entry(document_id: str, hashes: bytes | memoryview, at: int) -> Entry:
    """Return entry ``at`` of ``hashes``, from 0."""
    text = hashes[at * ENTRY_BYTES : (at + 1) * ENTRY_BYTES].hex()
    return Entry(document_id, text[:ENTRY_BYTES], text[ENTRY_BYTES:])


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
    """Entries ordered by id, unpacked at each access.

    ``ids`` are the joined bytes of all ids, ``bounds`` their starts and the last end, shape
    ``(n + 1,)``, int64.
    """

    def __init__(self, ids: memoryview, bounds: NDArray[np.int64], hashes: memoryview) -> None:
        self._ids = ids
        self._bounds = bounds.data  # its items are Python's integers
        self._hashes = hashes

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Entries:
        """Return the first entry of each id."""
        collector = EntryCollector()
        collector.add(FileEntries.of((entry.id, entry) for entry in entries))
        return collector.ordered()[0]

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def __getitem__(self, at: int) -> Entry:  # type: ignore[override]  # nobody slices entries
        place = range(len(self))[at]
        return unpack_entry(self._id(place), self._hashes, place)

    def __iter__(self) -> Iterator[Entry]:
        for at, document_id in enumerate(self.ids()):
            yield unpack_entry(document_id, self._hashes, at)

    def __eq__(self, right: object) -> bool:
        if not isinstance(right, Entries):
            return NotImplemented
        equal_ids = self._bounds == right._bounds and self._ids == right._ids
        return equal_ids and self._hashes == right._hashes

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Entries of {len(self)} documents"

    def ids(self) -> Iterator[str]:
        """Yield the ids in order."""
        return map(self._id, range(len(self)))

    @property
    def digest(self) -> str:
        """Digest of all versions, 32 hexadecimal characters."""
        return hashlib.sha256(self._hashes).hexdigest()[:32]

    def _id(self, at: int) -> str:
        encoded = self._ids[self._bounds[at] : self._bounds[at + 1]]
        return str(encoded, "utf-8", "surrogatepass")


class EntryCollector:
    """Collector of the entries of many files."""

    def __init__(self) -> None:
        self._ids = bytearray()
        self._lengths = array("q")
        self._hashes = bytearray()

    def add(self, entries: FileEntries) -> None:
        """Add the documents of a file."""
        self._hashes += entries.hashes
        if entries.ids[:1] == _ONE:
            self._ids += entries.ids[1:]
            self._lengths.append(len(entries.ids) - 1)
            return
        ids = entries.list_ids()
        text = "".join(ids).encode("utf-8", "surrogatepass")
        self._ids += text
        if text.isascii():
            self._lengths.extend(map(len, ids))
        else:
            self._lengths.extend(len(i.encode("utf-8", "surrogatepass")) for i in ids)

    def ordered(self) -> tuple[Entries, Collection[str]]:
        """Return the first entry of each id, ordered by id, and the ids that occur repeatedly."""
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
    """Sort by the bytes of the ids, which is also the order of their characters."""
    import pyarrow.compute as pc

    texts = _texts(ids, bounds)
    order = pc.array_sort_indices(texts)  # a stable sort
    texts = texts.take(order)
    is_repeated = np.zeros(len(texts), dtype=bool)
    is_repeated[1:] = pc.equal(texts.slice(0, len(texts) - 1), texts.slice(1)).to_numpy(False)
    repeated = texts.filter(is_repeated).to_pylist()
    if repeated:
        texts, order = texts.filter(~is_repeated), order.filter(~is_repeated)
    rows = np.frombuffer(hashes, dtype=np.uint8).reshape(-1, ENTRY_BYTES)[order.to_numpy()]
    _, offsets, data = texts.buffers()
    starts = np.frombuffer(offsets, dtype=np.int64)[: len(texts) + 1]
    sorted_ids = memoryview(data).cast("B")[: starts[-1]]  # Arrow's bytes are signed
    entries = Entries(sorted_ids, starts, memoryview(rows.reshape(-1)))
    return entries, {str(text, "utf-8", "surrogatepass") for text in repeated}


def _texts(ids: memoryview, bounds: NDArray[np.int64]) -> Any:
    """Return an Arrow array of the ids between ``bounds``, without copying them."""
    import pyarrow as pa

    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(ids)]
    return pa.Array.from_buffers(pa.large_binary(), len(bounds) - 1, buffers)
