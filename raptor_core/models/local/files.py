"""Files of local models: whether they are GGUF files, and what tells two of them apart."""

import hashlib
import os
from pathlib import Path

from raptor_core.errors import ModelError
from raptor_core.settings.base import ChatPart

_MAGIC = b"GGUF"
_READ_BYTES = 2**20
"""Bytes of a file's beginning, and of its end, that count."""


def require_file(model: str, setting: str) -> Path:
    """Return the path of a model's file; raise ModelError unless it is a GGUF file."""
    path = Path(model).expanduser()
    if not path.is_file():
        raise ModelError(
            f"{setting} is {model!r}, and there is no file {path.absolute()}; a local model needs "
            "the path of a GGUF file"
        )
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ModelError(f"{setting}: {path} is no GGUF file; it does not begin with GGUF")
    return path


def digest_of(model: str) -> str:
    """Return the digest of a file's size, first and last megabyte; raise OSError without it."""
    path = Path(model).expanduser()
    with path.open("rb") as file:
        n_bytes = file.seek(0, os.SEEK_END)
        file.seek(max(0, n_bytes - _READ_BYTES))
        end = file.read()
        file.seek(0)
        return hashlib.sha256(b"%d " % n_bytes + file.read(_READ_BYTES) + end).hexdigest()


def identity_of(part: ChatPart) -> str:
    """Return a model's name, or the digest of a local one's file, which has to be there."""
    if not part.is_local:
        return part.model
    require_file(part.model, f"{part.purpose}.model")
    return digest_of(part.model)
