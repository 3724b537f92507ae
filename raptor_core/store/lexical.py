"""Text to sparse vectors for lexical search, the same on every backend.

A text becomes BM25 term weights under hashed token indices; the engine multiplies a query by the
inverse document frequency of its tokens (its IDF modifier), so that the inner product is BM25.

- Tokens: NFKC, casefolded, runs of letters, digits and combining marks. Scripts written without
  spaces (Chinese, Japanese, Thai, Lao, Burmese, Khmer) give overlapping pairs of letters, each with
  its vowels and marks. A pair counts half in the length of a text, as each letter is in two pairs.
  Words without a digit are cut after ``STEM_CHARS`` characters, which joins most inflected forms
  in many languages (truncation stemming; compare McNamee and Mayfield 2004). There is no
  stop-word list: IDF weighs common words down in any language.
- Weight of a token that occurs ``tf`` times among ``n`` tokens (Robertson and Zaragoza 2009,
  formula 3.15): ``tf * (k1 + 1) / (tf + k1 * (1 - b + b * n / AVERAGE_TOKENS))``. The average is
  a constant, because the true one moves with every document, and weights must not.
- Index: CRC-32 of the token. Two tokens that collide share a posting list; among 100,000 distinct
  tokens about one pair does.
"""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from zlib import crc32

K1 = 1.2
B = 0.75
AVERAGE_TOKENS = 64
STEM_CHARS = 6
LEXICAL_VERSION = "3"
"""Version of this module's vectors; a point of another version is written anew."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u1b00-\u1b7f"
    "\ua980-\ua9ff\uaa60-\uaa7f\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(
    "[\u0e40-\u0e44\u0ec0-\u0ec4]?."
    "(?:[\u0e30-\u0e3a\u0e45\u0e47-\u0e4e\u0eb0-\u0ebc\u0ec8-\u0ecd\u102b-\u1038\u103a-\u103e"
    "\u1056-\u1060\u17b4-\u17d1\u17d3]|[\u1039\u17d2].)*"
)
"""Letter with the vowels before and after it, its marks, and the letters that stack below it."""
_RUNS = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")


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


def tokens(text: str) -> list[str]:
    """Return the tokens of a text in order, as the module describes them."""
    return list(map(_stem, words(text)))


def words(text: str) -> list[str]:
    """Return the tokens of a text in order, before they are cut after ``STEM_CHARS``."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    spaced = folded.translate(_WORD_CHARACTERS).split()
    if not _HAS_UNSPACED.search(folded):
        return spaced
    return [token for word in spaced for token in _split_unspaced(word)]


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    return word if len(word) <= STEM_CHARS or _DIGIT.search(word) else word[:STEM_CHARS]


def _split_unspaced(word: str) -> list[str]:
    parts: list[str] = []
    for run in _RUNS.findall(word):
        letters = _LETTER.findall(run) if _HAS_UNSPACED.match(run) else []
        parts += map("".join, pairwise(letters)) if len(letters) > 1 else [run]
    return parts


@lru_cache(maxsize=1 << 17)
def _index(token: str) -> int:
    return crc32(token.encode("utf-8", "surrogatepass"))


def passage_vector(text: str) -> Sparse | None:
    """Return the saturated term weights of a node's text; None when it holds no token."""
    terms = tokens(text)
    n_pairs = sum(map(bool, map(_HAS_UNSPACED.match, terms))) if not text.isascii() else 0
    norm = K1 * (1 - B + B * (len(terms) - n_pairs / 2) / AVERAGE_TOKENS)
    counts = Counter(map(_index, terms))
    return _sparse({index: tf * (K1 + 1) / (tf + norm) for index, tf in counts.items()})


def query_vector(text: str) -> Sparse | None:
    """Return the token counts of a question, which the engine multiplies by IDF; None without."""
    counts = Counter(map(_index, tokens(text)))
    return _sparse({index: float(count) for index, count in counts.items()})


def _sparse(weights: dict[int, float]) -> Sparse | None:
    if not weights:
        return None
    indices = sorted(weights)
    return Sparse(tuple(indices), tuple(weights[index] for index in indices))
