"""Text to sparse vectors for lexical search, the same on every backend.

A text becomes BM25 term weights under hashed token indices; the engine multiplies a query by the
inverse document frequency of its tokens (its IDF modifier), so that the inner product is BM25.

- Words: folded runs of letters, digits and combining marks. Scripts written without spaces
  (Chinese, Japanese, Thai, Lao, Burmese, Khmer), and Korean, whose particles have none, give
  overlapping pairs of letters, each with its vowels and marks. A pair counts half in the length of
  a text, as each letter is in two pairs.
- Folding (``fold``): what writers leave out is left out everywhere: case, accents, harakat, niqqud,
  nuktas, joiners, the form of a letter or digit.
- Terms: each word, and its first ``STEM_CHARS`` characters, which joins most inflected forms in
  many languages (truncation stemming; compare McNamee and Mayfield 2004). An identifier or number
  also gives its joined form: ``E-1047`` is found as ``E1047``, ``12,400`` as ``12400``,
  ``max_tokens`` as ``maxTokens``. There is no stop-word list: IDF weighs common words down in any
  language.
- Weight of a term that occurs ``tf`` times among ``n`` words (Robertson and Zaragoza 2009,
  formula 3.15): ``tf * (k1 + 1) / (tf + k1 * (1 - b + b * n / AVERAGE_TOKENS))``. The average is
  a constant, because the true one moves with every document, and weights must not.
- Index: CRC-32 of the term. Two terms that collide share a posting list; among 100,000 distinct
  terms about one pair does.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from zlib import crc32

K1 = 1.2
B = 0.75
AVERAGE_TOKENS = 64
STEM_CHARS = 6
LEXICAL_VERSION = "4"
"""Version of this module's vectors; a point of another version is written anew."""

_HANGUL = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
_PAIRED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u1b00-\u1b7f"
    "\ua980-\ua9ff\uaa60-\uaa7f\u3040-\u30ff\u31f0-\u31ff"
    f"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff{_HANGUL}"
)
"""Scripts that give pairs of letters."""
_HAS_PAIRED = re.compile(f"[{_PAIRED}]")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(
    "[\u0e40-\u0e44\u0ec0-\u0ec4]?."
    "(?:[\u0e30-\u0e3a\u0e45\u0e47-\u0e4e\u0eb0-\u0ebc\u0ec8-\u0ecd\u102b-\u1038\u103a-\u103e"
    "\u1056-\u1060\u17b4-\u17d1\u17d3]|[\u1039\u17d2].)*"
)
"""Letter with the vowels before and after it, its marks, and the letters that stack below it."""
_RUNS = re.compile(f"[{_PAIRED}]+|[^{_PAIRED}]+")
_KOREAN_PARTICLES = frozenset("은는이가을를에의도로와과만")

