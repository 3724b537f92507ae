"""Rows of a data set's file, which report wrong fields with the place of the row."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from raptor_core.errors import SourceError


@dataclass(frozen=True, slots=True)
class JsonRow:
    """JSON object of a file; a wrong field raises SourceError with its place and the remedy.

    ``where`` is that place: the file, the line, and the object in the line.
    """

    values: Mapping[str, Any]
    where: str
    remedy: str

    def read_text(self, key: str) -> str:
        """Return a field that must be a text."""
        value = self.values.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self.to_error(key, "a text", value)
        return value

    def read_text_or(self, key: str, default: str = "") -> str:
        """Return a field with a text, or ``default`` if it is missing, null or empty."""
        return default if self.values.get(key) in (None, "") else self.read_text(key)

    def read_texts(self, key: str) -> tuple[str, ...]:
        """Return the texts of a field (a text, a list or null), without blank ones."""
        value = self.values.get(key)
        listed = [value] if isinstance(value, str) else value or []
        if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
            raise self.to_error(key, "a text or a list of texts", value)
        return tuple(item for item in listed if item.strip())

    def read_whole_number(self, key: str, low: int, high: int) -> int | None:
        """Return a field with an integer within bounds, or None if it is missing or null."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, int | float) or value != int(value) or not low <= value <= high:
            raise self.to_error(key, f"a whole number from {low} to {high}", value)
        return int(value)

    def read_object(self, key: str) -> "JsonRow":
        """Return a field that must be an object."""
        value = self.values.get(key)
        if not isinstance(value, Mapping):
            raise self.to_error(key, "an object", value)
        return replace(self, values=value, where=f"{self.where}, {key}")

    def read_objects(self, key: str) -> "Iterator[JsonRow]":
        """Yield the objects of a field that must be a list of objects."""
        value = self.values.get(key)
        if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
            raise self.to_error(key, "a list of objects", value)
        for number, item in enumerate(value, 1):
            yield replace(self, values=item, where=f"{self.where}, {key} {number}")

    def to_error(self, key: str, expected: str, value: object) -> SourceError:
        """Make the error for a field with a wrong value."""
        came = "it is missing" if key not in self.values else f"got {value!r:.60}"
        return SourceError(f"{self.where}: expected {expected} as {key!r}, {came}; {self.remedy}")


def read_text(path: Path, remedy: str = "") -> str:
    """Read the text of a file; raise SourceError if it cannot be read, or is not UTF-8."""
    advice = f"; {remedy}" if remedy else ""
    try:
        return path.read_text(encoding="utf-8").removeprefix("\ufeff")
    except OSError as cause:
        raise SourceError(f"{path} cannot be read ({cause}){advice}") from cause
    except UnicodeDecodeError as cause:
        raise SourceError(
            f"{path} is not UTF-8 text ({cause}); save it as UTF-8{advice}"
        ) from cause


def read_rows(path: Path, remedy: str) -> Iterator[JsonRow]:
    """Read the objects of a JSON Lines file, without blank lines."""
    return parse_json_lines(path, read_text(path, remedy), remedy)


def parse_json_lines(path: Path, text: str, remedy: str) -> Iterator[JsonRow]:
    """Parse the objects of JSON Lines, without blank lines."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield parse_row(line, f"{path}, line {number}", remedy)


def parse_row(text: str, where: str, remedy: str) -> JsonRow:
    """Parse one JSON object."""
    try:
        values = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as cause:
        raise SourceError(f"{where}: it is not JSON ({cause}); {remedy}") from cause
    if not isinstance(values, Mapping):
        raise SourceError(f"{where}: expected an object, got {text.strip()[:40]!r}; {remedy}")
    return JsonRow(values, where, remedy)
