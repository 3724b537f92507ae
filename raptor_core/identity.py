"""Content keys, node ids and fingerprints, which make the tree a Merkle DAG.

A key depends on content and on the settings that change the result, never on a row number, a
position, a time or a machine. The same documents and settings give the same ids everywhere.
"""

import hashlib
import json
import re
import unicodedata
import uuid
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

NODE_NAMESPACE = uuid.UUID("5d0e7b0a-6a34-5c1b-9a55-1e8f3c2b7d61")


def digest(*parts: str) -> str:
    """Return the first 128 bits of SHA-256 over length-prefixed parts, as 32 hex characters."""
    hasher = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hasher.update(len(data).to_bytes(8, "big"))
        hasher.update(data)
    return hasher.hexdigest()[:32]


def fingerprint(kind: str, values: Mapping[str, Any]) -> str:
    """Return the fingerprint of settings that change a result, as 32 hexadecimal characters.

    ``values`` must be JSON-serializable; the order of keys does not matter.
    """
    return digest(kind, json.dumps(values, sort_keys=True, ensure_ascii=False))


MAX_ID_BYTES = 1024
"""Maximum bytes of document ids and tree names in UTF-8, the limit of object storages, too."""

MAX_NAME_BYTES = 200
"""Maximum bytes of partition keys, which databases index."""

_KEPT_BYTES = 150


def to_nfc(name: str) -> str:
    """Return a name in the Unicode form NFC, in which names are compared.

    Disks may store another form, such as "u" and a combining diaeresis for "ü".
    """
    return unicodedata.normalize("NFC", name)


def n_bytes(text: str) -> int:
    """Return the length of a text in bytes of UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def shorten_name(name: str, kind: str, source: str, max_bytes: int = MAX_NAME_BYTES) -> str:
    """Return ``name``, shortened to at most ``max_bytes`` bytes of UTF-8.

    A longer name keeps its beginning and ends in "%~" and a digest of its ``source``.
    ``max_bytes`` must be 200 or more.
    """
    if n_bytes(name) <= max_bytes:
        return name
    return f"{name.encode()[:_KEPT_BYTES].decode(errors='ignore')}%~{digest(kind, source)}"


def percent_encode(text: str) -> str:
    """Encode every byte of a text, even of lone surrogates, as "%" and two digits."""
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))


_PLAIN_NAME = re.compile(r"[a-z0-9_/(=@+-](?:[a-z0-9 _/.,()=@+-]*[a-z0-9_/,()=@+-])?")
"""Names that stay distinct on every disk, even if it ignores case or Unicode forms."""

_UNSAFE = re.compile(r"\A[. ]+|[^\w .,()=@+-]")

_RESERVED = re.compile(
    r"index|(con|prn|aux|nul|(com|lpt)[0-9\u00b9\u00b2\u00b3])(\..*)?", re.IGNORECASE
)
"""Reserved names: "index", which is the page of a corpus, and devices of Windows."""

MAX_FILE_NAME_BYTES = 130
"""Maximum bytes of file names without extension; encrypted shares allow 143 bytes with it."""

_KEPT_FILE_NAME_BYTES = 96


@lru_cache(maxsize=1 << 14)
def safe_name(name: str) -> str:
    """Return a safe file or folder name without extension; different names stay different.

    They also differ on disks that ignore case (Windows, macOS) or Unicode forms. A name of lower
    case ASCII letters, digits and some punctuation is kept, with "%2f" for "/". Any other name
    keeps its beginning and ends in "%~" and a digest. A result has at most ``MAX_FILE_NAME_BYTES``.
    """
    safe = name.replace("/", "%2f")
    is_plain = _PLAIN_NAME.fullmatch(name) and not _RESERVED.fullmatch(safe)
    if is_plain and len(safe) <= MAX_FILE_NAME_BYTES:
        return safe
    kept = _UNSAFE.sub("_", name).encode()[:_KEPT_FILE_NAME_BYTES].decode(errors="ignore")
    device = "_" if _RESERVED.fullmatch(kept) else ""
    return f"{device}{kept}%~{digest('file name', name)}"


def normalize_text(text: str) -> str:
    """Normalize text to NFC with single spaces, so that reflowed paragraphs keep content keys."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def leaf_content_key(text: str, occurrence: int, chunking_fingerprint: str) -> str:
    """Return the content key of a leaf; ``occurrence`` numbers equal texts from 0."""
    return digest("leaf", normalize_text(text), str(occurrence), chunking_fingerprint)


def summary_content_key(child_keys: Iterable[str], summarizer_fingerprint: str) -> str:
    """Return the content key of a summary, which ignores the order of the children."""
    return digest("summary", *sorted(child_keys), summarizer_fingerprint)


FALLBACK = "fallback"
"""Mark of a summary that quotes its children because the model gave no usable answer."""

CUT_OFF = "cut_off"
"""Mark of a summary made of a cut-off answer's complete sentences, or made in parts."""

REPLACED = "replaced"
"""Mark of a summary that quotes its children because the answer had invented facts."""

INVENTED = "invented"
"""Mark of the key that caches an answer with invented facts until there is a better one."""

KEPT_MARKS = (CUT_OFF, REPLACED)
"""Marks of texts that later builds keep; a ``FALLBACK`` is replaced by asking the model again."""

QUOTED = frozenset({FALLBACK, REPLACED})
"""Marks of summaries that quote their children although a model writes the layer."""


def marked_content_key(content_key: str, mark: str) -> str:
    """Return the content key of a summary whose text has a mark, such as "fallback".

    It differs from ``content_key``, so the summaries above are written again when the mark goes.
    """
    return digest("marked", mark, content_key)


def leaf_id(tree: str, document_id: str, content_key: str) -> str:
    """Return a leaf's id: the UUIDv5 of tree, layer 0, document and content key.

    The document is included because documents of a tree may contain equal chunks.
    """
    return _uuid(tree, "0", document_id, content_key)


def summary_id(tree: str, layer: int, content_key: str, occurrence: int = 0) -> str:
    """Return a summary's id: the UUIDv5 of tree, layer and content key.

    ``occurrence`` numbers summaries of equal content in a layer from 0.
    """
    return _uuid(tree, str(layer), content_key, str(occurrence))


def slot_id(tree: str, layer: int, child_keys: Iterable[str], occurrence: int = 0) -> str:
    """Return a cluster's id: the UUIDv5 of its tree, its summary's layer, and its first members.

    ``child_keys`` are the content keys of the members that it had when it was first made.
    ``occurrence`` numbers clusters of the same members from 0.
    """
    return _uuid("slot", tree, str(layer), *sorted(child_keys), str(occurrence))


def _uuid(*parts: str) -> str:
    return str(uuid.uuid5(NODE_NAMESPACE, digest(*parts)))


def embedding_key(embedding_text: str, embedder_fingerprint: str) -> str:
    """Return the key of a vector, which depends on the exact embedded text and on the embedder."""
    return digest("embedding", embedding_text, embedder_fingerprint)
