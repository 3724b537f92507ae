"""Sparse vectors of texts for lexical search, the same for every engine.

A text becomes BM25 term weights under hashed token indices. The engine multiplies the terms of a
question by their inverse document frequency (its IDF modifier), so the inner product is BM25.

- Words: those of ``raptor_core.text.words``, folded. A pair of letters counts half in the length
  of a text, as each letter is in two pairs.
- Terms: each word, and its first ``STEM_CHARS`` characters, which joins most inflected forms in
  many languages (truncation stemming; compare McNamee and Mayfield 2004). An identifier or number
  also gives its joined form: ``E-1047`` is found as ``E1047``, ``12,400`` as ``12400``,
  ``max_tokens`` as ``maxTokens``. There is no stop-word list: IDF weighs common words down in any
  language.
- Weight of a question's term: its count. Of a word that is longer than its stem, both terms count
  ``LONG_WORD_WEIGHT``, so that such words do not count twice as much as short ones.
- Weight of a term that occurs ``tf`` times among ``n`` words (Robertson and Zaragoza 2009,
  formula 3.15): ``tf * (k1 + 1) / (tf + k1 * (1 - b + b * n / AVERAGE_TOKENS))``. The average is
  a constant, because the true one moves with every document, and weights must not.
- Index: CRC-32 of the term. Two terms that collide share a posting list; among 100,000 distinct
  terms about one pair does.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

from raptor_core.text.words import fold, folded_words, is_split_into_pairs

K1 = 1.2
B = 0.75
AVERAGE_TOKENS = 64
STEM_CHARS = 6
LONG_WORD_WEIGHT = 0.75
_DIGIT = re.compile(r"\d")
LEXICAL_VERSION = "4"
"""Version of these vectors; points of another version are written again."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_IDENTIFIER = re.compile(
    r"(?<![^\W_])[^\W_]+(?:[-_\u2010\u2011][^\W_]+)+"
    r"|(?<!\w)\w*?(?:[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2})\w*"
)
_NUMBER = re.compile(r"(?<!\d)(?:\d{1,3}(?:[ '\u2019]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)+)")
_THOUSANDS = re.compile(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*")
_SIGNED = re.compile(r"(?<!\w)[A-Za-z](?:\+\+|#)(?!\w)")


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Sparse vector: distinct ascending ``indices`` (32 bits), and their ``values``."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


def words_cut_to_stems(text: str) -> list[str]:
    """Return the words of a text in order, cut to ``STEM_CHARS`` unless they contain a digit."""
    return list(map(_cut_to_stem, fold_identifier_words(text)))


def fold_identifier_words(text: str) -> list[str]:
    """Return the folded words of a text in order; a name such as maxTokens gives two words."""
    return folded_words(_CAMEL.sub(" ", text))


@lru_cache(maxsize=1 << 16)
def _cut_to_stem(word: str) -> str:
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
    """Return a number without thousands separators, with a point before the decimals."""
    number = re.sub("[ '\u2019]", "", number)
    if _THOUSANDS.fullmatch(number):
        return re.sub(r"\D", "", number)
    if {".", ","} <= set(number):
        units, decimals = re.split(r"[.,](?=\d+$)", number)
        return f"{re.sub(r'[.,]', '', units)}.{decimals}"
    return number.replace(",", ".")


def _count_terms(text: str, long_word_weight: float = 1.0) -> tuple[dict[str, float], float]:
    """Count the terms of a text; also return its length in words.

    A word that is longer than its stem adds ``long_word_weight`` to the counts of both.
    """
    all_words = fold_identifier_words(text)
    counts: defaultdict[str, float] = defaultdict(float)
    for word in all_words:
        stem = _cut_to_stem(word)
        if stem == word:
            counts[word] += 1
        else:
            counts[word] += long_word_weight
            counts[stem] += long_word_weight
    for form in _joined_forms(text):
        counts[form] += 1
    n_pairs = 0 if text.isascii() else sum(map(is_split_into_pairs, all_words))
    return counts, len(all_words) - n_pairs / 2


@lru_cache(maxsize=1 << 17)
def _term_index(term: str) -> int:
    return crc32(term.encode("utf-8", "surrogatepass"))


def passage_vector(text: str) -> SparseVector | None:
    """Return the saturated term weights of a node's text; None if it contains no word."""
    terms, n_words = _count_terms(text)
    norm = K1 * (1 - B + B * n_words / AVERAGE_TOKENS)
    counts = _counts_by_index(terms)
    return _to_sparse_vector({index: tf * (K1 + 1) / (tf + norm) for index, tf in counts.items()})


def query_vector(text: str) -> SparseVector | None:
    """Return the term weights of a question, which the engine multiplies by IDF; None if empty."""
    return _to_sparse_vector(_counts_by_index(_count_terms(text, LONG_WORD_WEIGHT)[0]))


def _counts_by_index(terms: Mapping[str, float]) -> dict[int, float]:
    counts: defaultdict[int, float] = defaultdict(float)
    for term, count in terms.items():
        counts[_term_index(term)] += count
    return counts


def _to_sparse_vector(weights: dict[int, float]) -> SparseVector | None:
    if not weights:
        return None
    indices = sorted(weights)
    return SparseVector(tuple(indices), tuple(weights[index] for index in indices))
