"""Content words, numbers, names and codes of a text, and those that a sentence needs.

All but codes are folded, so that equal terms compare equal.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from raptor_core.models.summarizing.sentence import STOPWORDS, UNSPACED

# Scripts without spaces, and Korean with its particles: a pair of characters counts as a word.
_PAIRED = f"{UNSPACED}\uac00-\ud7a3"
# Marks are part of words in Indic and Semitic scripts, but `\w` does not match them.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0d7f"
_WORD = re.compile(rf"[^\W\d_{_PAIRED}](?:[^\W\d_{_PAIRED}]|[{_MARKS}\u00ad]|['’‘](?=[^\W\d_]))*")
_PAIRED_RUN = re.compile(rf"[{_PAIRED}]+")
_NUMBER = re.compile(r"\d+(?:[.,\u066b\u066c\u00a0\u202f'’]\d+)*")
_GROUPED = re.compile(r"\d{1,3}(?:[,.\u066c\u00a0\u202f'’]\d{3})+")
_CODE = re.compile(
    r"(?:https?://|\bwww\.)[^\s<>\"'`)\]}]*[^\s<>\"'`)\]}.,;:!?]"
    r"|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w.])v?\d+(?:\.\d+){2,}(?!\w)"
    r"|(?<!\w)[A-Z][A-Za-z]*-\d\w*(?:-\w+)*"
    r"|(?<!\w)\w*[^\W\d_]\d\w*"
    r"|(?<!\w)[^\W_]+(?:_[^\W_]+)+"
)
"""Addresses, versions and identifiers, such as E-1047 or max_tokens."""
_APOSTROPHE = re.compile("['’‘]")
_POSSESSIVE = re.compile(r"['’‘]s$")
# A capital after these begins a sentence, a quotation or an item, and marks no name.
_OPENING = re.compile(r"(?:^|[.!?:;…\n\"“”‘«»(\[•*#>|/—–-])[\s\"“‘'(\[*_#]*$")
_OPENING_REACH = 6
_MAX_HEADING = 0.6
_PLURALS = (("ies", "i"), ("es", "e"), ("s", ""))
_NO_PLURALS = ("ss", "us", "sis")
_ENDINGS = (("ied", "i"), ("ing", ""), ("ed", ""), ("li", ""))
_Y = re.compile(r"(?<=[^aeiou])y$")
_MIN_ACRONYM = 3
MAX_CAPITALS = 0.2
"""Maximum share of content words with a capital; above it, as in German, capitals mark no names."""

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
    """Word with its text, folded stem, kind (function word or not), and first character."""

    text: str
    stem: str
    is_function: bool
    start: int


@dataclass(frozen=True, slots=True)
class SupportedTerms:
    """Terms that a text can support.

    Attributes:
        forms: stems of words, pairs of characters of unspaced scripts, "#" with the value of each
            number, and "=" with each code.
        initials: initials of all words, and of content words, for acronyms.
        capitals: share of content words with a capital that marks a name.
    """

    forms: frozenset[str]
    initials: str = ""
    capitals: float = 0.0

    def supports(self, forms: frozenset[str]) -> bool:
        """Return whether the text holds one of these forms; see ``word_forms``."""
        if not forms.isdisjoint(self.forms):
            return True
        return any(form[0] == "~" and form[1:] in self.initials for form in forms)


@lru_cache(maxsize=1024)  # a node may have several parents
def terms(text: str) -> SupportedTerms:
    """Return everything that ``text`` can support."""
    all_words = words(text)
    content = content_words(all_words)
    forms = {word.stem for word in all_words}
    forms.update(f"#{_NUMBER_WORDS[stem]}" for stem in forms & _NUMBER_WORDS.keys())
    forms.update(pairs(text), *map(number_forms, numbers(text)), *map(code_forms, codes(text)))
    initials = " ".join("".join(word.stem[0] for word in group) for group in (all_words, content))
    n_capitals = sum(_is_name(text, word) for word in content)
    return SupportedTerms(frozenset(forms), initials, n_capitals / len(content) if content else 0.0)


def union(parts: Sequence[SupportedTerms]) -> SupportedTerms:
    """Return the terms that several texts support together; ``capitals`` is their mean."""
    capitals = sum(part.capitals for part in parts) / len(parts) if parts else 0.0
    forms: frozenset[str] = frozenset().union(*(part.forms for part in parts))
    return SupportedTerms(forms, " ".join(part.initials for part in parts), capitals)


def word_forms(word: Word) -> frozenset[str]:
    """Return the forms of which a child must hold one to support ``word``."""
    forms = {word.stem}
    if word.stem in _NUMBER_WORDS:
        forms.add(f"#{_NUMBER_WORDS[word.stem]}")
    if len(word.text) >= _MIN_ACRONYM and word.text.isupper():
        forms.add(f"~{word.text.casefold()}")
    return frozenset(forms)


def number_forms(number: str) -> frozenset[str]:
    """Return the forms of which a child must hold one to support ``number``."""
    return frozenset(f"#{value}" for value in possible_values(number))


def code_forms(code: str) -> frozenset[str]:
    """Return the form that a child must hold to support ``code``: the same characters."""
    return frozenset({f"={code}"})


def codes(text: str) -> list[str]:
    """Return addresses, versions and identifiers, in order."""
    return _CODE.findall(text)


def words(text: str) -> list[Word]:
    """Return the words of spaced scripts, in order."""
    return [Word(m[0], *_fold(m[0]), m.start()) for m in _WORD.finditer(text)]


def content_words(all_words: list[Word]) -> list[Word]:
    """Return the words that carry the topic of a text."""
    return [word for word in all_words if not word.is_function and len(word.stem) > 1]


def pairs(text: str) -> Iterator[str]:
    """Yield neighbouring characters of unspaced scripts as words; a single one alone."""
    for run in _PAIRED_RUN.findall(text):
        yield from (run[i : i + 2] for i in range(max(1, len(run) - 1)))


def numbers(text: str) -> list[str]:
    """Return the numbers that are written in digits, in order."""
    return _NUMBER.findall(text)


def possible_values(number: str) -> set[str]:
    """Return the decimals that ``number`` may mean: "1,000" is 1000, "1.000" is 1000 or 1."""
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
    integer, _, fraction = decimal.partition(".")
    fraction = fraction.rstrip("0")
    return (integer.lstrip("0") or "0") + (f".{fraction}" if fraction else "")


def names(text: str, all_words: list[Word]) -> list[Word]:
    """Return words with a capital that their position does not explain; none in a heading."""
    cased = [w for w in all_words if len(w.text) > 3 and w.text.upper() != w.text.lower()]
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


@cache
def _irregular_plurals() -> dict[str, str]:
    """Return the singular of each plural that no rule of ``_stem`` makes."""
    text = Path(__file__).with_name("plurals.txt").read_text(encoding="utf-8")
    return {plural: singular for singular, plural in map(str.split, text.split(","))}


@lru_cache(maxsize=65_536)
def _fold(word: str) -> tuple[str, bool]:
    """Return the stem, without case and English endings, and whether it is a function word."""
    bare = unicodedata.normalize("NFC", word).casefold().replace("\u00ad", "")
    is_function = _APOSTROPHE.split(bare)[0] in STOPWORDS
    bare = _POSSESSIVE.sub("", bare)
    return (_stem(bare) if bare.isascii() else bare), is_function


def _stem(word: str) -> str:
    """Return one form for the inflections of an English word, only for comparison.

    The plural goes first, so that "siblings" and "sibling" have one stem.
    """
    word = _irregular_plurals().get(word, word)
    if not word.endswith(_NO_PLURALS):
        word = _without(word, _PLURALS)
    word = _without(_Y.sub("i", word), _ENDINGS)
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def _without(word: str, endings: Sequence[tuple[str, str]]) -> str:
    """Return the word with its first matching ending replaced, if three letters stay."""
    for ending, replacement in endings:
        if word.endswith(ending) and len(word) - len(ending) > 2:
            return word[: -len(ending)] + replacement
    return word


# It follows the stemmer, because its keys are stems.
_NUMBER_WORDS = {_stem(word): str(value) for word, value in _VALUES.items()}


_MARKER = re.compile(r"^\s*(?:\(?\d{1,3}[.):]|[-*•])\s+")


@dataclass(frozen=True, slots=True)
class Item:
    """Word, number, name or code of a sentence, and the forms of which a source must hold one."""

    text: str
    forms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Needs:
    """Terms that a sentence needs from its sources, in order; ``text`` has no mark of an item.

    ``numbers`` also has the codes; the digits in a code are no number.
    """

    text: str
    words: tuple[Word, ...]
    content: tuple[Item, ...]
    numbers: tuple[Item, ...]
    names: tuple[Item, ...]

    @property
    def exact(self) -> tuple[Item, ...]:
        """Numbers and names, all of which must be supported."""
        return self.numbers + self.names


def find_needs(sentence: str, sources: SupportedTerms) -> Needs:
    """Return the needs of ``sentence``; names only if capitals in its sources mark them."""
    text = _MARKER.sub("", sentence)
    exact = [Item(number, number_forms(number)) for number in numbers(_CODE.sub(" ", text))]
    exact += [Item(code, code_forms(code)) for code in codes(text)]
    all_words = words(text)
    content = {word.stem: Item(word.text, word_forms(word)) for word in content_words(all_words)}
    content |= {pair: Item(pair, frozenset({pair})) for pair in pairs(text)}
    all_names = names(text, all_words) if sources.capitals <= MAX_CAPITALS else ()
    return Needs(
        text=text,
        words=tuple(all_words),
        content=tuple(content.values()),
        numbers=tuple(exact),
        names=tuple(Item(word.text, word_forms(word)) for word in all_names),
    )


def exact_forms(sentence: str, missing: Sequence[str]) -> list[frozenset[str]]:
    """Return the forms of the sentence's numbers, names and codes that are ``missing``."""
    all_names = {word.text for word in names(sentence, words(sentence))}
    no_name = [word for text in missing for word in words(text) if word.text in all_names]
    no_number = [number for text in missing for number in numbers(text)]
    no_code = [code for text in missing for code in codes(text)]
    return [
        *map(word_forms, no_name),
        *map(number_forms, no_number),
        *map(code_forms, no_code),
    ]


def find_missing(items: Iterable[Item], known: SupportedTerms) -> list[str]:
    """Return the items that a text does not hold, as written."""
    return [item.text for item in items if not known.supports(item.forms)]
