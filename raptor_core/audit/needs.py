"""What a sentence needs to find in its sources: words, numbers and names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from raptor_core.audit.terms import (
    Terms,
    Word,
    content_words,
    names,
    number_forms,
    numbers,
    pairs,
    word_forms,
    words,
)

_MARKER = re.compile(r"^\s*(?:\(?\d{1,3}[.):]|[-*•])\s+")


@dataclass(frozen=True, slots=True)
class Item:
    """Something that a sentence says: as written, and the forms of which a source holds one."""

    text: str
    forms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Needs:
    """What a sentence needs, each in order; ``text`` is the sentence without the mark of an item.

    ``content`` are its distinct content words, or pairs of characters in unspaced scripts; all its
    words are ``words``.
    """

    text: str
    words: tuple[Word, ...]
    content: tuple[Item, ...]
    numbers: tuple[Item, ...]
    names: tuple[Item, ...]

    @property
    def exact(self) -> tuple[Item, ...]:
        """What may not fall short by a share: numbers and names."""
        return self.numbers + self.names


def needs_of(sentence: str, *, with_names: bool) -> Needs:
    """What ``sentence`` needs; without names where capitals do not tell them."""
    text = _MARKER.sub("", sentence)
    found = words(text)
    content = {word.stem: Item(word.text, word_forms(word)) for word in content_words(found)}
    content |= {pair: Item(pair, frozenset({pair})) for pair in pairs(text)}
    called = names(text, found) if with_names else ()
    return Needs(
        text=text,
        words=tuple(found),
        content=tuple(content.values()),
        numbers=tuple(Item(number, number_forms(number)) for number in numbers(text)),
        names=tuple(Item(word.text, word_forms(word)) for word in called),
    )


def lacking(items: Iterable[Item], held: Terms) -> list[str]:
    """Those that a text does not hold, as written."""
    return [item.text for item in items if not held.supports(item.forms)]
