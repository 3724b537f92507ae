"""Front matter: simple ``key: value`` lines between two ``---`` at the head of a text."""

from __future__ import annotations

import math
import re

from raptor_core.documents.base import MetadataValue

_BLOCK = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_PAIR = re.compile(r"^([A-Za-z_][\w .-]*?)[ \t]*:[ \t]+(\S.*?)[ \t]*$", re.MULTILINE)
_COMMENT = re.compile(r"[ \t]#.*\Z")
_NESTED = ("[", "{", "|", ">", "&", "*", "!")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})\Z")
_FLOAT = re.compile(r"[-+]?\d+\.\d*(?:[eE][-+]?\d+)?\Z")


def read_front_matter(text: str) -> tuple[dict[str, MetadataValue], int]:
    """Scalar entries of the front matter, and the characters that it takes (0 without one).

    Lists, mappings and block texts are left out: metadata holds single values.
    """
    block = _BLOCK.match(text)
    if block is None:
        return {}, 0
    pairs = _PAIR.findall(block.group(1))
    values = {key: _scalar(raw) for key, raw in pairs if not raw.startswith(_NESTED)}
    return values, block.end()


def _scalar(raw: str) -> MetadataValue:
    if len(raw) >= 2 and raw[0] == raw[-1] and raw[0] in "'\"":
        return raw[1:-1]
    value = _COMMENT.sub("", raw).strip()
    if value.lower() in {"true", "false"}:
        return value.lower() == "true"
    if _INTEGER.match(value):
        return int(value)
    if _FLOAT.match(value) and math.isfinite(float(value)):
        return float(value)
    return value
