"""Files of local models, and their digests.

A home keeps them in one JSON file. Everything in it can be computed again, so a damaged file counts
as empty, and a file that cannot be written is no error.
"""

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from raptor_core.disk import replace_file
from raptor_core.errors import ModelError
from raptor_core.settings.base import ChatPart
from raptor_core.settings.models import Settings

_MAGIC = b"GGUF"
_digests: dict[str, str] = {}
"""SHA-256 of files by path, size and time of the last change, in this process."""


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


def read_digests(records: Path | None) -> dict[str, Any]:
    """Return the kept digests by the state of their file; empty if there are none."""
    if records is None:
        return {}
    try:
        return dict(json.loads(records.read_text(encoding="utf-8"))["digests"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return {}


def _keep_digest(records: Path | None, key: str, digest: str) -> None:
    """Add a digest to the file of records, if its folder exists."""
    if records is None or not records.parent.is_dir():
        return
    with suppress(OSError):
        values = {"digests": {**read_digests(records), key: digest}}
        replace_file(records, json.dumps(values, indent=1).encode())


def digest_of(path: Path, records: Path | None = None) -> str:
    """Return the SHA-256 of a file; it is read only if it is new or changed."""
    state = path.stat()
    key = f"{path.absolute()} {state.st_size} {state.st_mtime_ns}"
    if key not in _digests:
        kept = read_digests(records).get(key)
        if not isinstance(kept, str):
            with path.open("rb") as file:
                kept = hashlib.file_digest(file, "sha256").hexdigest()
            _keep_digest(records, key, kept)
        _digests[key] = kept
    return _digests[key]


Chat = TypeVar("Chat", bound=ChatPart)


def identify(part: Chat) -> Chat:
    """Return the settings of a chat model; a local one gets its file's SHA-256, or a ModelError."""
    if not part.is_local:
        return part
    require_file(part.model, f"{part.purpose}.model")
    return _with_digest(part)


def _with_digest(part: Chat, records: Path | None = None) -> Chat:
    if part.sha256:
        return part
    return part.model_copy(update={"sha256": digest_of(Path(part.model).expanduser(), records)})


def resolve_models(settings: Settings, records: Path | None = None) -> Settings:
    """Return the settings with the SHA-256 of each readable local model that names none."""
    parts: dict[str, ChatPart] = {}
    for name in ("summarizer", "reader", "audit"):
        part: ChatPart = getattr(settings, name)
        if part.is_local:
            with suppress(OSError):
                parts[name] = _with_digest(part, records)
    return settings.model_copy(update=parts) if parts else settings
