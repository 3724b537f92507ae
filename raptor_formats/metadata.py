"""Values of metadata: texts, booleans, numbers, ISO dates, and lists of them."""

import math
from collections.abc import Mapping
from typing import Any

from raptor_formats.base import MetadataScalar, MetadataValue
from raptor_formats.text import clean_text, one_line

_BIGGEST_INTEGER = 2**63 - 1


def to_metadata_values(values: Mapping[Any, Any]) -> dict[str, MetadataValue]:
    """Return the values that metadata can contain.

    These are texts, booleans, finite numbers, ISO dates, and lists of them.
    """
    pairs = ((clean_text(str(key)), _to_value(value)) for key, value in values.items())
    return {key: value for key, value in pairs if value not in (None, ())}


def _to_value(value: object) -> MetadataValue | None:
    if not isinstance(value, list | tuple):
        return _to_scalar(value)
    return tuple(item for item in map(_to_scalar, value) if item is not None)


def _to_scalar(value: object) -> MetadataScalar | None:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, int):  # or a boolean; stores cannot index larger integers
        return value if abs(value) <= _BIGGEST_INTEGER else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    moment = getattr(value, "isoformat", None)
    return str(moment()) if moment else None


def clean_metadata(metadata: Mapping[str, MetadataValue]) -> dict[str, MetadataValue]:
    """Fold each text to one line; drop blank texts and empty lists."""
    clean = {key: _clean_value(value) for key, value in metadata.items()}
    return {key: value for key, value in clean.items() if value not in ("", ())}


def _clean_value(value: MetadataValue) -> MetadataValue:
    if isinstance(value, tuple):
        items = (one_line(item) if isinstance(item, str) else item for item in value)
        return tuple(item for item in items if item != "")
    return one_line(value) if isinstance(value, str) else value
