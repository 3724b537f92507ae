"""Front matter of Markdown, in YAML between ``---`` or TOML between ``+++``: no text."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from raptor_core.documents.base import READERS, MetadataScalar, MetadataValue
from raptor_core.documents.formats.parsed import clean_metadata
from raptor_core.documents.formats.records import metadata_values

_YAML = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_INTEGER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})\Z")
_FLOAT = re.compile(r"-?(?:0|[1-9]\d*)\.\d+\Z")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


def read_front_matter(text: str) -> tuple[dict[str, MetadataValue], int]:
    """Return the values in the front matter, and its length in characters; 0 without any.

    Lists stay lists. A value in a table of values has the key "table.key". A block that is no
    mapping is no front matter.

    Raises:
        UnreadableError: the readers are malformed.
    """
    for pattern, load in ((_YAML, _load_yaml), (_TOML, _load_toml)):
        block = pattern.match(text)
        values = load(block[1]) if block else None
        if block and isinstance(values, Mapping):
            flat = dict(_flat("", values))
            return clean_metadata(metadata_values(flat)), block.end()
    return {}, 0


def _load_yaml(text: str) -> object:
    """Return the value of YAML with scalars as they are written; None for other text."""
    import yaml

    try:
        values = yaml.load(text, getattr(yaml, "CBaseLoader", yaml.BaseLoader))  # noqa: S506
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return {} if values == "" or values is None else _typed(values)


def _load_toml(text: str) -> object:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def _typed(value: Any) -> Any:
    """Return a value of YAML with types for its scalars."""
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items() if isinstance(key, str)}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return _scalar(value)


def _scalar(raw: str) -> MetadataScalar | None:
    """Return a truth value, or a number whose digits say all that is written, else the text."""
    if raw in _NULLS:
        return None
    if raw.lower() in {"true", "false"}:
        return raw.lower() == "true"
    if _INTEGER.match(raw):
        return int(raw)
    if _FLOAT.match(raw) and str(float(raw)) == raw:
        return float(raw)
    return raw


def _flat(path: str, values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield values by key, those of nested mappings after the key of the mapping."""
    for key, value in values.items():
        name = f"{path}.{key}" if path else str(key)
        if name == READERS:
            yield name, "" if value is None else value  # a blank value is malformed
        elif isinstance(value, Mapping):
            yield from _flat(name, value)
        else:
            yield name, value
