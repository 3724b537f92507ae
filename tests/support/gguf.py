"""GGUF files without weights, for tests of what is read from a header."""

from __future__ import annotations

import struct
from pathlib import Path

CHAT = {"general.architecture": "llama", "general.name": "Tiny", "llama.context_length": 2048}
CHAT |= {"tokenizer.chat_template": "{{ messages }}"}


def write_gguf(path: Path, values: dict[str, object], version: int = 3) -> Path:
    """Write a header with texts, whole numbers and lists of texts."""
    data = b"GGUF" + struct.pack("<IQQ", version, 0, len(values))
    for name, value in values.items():
        data += _text(name) + _value(value)
    path.write_bytes(data)
    return path


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: object) -> bytes:
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    assert isinstance(value, list)
    return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))
