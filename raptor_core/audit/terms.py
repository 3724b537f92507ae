"""Content words, numbers and names of a text, and which of them a sentence needs in its sources.

All are folded, so that equal things compare equal.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from raptor_core.models.summarizing.sentence import STOPWORDS

# Scripts without spaces, and Korean with its particles: a pair of characters stands for a word.
_PAIRED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff"
)
# Marks are part of words in Indic and Semitic scripts, and no letters to `\w`.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0d7f"
_WORD = re.compile(rf"[^\W\d_{_PAIRED}](?:[^\W\d_{_PAIRED}]|[{_MARKS}\u00ad]|['’‘](?=[^\W\d_]))*")
_PAIRED_RUN = re.compile(rf"[{_PAIRED}]+")
_NUMBER = re.compile(r"\d+(?:[.,\u066b\u066c\u00a0\u202f'’]\d+)*")
_GROUPED = re.compile(r"\d{1,3}(?:[,.\u066c\u00a0\u202f'’]\d{3})+")
_APOSTROPHE = re.compile("['’‘]")
_POSSESSIVE = re.compile(r"['’‘]s$")
# A capital after these begins a sentence, a quotation or an item, and says nothing.
_OPENING = re.compile(r"(?:^|[.!?:;…\n\"“”‘«»(\[•*#>|/—–-])[\s\"“‘'(\[*_#]*$")
_OPENING_REACH = 6
_MAX_HEADING = 0.6
_ENDINGS = (("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("ly", ""), ("es", ""), ("s", ""))
_MIN_ACRONYM = 3

MAX_CAPITALS = 0.2
"""In a text where more of the content words carry a capital, as in German, it tells no name."""

_VALUES = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
    "hundred": 100, "thousand": 1000, "dozen": 12, "once": 1, "twice": 2, "first": 1, "second": 2,
    "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "half": 2, "both": 2,
}  # fmt: skip


class Word(NamedTuple):
    """A word where it stands: as written, folded, whether a function word, first character."""

    text: str
    stem: str
    is_function: bool
    start: int


@dataclass(frozen=True, slots=True)
class Terms:
    """What a text can support.

    Attributes:
        forms: stems of words, pairs of characters of unspaced scripts, and "#" with the value of
            each number.
        initials: of all words, and of content words, for which an acronym may stand.
        capitals: share of content words that carry a capital like a name does.
    """

    forms: frozenset[str]
    initials: str = ""
    capitals: float = 0.0

    def supports(self, wanted: frozenset[str]) -> bool:
        """Whether it holds one of the forms ``wanted``, as ``word_forms`` gives them."""
        if not wanted.isdisjoint(self.forms):
            return True
        return any(form[0] == "~" and form[1:] in self.initials for form in wanted)


@lru_cache(maxsize=1024)  # a node may stand under several summaries
def terms(text: str) -> Terms:
    """Everything that ``text`` can support."""
    all_words = words(text)
    content = content_words(all_words)
    forms = {word.stem for word in all_words}
    forms.update(f"#{_NUMBER_WORDS[stem]}" for stem in forms & _NUMBER_WORDS.keys())
    forms.update(pairs(text), *map(number_forms, numbers(text)))
    initials = " ".join("".join(word.stem[0] for word in chosen) for chosen in (all_words, content))
    n_capitals = sum(_is_name(text, word) for word in content)
    return Terms(frozenset(forms), initials, n_capitals / len(content) if content else 0.0)


def union(parts: Sequence[Terms]) -> Terms:
    """What several texts support together; ``capitals`` is their mean."""
    capitals = sum(part.capitals for part in parts) / len(parts) if parts else 0.0
    forms: frozenset[str] = frozenset().union(*(part.forms for part in parts))
    return Terms(forms, " ".join(part.initials for part in parts), capitals)


def word_forms(word: Word) -> frozenset[str]:
    """The forms of which a child must hold one to support ``word``."""
    forms = {word.stem}
    if word.stem in _NUMBER_WORDS:
        forms.add(f"#{_NUMBER_WORDS[word.stem]}")
    if len(word.text) >= _MIN_ACRONYM and word.text.isupper():
        forms.add(f"~{word.text.casefold()}")
    return frozenset(forms)


def number_forms(number: str) -> frozenset[str]:
    """The forms of which a child must hold one to support ``number``."""
    return frozenset(f"#{value}" for value in readings(number))


def words(text: str) -> list[Word]:
    """Words of spaced scripts, in order."""
    return [Word(m[0], *_folded(m[0]), m.start()) for m in _WORD.finditer(text)]


def content_words(all_words: list[Word]) -> list[Word]:
    """The words that say what a text is about."""
    return [word for word in all_words if not word.is_function and len(word.stem) > 1]


def pairs(text: str) -> Iterator[str]:
    """Neighbouring characters of unspaced scripts, which stand for words; a lone one as it is."""
    for run in _PAIRED_RUN.findall(text):
        yield from (run[i : i + 2] for i in range(max(1, len(run) - 1)))


def numbers(text: str) -> list[str]:
    """Numbers as they are written in digits, in order."""
    return _NUMBER.findall(text)


def readings(number: str) -> set[str]:
    """The values that ``number`` may have, as canonical decimals.

    "1,000" is 1000; "1.000" is 1000 or 1, as the writer's country has it.
    """
    digits = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in number)
    values = set()
    if _GROUPED.fullmatch(digits):
        values.add(_canonical(re.sub(r"\D", "", digits)))
    groups = re.split(r"\D", digits)
    separators = set(re.findall(r"\D", digits))
    if len(groups) == 1 or (len(groups) == 2 and separators & {".", ",", "\u066b"}):
        values.add(_canonical(".".join(groups)))
    elif len(separators) > 1:  # "1,234.56": the last one is the decimal sign
        values.add(_canonical("".join(groups[:-1]) + "." + groups[-1]))
    return values or {digits}


def _canonical(decimal: str) -> str:
    whole, _, fraction = decimal.partition(".")
    fraction = fraction.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{fraction}" if fraction else "")


def names(text: str, all_words: list[Word]) -> list[Word]:
    """Words that carry a capital for another reason than where they stand, in order.

    A heading, with a capital on most words, gives none: there a capital tells no name.
    """
    cased = [
        word for word in all_words if len(word.text) > 3 and word.text.upper() != word.text.lower()
    ]
    n_capitals = sum(word.text[0].isupper() for word in cased)
    if len(all_words) > 2 and n_capitals > _MAX_HEADING * len(cased):
        return []
    return [word for word in all_words if _is_name(text, word)]


def _is_name(text: str, word: Word) -> bool:
    if len(word.text) < 2 or not word.text[0].isupper():
        return False
    if any(c.isupper() for c in word.text[1:]):
        return True
    if word.is_function or word.stem in _NUMBER_WORDS:
        return False
    return not _OPENING.search(text[max(0, word.start - _OPENING_REACH) : word.start])


@lru_cache(maxsize=65_536)
def _folded(word: str) -> tuple[str, bool]:
    """Stem, without case, possessive and common English endings; whether a function word."""
    bare = unicodedata.normalize("NFC", word).casefold().replace("\u00ad", "")
    is_function = _APOSTROPHE.split(bare)[0] in STOPWORDS
    bare = _POSSESSIVE.sub("", bare)
    return (_stem(bare) if bare.isascii() else bare), is_function


def _stem(word: str) -> str:
    """One form for the inflections of a regular English word; meant for comparing only."""
    if not word.endswith("ss"):
        for ending, instead in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) > 2:
                word = word[: -len(ending)] + instead
                break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


# After the stemmer, since number words are looked up by stem.
_NUMBER_WORDS = {_stem(word): str(value) for word, value in _VALUES.items()}


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


def needs_of(sentence: str, sources: Terms) -> Needs:
    """What ``sentence`` needs; without names where the capitals of its sources do not tell them."""
    text = _MARKER.sub("", sentence)
    all_words = words(text)
    content = {word.stem: Item(word.text, word_forms(word)) for word in content_words(all_words)}
    content |= {pair: Item(pair, frozenset({pair})) for pair in pairs(text)}
    called = names(text, all_words) if sources.capitals <= MAX_CAPITALS else ()
    return Needs(
        text=text,
        words=tuple(all_words),
        content=tuple(content.values()),
        numbers=tuple(Item(number, number_forms(number)) for number in numbers(text)),
        names=tuple(Item(word.text, word_forms(word)) for word in called),
    )


def lacking(items: Iterable[Item], held: Terms) -> list[str]:
    """Those that a text does not hold, as written."""
    return [item.text for item in items if not held.supports(item.forms)]
