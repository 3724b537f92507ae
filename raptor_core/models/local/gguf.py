"""Header of a GGUF file: name, context and chat template of a model, without loading it."""

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raptor_core.errors import ModelError

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_NUMBERS = dict(enumerate(("<B", "<b", "<H", "<h", "<I", "<i", "<f", "<?")))
_NUMBERS |= {10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True, slots=True)
class ModelHeader:
    """Facts of a chat model's file.

    Attributes:
        name: the model's name, else the name of its file.
        context_tokens: most tokens of prompt and answer together; 0 if the file names none.
    """

    name: str
    n_bytes: int
    context_tokens: int


def read_header(model: str, setting: str) -> ModelHeader:
    """Return the header of a model's file; raise ModelError unless it is a whole chat model."""
    path = Path(model).expanduser()
    if not path.is_file():
        raise ModelError(
            f"{setting} is {model!r}, and there is no file {path.absolute()}; a local model needs "
            "the path of a GGUF file"
        )
    values = _read_values(path, setting)
    if "tokenizer.chat_template" not in values:
        raise ModelError(
            f"{setting}: {path} has no chat template, so it is no chat model; take a file whose "
            'name says "instruct" or "chat"'
        )
    if values.get("split.count", 1) > 1:
        raise ModelError(
            f"{setting}: {path} is one of {values['split.count']} parts of a model; join them with "
            "llama.cpp's `llama-gguf-split --merge`"
        )
    context = values.get(f"{values.get('general.architecture')}.context_length", 0)
    name = str(values.get("general.name") or path.stem)
    return ModelHeader(name, path.stat().st_size, int(context))


def _read_values(path: Path, setting: str) -> dict[str, Any]:
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Reader(data).values()
    except OSError as error:
        raise ModelError(f"{setting}: {path} cannot be read: {error}") from error
    except (struct.error, ValueError, KeyError) as error:
        raise ModelError(
            f"{setting}: {path} is no GGUF file of version 2 or 3, or is damaged ({error}); fetch "
            "it again, and compare its SHA-256 with that of its source"
        ) from error


class _Reader:
    """Reader of the values in a header, from its beginning; lists are skipped."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = len(_MAGIC)

    def values(self) -> dict[str, Any]:
        """Return the values by name; raise struct.error, ValueError or KeyError if damaged."""
        if self._data[: len(_MAGIC)] != _MAGIC:
            raise ValueError("it does not begin with GGUF")
        if (version := self._number("<I")) not in _VERSIONS:
            raise ValueError(f"its version is {version}")
        self._number("<Q")  # the number of tensors
        return {self._text(): self._value(self._number("<I")) for _ in range(self._number("<Q"))}

    def _number(self, form: str) -> Any:
        (number,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return number

    def _text(self) -> str:
        n_bytes = self._number("<Q")
        text = self._data[self._at : self._at + n_bytes]
        if len(text) != n_bytes:
            raise ValueError("it ends in the middle of a text")
        self._at += n_bytes
        return text.decode("utf-8", "replace")

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._text()
        if kind != _ARRAY:
            return self._number(_NUMBERS[kind])
        kind, count = self._number("<I"), self._number("<Q")
        if kind in _NUMBERS:
            self._at += count * struct.calcsize(_NUMBERS[kind])
        elif kind == _STRING:
            for _ in range(count):
                n_bytes = self._number("<Q")
                self._at += n_bytes
        else:
            raise ValueError(f"a list has elements of type {kind}")
        return None
