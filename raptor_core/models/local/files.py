"""Files of local models: checking that they are GGUF files, and identifying them."""

import hashlib
import os
from pathlib import Path

from raptor_core.errors import ModelError
from raptor_core.settings.base import ChatModelSettings

_MAGIC = b"GGUF"
_READ_BYTES = 2**20
"""Number of bytes at the beginning and at the end of a file that identify it."""


def require_model_file(model: str, setting: str) -> Path:
    """Return the path of a model's file, or raise ModelError unless it is a GGUF file."""
    path = Path(model).expanduser()
    if not path.is_file():
        raise ModelError(
            f"{setting} is {model!r}, but there is no file {path.absolute()}; a local model needs "
            "the path of a GGUF file"
        )
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ModelError(f"{setting}: {path} is not a GGUF file; it does not begin with GGUF")
    return path


def digest_size_and_file_ends(model: str) -> str:
    """Return a digest of a file's size, first and last megabyte.

    Raises:
        OSError: the file cannot be read.
    """
    path = Path(model).expanduser()
    with path.open("rb") as file:
        n_bytes = file.seek(0, os.SEEK_END)
        file.seek(max(0, n_bytes - _READ_BYTES))
        end = file.read()
        file.seek(0)
        return hashlib.sha256(b"%d " % n_bytes + file.read(_READ_BYTES) + end).hexdigest()


def model_identity(part: ChatModelSettings) -> str:
    """Return what identifies a model in fingerprints: its name, or the digest of its local file.

    Raises:
        ModelError: the local file is missing, or is not a GGUF file.
    """
    if not part.is_local:
        return part.model
    require_model_file(part.model, f"{part.purpose}.model")
    return digest_size_and_file_ends(part.model)
