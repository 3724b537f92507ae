"""The documents of one file by their hashes, packed: some 40 bytes for each row of a table."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from raptor_core.documents.base import Entry

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
