"""Sentence boundaries: rules within single paragraphs, exact spans, linear time."""

import re
from collections.abc import Iterator
from pathlib import Path

from raptor_core.documents.blocks import Block, strip_spans
from raptor_core.documents.formats.plain import read_plain
from raptor_core.phrases import read_words

Span = tuple[int, int]

_WORDS = read_words(Path(__file__).with_name("abbreviations.txt"))

_CLOSERS = "\"'”’»›)\\]}*_`"
_WIDE_CLOSERS = "」』）】》〉”’\"'"
_MARKS = ".!?…؟۔।॥։።፧፨"
_WIDE = "。！？｡︕︖។៕။།༎"
# Marks that end a sentence only before white space, and wide marks that need none after them.
# The quantifiers are possessive and no match begins inside a run, so that a long row of dots
# takes linear time.
_END = re.compile(
    rf"(?<![{_MARKS}])(?P<mark>[{_MARKS}]++)(?P<close>[{_CLOSERS}]*+)(?=\s)"
    rf"|(?P<wide>[{_WIDE}]+[{_WIDE}!?…]*)[{_WIDE_CLOSERS}]*"
)
_WORD_BEFORE = re.compile(r"[^\s(\[{\"'“‘«„—–/]*\Z")
_WORD_AFTER = re.compile(r"\s+[\"'“‘«„‹(\[*_`¿¡—–-]*(?P<word>[^\W\d_]*)(?P<digit>\d?)")
_NUMERAL = re.compile(r"\(?(?:\d{1,3}|[ivxlcIVXLC]{1,5}|[a-zA-Z])")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_LINE = re.compile(r"[^\n\r]+")
_THAI_LAO = "\u0e01-\u0e2e\u0e30-\u0e45\u0e47-\u0e4e\u0e81-\u0ec5\u0ec8-\u0ecd"
_PHRASE_END = re.compile(f"(?<=[{_THAI_LAO}]) +(?=[{_THAI_LAO}])")
_MIN_PHRASE_CHARS = 40
"""Least length of a sentence of Thai or Lao, which ends with a space, as many clauses do."""
_WINDOW_CHARS = 48


def sentences(text: str) -> list[Span]:
    """Return the spans of all sentences of a plain text, in order.

    They cover all but white space and lines that only draw a rule.
    """
    blocks = (block for block in read_plain(text) if block.kind != "rule")
    return [span for block in blocks for span in sentences_of(text, block)]


def sentences_of(text: str, block: Block) -> list[Span]:
    """Return the spans of one block's sentences, or lines of code, without white space around."""
    if block.kind in ("heading", "names", "row"):
        return [(block.start, block.end)]
    if block.kind == "code":
        lines = _LINE.finditer(text, block.start, block.end)
        return [span for line in lines for span in strip_spans(text, line.span())]
    cuts = sorted({*_ends(text, block), *_phrase_ends(text, block)})
    return list(strip_spans(text, [block.start, *cuts, block.end]))


def _phrase_ends(text: str, block: Block) -> Iterator[int]:
    """Yield the characters after phrases of Thai or Lao that are as long as a sentence."""
    last = block.start
    for match in _PHRASE_END.finditer(text, block.start, block.end):
        if match.start() - last >= _MIN_PHRASE_CHARS:
            last = match.end()
            yield last


def _ends(text: str, block: Block) -> Iterator[int]:
    """Yield the characters after the sentences that end inside the block."""
    last = block.start
    for match in _END.finditer(text, block.start, block.end):
        if match.end() < block.end and _is_end(text, last, match):
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
    return _dot_ends(last, preceding[: len(preceding) - len(last)], word, bool(digit))


def _dot_ends(last: str, earlier: str, word: str, digit: bool) -> bool:
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
