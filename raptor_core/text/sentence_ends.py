"""Sentence ends inside one paragraph, by rules for all languages, in linear time.

``chunking.sentences`` first finds the paragraphs and other blocks of a text.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from raptor_core.text.vocabulary import read_words

_WORDS = read_words(Path(__file__).with_name("abbreviations.txt"))

MARKS = ".!?…؟۔।॥։።፧፨"
"""Marks that end a sentence only before white space; like the next two, safe inside a class."""
WIDE_MARKS = "。！？｡︕︖។៕။།༎"
"""Marks that end a sentence without white space after them."""
CLOSERS = "\"'”’»›)\\]}*_`"
"""Quotation marks, brackets and markup that may follow an end mark."""
_WIDE_CLOSERS = "」』）】》〉”’\"'"
# The quantifiers are possessive and no match begins inside a run, so that a long row of dots
# takes linear time.
_END = re.compile(
    rf"(?<![{MARKS}])(?P<mark>[{MARKS}]++)(?P<close>[{CLOSERS}]*+)(?=\s)"
    rf"|(?P<wide>[{WIDE_MARKS}]+[{WIDE_MARKS}!?…]*)[{_WIDE_CLOSERS}]*"
)
_LAST = re.compile(rf"[{MARKS}{WIDE_MARKS}][\"'”’»›)\]{_WIDE_CLOSERS}]*(?:\s*\[[\d,; ]+\])?$")
"""End mark at the end of a text; a lone markup character after it belongs to the next sentence."""
_LAST_CHARS = 16
_WORD_BEFORE = re.compile(r"[^\s(\[{\"'“‘«„—–/]*\Z")
_WORD_AFTER = re.compile(r"\s+[\"'“‘«„‹(\[*_`¿¡—–-]*(?P<word>[^\W\d_]*)(?P<digit>\d?)")
_NUMERAL = re.compile(r"\(?(?:\d{1,3}|[ivxlcIVXLC]{1,5}|[a-zA-Z])")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_THAI_LAO = "\u0e01-\u0e2e\u0e30-\u0e45\u0e47-\u0e4e\u0e81-\u0ec5\u0ec8-\u0ecd"
_UNMARKED = re.compile(f"[{_THAI_LAO}]\\s*\\Z")
_PHRASE_END = re.compile(f"(?<=[{_THAI_LAO}]) +(?=[{_THAI_LAO}])")
_MIN_PHRASE_CHARS = 40
"""Shortest Thai or Lao sentence, in characters; it ends with a space, but so do many clauses."""
_WINDOW_CHARS = 48


def is_abbreviation(word: str) -> bool:
    """Return whether a word is an abbreviation such as "Dr", whose dot does not end a sentence."""
    return word.lower() in _WORDS["never end"]


def ends_sentence(text: str) -> bool:
    """Return whether a text ends with an end mark, possibly before closers and citations."""
    return _LAST.search(text.rstrip()[-_LAST_CHARS:]) is not None


def ends_in_unmarked_script(text: str) -> bool:
    """Return whether a text ends in a script that does not mark sentence ends."""
    return _UNMARKED.search(text) is not None


def sentence_ends(text: str, start: int, end: int) -> list[int]:
    """Return the offsets after the sentences that end inside a paragraph, ascending."""
    return sorted({*_marked_ends(text, start, end), *_phrase_ends(text, start, end)})


def _phrase_ends(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the offsets after Thai or Lao phrases that are as long as a sentence."""
    last = start
    for match in _PHRASE_END.finditer(text, start, end):
        if match.start() - last >= _MIN_PHRASE_CHARS:
            last = match.end()
            yield last


def _marked_ends(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the offsets after the sentences that end with a mark."""
    last = start
    for match in _END.finditer(text, start, end):
        if match.end() < end and _is_end(text, last, match):
            last = match.end()
            yield last


def _is_end(text: str, start: int, match: re.Match[str]) -> bool:
    """Return whether the matched marks end the sentence that began at ``start``."""
    mark = match.group("mark")
    if mark is None:  # the sentence may continue after a wide quotation
        return text[match.end() : match.end() + 1] not in tuple("，、；：,.")
    following = _WORD_AFTER.match(text, match.end())
    word, digit = (following.group("word"), following.group("digit")) if following else ("", "")
    if word[:1].islower():
        return False
    if mark != ".":
        return True
    at = match.start()
    preceding = text[max(start, at - _WINDOW_CHARS) : at]
    preceding_word = _WORD_BEFORE.search(preceding)
    last = preceding_word.group() if preceding_word else ""
    if match.group("close") and len(last) > 1:
        return last.lower() not in _WORDS["never end"]
    return _does_dot_end_sentence(last, preceding[: len(preceding) - len(last)], word, bool(digit))


def _does_dot_end_sentence(last: str, earlier: str, word: str, digit: bool) -> bool:
    """Return whether a single dot after the word ``last`` ends a sentence before ``word``."""
    lower, starts = last.lower(), word.lower() in _WORDS["starters"]
    if lower in _WORDS["never end"] or (digit and lower in _WORDS["before a number"]):
        return False
    if not earlier.strip() and _NUMERAL.fullmatch(last):
        return False
    if last.isdigit() and len(last) <= 2 and word.lower() in _WORDS["months"]:
        return False
    if len(last) == 1 and last.isalpha():
        # "J. R. R. Tolkien" and "z. B. Anna" continue; "vitamin C. The" ends.
        return starts and any(word[:1].islower() for word in earlier.split()[-1:])
    return starts if lower in _WORDS["may end"] or _DOTTED.fullmatch(last) else True
