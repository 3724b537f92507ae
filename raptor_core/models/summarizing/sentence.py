"""Analysis of sentences: their terms, and how well each is understood without its context.

The boundaries of sentences are found in ``raptor_core.chunking.sentences``.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

from raptor_core.chunking.sentences import find_sentence_spans
from raptor_core.text.sentence_ends import ends_sentence
from raptor_core.text.vocabulary import STOPWORDS, to_singular
from raptor_core.text.words import is_split_into_pairs, is_unspaced, split_into_letter_pairs, words

_CODE = re.compile(r"[{};=<>|\\$#`~^_]|::|->|\(\)")
_DIGIT = re.compile(r"\d")
_URL = re.compile(r"(?:https?://|www\.)\S+")
_ENTRY = re.compile(r"\[\d+\]\s+[A-Z]|\d+\.\s+[A-Z][\w'-]+,\s+[A-Z]\b")
_CITED = re.compile(r"\bdoi: ?\d|\bpp\. ?\d|\bet al\.?,? \(?\d{4}\)?\.?$")
_CAPTION = re.compile(
    r"(?:figure|fig\.|table|chapter|section|isbn)\s*[\divxlc]*\b[.:]?\s*\S{0,40}$", re.IGNORECASE
)
_BULLET = re.compile(r"(?:[-*+•▪·‣–—]|\(?\d{1,3}[.)]|#{1,6})\s+")
_PAIRS = (("(", ")"), ("[", "]"))
_OTHER_PAIRS = (("“", "”"), ("«", "»"), ("「", "」"), ("『", "』"))
_OPENERS = "\"'“‘«「"
_DEPENDENT_LIST = """he she it they this that these those his her its their him them such but and or
so then however also thus therefore hence moreover furthermore instead otherwise yes no well oh"""
_DEPENDENT = frozenset(_DEPENDENT_LIST.split())
COMPLETE, PARTIAL, JUNK = 0, 1, 2
"""Tiers of a sentence: complete and readable, a fragment, or not prose at all."""
_TIER_WEIGHTS = {COMPLETE: 1.0, PARTIAL: 0.4, JUNK: 0.1}


@dataclass(frozen=True, slots=True)
class SummarySentence:
    """A sentence with single spaces.

    Attributes:
        n_tokens: estimated tokens: the child's tokens in proportion to characters.
        terms: distinct content words.
        names: terms that are names or numbers.
        quality_tier: see ``COMPLETE``, ``PARTIAL``, ``JUNK``.
        weight: how well form and tier suit a summary, in (0, 1].
        needs_context: its first word refers to the preceding sentence.
    """

    text: str
    n_tokens: float
    terms: frozenset[str]
    names: frozenset[str]
    quality_tier: int
    weight: float
    needs_context: bool


def split_sentences(text: str, n_tokens: int) -> tuple[SummarySentence, ...]:
    """Split a child of ``n_tokens`` tokens into sentences; none if it is only white space."""
    rate = n_tokens / max(1, sum(map(len, text.split())))
    pieces: list[str] = []
    for start, end in find_sentence_spans(text):
        pieces += _split_headings(text[start:end])
    folded = (" ".join(piece.split()) for piece in pieces)
    return tuple(_make_sentence(piece, rate) for piece in folded if piece)


def _split_headings(text: str) -> list[str]:
    """Separate headings: lines without a full stop in which the next line's first word had room."""
    if "\n" not in text:
        return [text]
    lines = text.strip().splitlines()
    n_headings = 0
    for line, following in pairwise(lines):
        first = "".join(following.split(maxsplit=1)[:1])
        if first and not first[0].isupper():
            break
        room = 0.8 * max(map(len, lines)) - len(line) - 1
        if first and (len(first) > room or ends_sentence(line) or "," in line[-1:]):
            break
        n_headings += 1
    return [*lines[:n_headings], "\n".join(lines[n_headings:])]


def _make_sentence(text: str, tokens_per_char: float) -> SummarySentence:
    all_words = words(text)
    n_letters = sum(map(len, all_words))
    n_chars = len(text) - text.count(" ")
    terms = _content_terms(all_words)
    tier = _quality_tier(text, len(all_words), n_letters, n_chars)
    return SummarySentence(
        text=text,
        n_tokens=max(1.0, n_chars * tokens_per_char),
        terms=terms,
        names=_content_terms([word for word in all_words[1:] if not word.islower()]),
        quality_tier=tier,
        weight=_form_weight(text, len(all_words), len(terms)) * _TIER_WEIGHTS[tier],
        needs_context=bool(all_words) and all_words[0].casefold() in _DEPENDENT,
    )


def content_terms(text: str) -> frozenset[str]:
    """Return the content words of a text, as in ``SummarySentence.terms``."""
    return _content_terms(words(text))


def _content_terms(all_words: list[str]) -> frozenset[str]:
    """Return the folded content words; words of unspaced scripts become pairs of letters."""
    terms: set[str] = set()
    for term in {word.casefold() for word in all_words} - STOPWORDS:
        if is_split_into_pairs(term):
            terms.update(split_into_letter_pairs(term))
        elif len(term) > 1 or not term.isascii():
            terms.add(to_singular(term))
    return frozenset(terms)


def _quality_tier(text: str, n_words: int, n_letters: int, n_chars: int) -> int:
    if is_unspaced(text):
        n_words = n_letters // 2
    if n_words < 2 or n_letters < 0.6 * n_chars or _is_junk(text, n_letters, n_chars):
        return JUNK
    if n_words < 4 or not ends_sentence(text):
        return PARTIAL
    return PARTIAL if _starts_inside_sentence(text) or _is_unbalanced(text) else COMPLETE


def _is_junk(text: str, n_letters: int, n_chars: int) -> bool:
    """Return whether the text is not prose, but a table, code, a URL, a reference or a caption."""
    n_marks_allowed = max(1, n_chars // 25)
    if n_chars - n_letters > n_marks_allowed and len(_CODE.findall(text)) > n_marks_allowed:
        return True
    if ("://" in text or "www." in text) and len("".join(_URL.findall(text))) > 0.4 * n_chars:
        return True
    if _DIGIT.search(text) and (len(_DIGIT.findall(text)) > 0.3 * n_chars or _CITED.search(text)):
        return True
    return _ENTRY.match(text) is not None or _CAPTION.match(text) is not None


def _starts_inside_sentence(text: str) -> bool:
    """Return whether the text begins in the middle of a sentence, or is a list item."""
    if text[0] in ",;:.!?)]}%…" or _BULLET.match(text):
        return True
    return next((c for c in text if c.isalnum()), "").islower()


def _is_unbalanced(text: str) -> bool:
    pairs = _PAIRS if text.isascii() else _PAIRS + _OTHER_PAIRS
    return text.count('"') % 2 == 1 or any(text.count(a) != text.count(b) for a, b in pairs)


def _form_weight(text: str, n_words: int, n_terms: int) -> float:
    """Return how well the form of a sentence suits a summary, in (0, 1]."""
    weight = 1.0
    if n_terms < 4 and not is_unspaced(text):
        weight *= 0.4 + 0.15 * n_terms
    if text.rstrip("\"'”’»)").endswith(("?", "？", "؟")):
        weight *= 0.6  # a question without its answer says little
    if text.rstrip(" .").endswith(":"):
        weight *= 0.6  # it announces text that is missing
    if text[0] in _OPENERS:
        weight *= 0.8 if n_words >= 10 else 0.5  # a fragment of dialogue
    return weight
