"""Splitting of text into words, their folding, and scripts without spaces between words.

All rooms use it. Token counters for models are in ``tokens``, stems and stop words in
``vocabulary``, sentence ends in ``sentence_ends``.

- A word is a run of letters, digits and combining marks. It also ends where a paired script begins
  or ends.
- Paired scripts are those without spaces (Chinese, Japanese, Thai, Lao, Burmese, Khmer), and
  Korean, whose particles are not separated. They give overlapping pairs of letters, each with its
  vowels and marks.
- Folding removes what writers may omit: case, accents, harakat, niqqud, nuktas, joiners, and
  variant forms of letters and digits.
"""

import re
import unicodedata
from itertools import pairwise

from raptor_formats.text import UNSPACED

_PAIRED = f"{UNSPACED}\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
_HAS_UNSPACED = re.compile(f"[{UNSPACED}]")
_HAS_PAIRED = re.compile(f"[{_PAIRED}]")
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_WORD = re.compile(f"[{_PAIRED}]+|[^ {_PAIRED}]+")
_LETTER = re.compile(
    "[\u0e40-\u0e44\u0ec0-\u0ec4]?."
    "(?:[\u0e30-\u0e3a\u0e45\u0e47-\u0e4e\u0eb0-\u0ebc\u0ec8-\u0ecd\u102b-\u1038\u103a-\u103e"
    "\u1056-\u1060\u17b4-\u17d1\u17d3]|[\u1039\u17d2].)*"
)
"""Letter with the vowels before and after it, its marks, and the letters stacked below it."""
_KOREAN_PARTICLES = frozenset("은는이가을를에의도로와과만")

_OMITTED = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0730-\u074a"
    "\u093c\u09bc\u0a3c\u0abc\u0b3c\u0cbc"
    "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]"
)
"""Accents, harakat, niqqud, nuktas, and invisible characters, in decomposed text."""
_LETTER_FORMS = str.maketrans(
    {**dict(zip("łđøħıŧƙ", "ldohitk", strict=True)), "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"}
    | dict(zip("ىیکةہھ", "ييكههه", strict=True))
)


class _WordCharacters(dict[int, str]):
    """Translation table: letters, digits and marks stay, everything else becomes a space."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kept = character.isalnum() or unicodedata.category(character)[0] == "M"
        self[code] = character if kept else " "
        return self[code]


_WORD_CHARACTERS = _WordCharacters()


def fold(text: str) -> str:
    """Remove from a text what writers may omit: case, accents, marks, joiners."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    if folded.isascii():
        return folded
    bare = _OMITTED.sub("", unicodedata.normalize("NFD", folded))
    return unicodedata.normalize("NFC", bare).translate(_LETTER_FORMS)


def find_words(text: str) -> list[re.Match[str]]:
    """Return the words of a text as matches, whose spans are offsets in the text."""
    if text.isascii():
        return list(_ASCII_WORD.finditer(text))
    return list(_WORD.finditer(text.translate(_WORD_CHARACTERS)))


def words(text: str) -> list[str]:
    """Return the words of a text in order, as written."""
    if text.isascii():
        return _ASCII_WORD.findall(text)
    return _WORD.findall(text.translate(_WORD_CHARACTERS))


def folded_words(text: str) -> list[str]:
    """Return the folded words of a text in order; words of paired scripts as pairs of letters."""
    return [part for word in words(fold(text)) for part in split_into_letter_pairs(word)]


def is_unspaced(text: str) -> bool:
    """Return whether a text has a letter of a script without spaces between words."""
    return not text.isascii() and _HAS_UNSPACED.search(text) is not None


def is_split_into_pairs(word: str) -> bool:
    """Return whether a word is of a paired script; see the module."""
    return not word.isascii() and _HAS_PAIRED.match(word) is not None


def split_into_letter_pairs(word: str) -> list[str]:
    """Return the pairs of letters of a word, or the word itself in scripts with spaces."""
    if not is_split_into_pairs(word):
        return [word]
    letters = _LETTER.findall(word)
    parts = [*map("".join, pairwise(letters))] if len(letters) > 1 else [word]
    if len(letters) == 2 and letters[1] in _KOREAN_PARTICLES:
        parts.append(letters[0])
    return parts
