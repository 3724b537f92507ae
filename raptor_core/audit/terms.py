"""Content words, numbers, names and codes of a text, and those that a sentence needs.

All but codes are folded, so that equal terms compare equal.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from raptor_core.text.vocabulary import STOPWORDS, stem
from raptor_core.text.words import find_words, fold, is_paired, pairs

_DIGIT = re.compile(r"\d")
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
# A capital after these begins a sentence, a quotation or an item, and marks no name.
_OPENING = re.compile(r"(?:^|[.!?:;…\n\"“”‘«»(\[•*#>|/—–-])[\s\"“‘'(\[*_#]*$")
_OPENING_REACH = 6
_MAX_HEADING = 0.6
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
    forms.update(f"#{_NUMBER_WORDS[form]}" for form in forms & _NUMBER_WORDS.keys())
    forms.update(
        paired_words(text), *map(number_forms, numbers(text)), *map(code_forms, codes(text))
    )
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
    """Return the words of spaced scripts without digits, in order."""
    matches = (m for m in find_words(text) if not is_paired(m[0]) and not _DIGIT.search(m[0]))
    folded = ((m[0], *_fold(m[0]), m.start()) for m in matches)
    return [Word(*parts) for parts in folded if parts[1]]  # a lone accent folds to nothing


def content_words(all_words: list[Word]) -> list[Word]:
    """Return the words that carry the topic of a text."""
    return [word for word in all_words if not word.is_function and len(word.stem) > 1]


def paired_words(text: str) -> list[str]:
    """Return the pairs of letters of the scripts that give pairs, in order."""
    return [pair for m in find_words(text) if is_paired(m[0]) for pair in pairs(m[0])]


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


@lru_cache(maxsize=65_536)
def _fold(word: str) -> tuple[str, bool]:
    """Return the stem, without case and English endings, and whether it is a function word."""
    folded = fold(word)
    return (stem(folded) if folded.isascii() else folded), folded in STOPWORDS


_NUMBER_WORDS = {stem(word): str(value) for word, value in _VALUES.items()}


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
    content |= {pair: Item(pair, frozenset({pair})) for pair in paired_words(text)}
    all_names = names(text, all_words) if sources.capitals <= MAX_CAPITALS else ()
    return Needs(
        text=text,
        words=tuple(all_words),
        content=tuple(content.values()),
        numbers=tuple(exact),
        names=tuple(Item(word.text, word_forms(word)) for word in all_names),
    )


def find_missing(items: Iterable[Item], known: SupportedTerms) -> list[str]:
    """Return the items that a text does not hold, as written."""
    return [item.text for item in items if not known.supports(item.forms)]