_OMITTED = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0730-\u074a"
    "\u093c\u09bc\u0a3c\u0abc\u0b3c\u0cbc"
    "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]"
)
"""Accents, harakat, niqqud, nuktas, and characters that are not seen, in decomposed text."""
_LETTER_FORMS = str.maketrans(
    {**dict(zip("łđøħıŧƙ", "ldohitk", strict=True)), "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"}
    | dict(zip("ىیکةہھ", "ييكههه", strict=True))
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_IDENTIFIER = re.compile(
    r"(?<![^\W_])[^\W_]+(?:[-_\u2010\u2011][^\W_]+)+"
    r"|(?<!\w)\w*?(?:[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2})\w*"
)
_NUMBER = re.compile(r"(?<!\d)(?:\d{1,3}(?:[ '\u2019]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)+)")
_THOUSANDS = re.compile(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*")
_SIGNED = re.compile(r"(?<!\w)[A-Za-z](?:\+\+|#)(?!\w)")


class _WordCharacters(dict[int, str]):
    """Translation table: letters, digits and marks stay, everything else becomes a space."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kept = character.isalnum() or unicodedata.category(character)[0] == "M"
        self[code] = character if kept else " "
        return self[code]


_WORD_CHARACTERS = _WordCharacters()


@dataclass(frozen=True, slots=True)
class Sparse:
    """Sparse vector: distinct ``indices`` ascending (32 bits), and their ``values``."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


def fold(text: str) -> str:
    """Return a text without what its writers may leave out: case, accents, marks, joiners."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    if folded.isascii():
        return folded
    bare = _OMITTED.sub("", unicodedata.normalize("NFD", folded))
    return unicodedata.normalize("NFC", bare).translate(_LETTER_FORMS)


def tokens(text: str) -> list[str]:
    """Return the words of a text in order, each cut after ``STEM_CHARS`` unless it has a digit."""
    return list(map(_stem, words(text)))


def words(text: str) -> list[str]:
    """Return the folded words of a text in order, and pairs of letters as the module says."""
    spaced = fold(_CAMEL.sub(" ", text)).translate(_WORD_CHARACTERS).split()
    return [token for word in spaced for token in _parts(word)]


def _parts(word: str) -> list[str]:
    """Return a word, or the pairs of letters of a script that gives pairs."""
    if word.isascii() or not _HAS_PAIRED.search(word):
        return [word]
    parts: list[str] = []
    for run in _RUNS.findall(word):
        letters = _LETTER.findall(run) if _HAS_PAIRED.match(run) else []
        parts += map("".join, pairwise(letters)) if len(letters) > 1 else [run]
        if len(letters) == 2 and letters[1] in _KOREAN_PARTICLES:
            parts.append(letters[0])
    return parts


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    return word if len(word) <= STEM_CHARS or _DIGIT.search(word) else word[:STEM_CHARS]


def _joined_forms(text: str) -> Iterator[str]:
    """Yield identifiers, numbers and names such as C++ as one term each."""
    for match in _IDENTIFIER.finditer(text):
        yield re.sub(r"\W|_", "", fold(match[0]))
    for match in _SIGNED.finditer(text):
        yield match[0].casefold()
    for match in _NUMBER.finditer(unicodedata.normalize("NFKC", text)):
        yield _number_form(match[0])


def _number_form(number: str) -> str:
    """Return a number without signs of thousands, and with a point before decimals."""
    number = re.sub("[ '\u2019]", "", number)
    if _THOUSANDS.fullmatch(number):
        return re.sub(r"\D", "", number)
    if {".", ","} <= set(number):
        units, decimals = re.split(r"[.,](?=\d+$)", number)
        return f"{re.sub(r'[.,]', '', units)}.{decimals}"
    return number.replace(",", ".")


def _terms(text: str) -> tuple[Counter[str], float]:
    """Return the terms of a text with their numbers, and its length in words."""
    all_words = words(text)
    counts = Counter(all_words)
    for word in all_words:
        if (stem := _stem(word)) != word:
            counts[stem] += 1
    counts.update(_joined_forms(text))
    n_pairs = 0 if text.isascii() else sum(map(bool, map(_HAS_PAIRED.match, all_words)))
    return counts, len(all_words) - n_pairs / 2


@lru_cache(maxsize=1 << 17)
def _index(term: str) -> int:
    return crc32(term.encode("utf-8", "surrogatepass"))


def passage_vector(text: str) -> Sparse | None:
    """Return the saturated term weights of a node's text; None when it holds no word."""
    terms, n_words = _terms(text)
    norm = K1 * (1 - B + B * n_words / AVERAGE_TOKENS)
    counts = _by_index(terms)
    return _sparse({index: tf * (K1 + 1) / (tf + norm) for index, tf in counts.items()})


def query_vector(text: str) -> Sparse | None:
    """Return the term counts of a question, which the engine multiplies by IDF; None without."""
    counts = _by_index(_terms(text)[0])
    return _sparse({index: float(count) for index, count in counts.items()})


def _by_index(terms: Counter[str]) -> Counter[int]:
    counts: Counter[int] = Counter()
    for term, count in terms.items():
        counts[_index(term)] += count
    return counts


def _sparse(weights: dict[int, float]) -> Sparse | None:
    if not weights:
        return None
    indices = sorted(weights)
    return Sparse(tuple(indices), tuple(weights[index] for index in indices))
