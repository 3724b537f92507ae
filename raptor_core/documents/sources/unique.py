"""Documents by id: the first of an id counts, every other is reported."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from raptor_core.documents.base import Document, Entry, Skipped

Item = TypeVar("Item", Document, Entry)


class Unique(Generic[Item]):
    """Collects documents, or entries of documents."""

    def __init__(self, skipped: list[Skipped]) -> None:
        """``skipped`` takes what is left out."""
        self._skipped = skipped
        self._found: dict[str, tuple[Item, str]] = {}

    def add(self, named: Iterable[tuple[str, Item]], path: str) -> None:
        """Add documents by name, all from one path."""
        for name, document in named:
            self.take(name, document, path)

    def take(self, name: str, document: Item, path: str) -> bool:
        """Add one document; whether it is the first of its id."""
        first, place = self._found.setdefault(document.id, (document, path))
        if first is not document:
            self._skipped.append(Skipped(name, _clash(first, place, document)))
        return first is document

    def ordered(self) -> tuple[Item, ...]:
        """What was kept, ordered by id."""
        return tuple(self._found[key][0] for key in sorted(self._found))


def _clash(first: Item, place: str, second: Item) -> str:
    same = "the same text" if first.content_hash == second.content_hash else "another document"
    return f"its id {second.id!r} is taken, by {same} in {place}; ids must be unique in a corpus"
