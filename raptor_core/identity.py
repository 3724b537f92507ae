"""Content keys, node ids and fingerprints, which make the tree a Merkle DAG.

A key depends on content and on the settings that change the result, never on a row number, a
position, a time or a machine. The same documents and settings give the same ids everywhere.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

NODE_NAMESPACE = uuid.UUID("5d0e7b0a-6a34-5c1b-9a55-1e8f3c2b7d61")


def digest(*parts: str) -> str:
    """Return SHA-256 over length-prefixed parts, as 32 hexadecimal characters (128 bits)."""
    hasher = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hasher.update(len(data).to_bytes(8, "big"))
        hasher.update(data)
    return hasher.hexdigest()[:32]


def fingerprint(kind: str, values: Mapping[str, Any]) -> str:
    """Return the fingerprint of settings that change a result, 32 hexadecimal characters.

    ``values`` must be JSON-serializable; the order of keys does not matter.
    """
    return digest(kind, json.dumps(values, sort_keys=True, ensure_ascii=False))


MAX_NAME_BYTES = 200
"""Maximum bytes of keys and file names: databases index keys, file systems end at 255 bytes."""

_KEPT_BYTES = 150


def shorten_name(name: str, kind: str, source: str) -> str:
    """Return ``name``, shortened to at most ``MAX_NAME_BYTES`` bytes of UTF-8.

    A longer name keeps its beginning and ends in "%~" and a digest of its ``source``.
    """
    if len(name.encode()) <= MAX_NAME_BYTES:
        return name
    return f"{name.encode()[:_KEPT_BYTES].decode(errors='ignore')}%~{digest(kind, source)}"


def percent_encode(text: str) -> str:
    """Return every byte of a text, lone surrogates included, as "%" and two digits."""
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))


_PLAIN = frozenset(" -_.,()=@+")


def safe_name(name: str) -> str:
    """Return a unique name for a folder, or for a file without its ending.

    Letters, digits and a few marks stay, in any script; everything else is percent-encoded, "%" and
    a leading point included.
    """
    safe = "".join(char if _is_safe(char) else percent_encode(char) for char in name) or "%"
    if safe[0] in ". ":
        safe = percent_encode(safe[0]) + safe[1:]
    return shorten_name(safe, "report", name)


def _is_safe(char: str) -> bool:
    return char in _PLAIN or unicodedata.category(char)[0] in "LNM"


def normalize_text(text: str) -> str:
    """Return NFC text with runs of white space folded to one space, stripped.

    Two chunks that differ only in white space have the same content key, so reflowing a paragraph
    costs nothing above the chunks.
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def leaf_content_key(text: str, occurrence: int, chunking_fingerprint: str) -> str:
    """Return the content key of a leaf.

    It depends on the normalized text, the occurrence among equal texts (from 0), and the chunking.
    """
    return digest("leaf", normalize_text(text), str(occurrence), chunking_fingerprint)


def summary_content_key(child_keys: Iterable[str], summarizer_fingerprint: str) -> str:
    """Return the content key of a summary.

    It depends on the children's content keys, as a set, and on the summarizer.
    """
    return digest("summary", *sorted(child_keys), summarizer_fingerprint)


def leaf_id(tree: str, document_id: str, content_key: str) -> str:
    """Return the UUIDv5 of tree, layer 0, document and content key, in canonical text form.

    The document is included because two documents of one tree may hold equal chunks, and each chunk
    is a separate node with its own span.
    """
    return _uuid(tree, "0", document_id, content_key)


def summary_id(tree: str, layer: int, content_key: str, occurrence: int = 0) -> str:
    """Return the UUIDv5 of tree, layer and content key, in canonical text form.

    ``occurrence`` numbers summaries of equal content in one layer (copies of one text in several
    documents), from 0.
    """
    return _uuid(tree, str(layer), content_key, str(occurrence))


def slot_id(tree: str, layer: int, child_keys: Iterable[str], occurrence: int = 0) -> str:
    """Return the UUIDv5 of a cluster: tree, layer of its summary, content keys of first members.

    ``occurrence`` numbers clusters of the same members, from 0.
    """
    return _uuid("slot", tree, str(layer), *sorted(child_keys), str(occurrence))


def _uuid(*parts: str) -> str:
    return str(uuid.uuid5(NODE_NAMESPACE, digest(*parts)))


def embedding_key(embedding_text: str, embedder_fingerprint: str) -> str:
    """Return the key of one vector: the exact text that the embedder reads, and the embedder."""
    return digest("embedding", embedding_text, embedder_fingerprint)
