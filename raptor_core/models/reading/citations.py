"""Citations in an answer: marks such as ``[2]`` that name passages by number.

Marks stand outside code, formulas, links and footnotes, and name passages that were shown. All else
in brackets is text of the answer, which stays word for word. Asking a model is in ``reader``.
"""

import re
from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple, TypeVar

from markdown_it import MarkdownIt

Source = TypeVar("Source", bound=Hashable)

_PAIRS = {"[": "]", "［": "］", "【": "】"}
_NUMBER = r"\^?\d{1,12}"
_ITEM = rf"{_NUMBER}(?:\s*[-–—]\s*{_NUMBER})?"
_WORD = r"and|und|et|y|e|i|и|和|及|と"
_BETWEEN = rf"(?:\s*[,;、，；&]\s*(?:(?:{_WORD})\s+)?|\s+(?:{_WORD})\s+|\s*[和及と]\s*)"
_MARK = re.compile(
    rf"(?P<space>[ \t]?)(?P<open>[\[［【])\s*(?P<items>{_ITEM}(?:{_BETWEEN}{_ITEM})*)"
    r"\s*(?:†[^】\]\n]{0,80})?(?P<close>[\]］】])"
)
_RANGE = re.compile(r"\^?(\d+)(?:\s*[-–—]\s*\^?(\d+))?")
_DEFINITION = re.compile(r"^ {0,3}\[(\^?[^\]\n]+)\]:.*$", re.MULTILINE)
_LITERAL = re.compile(
    r"(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"  # code
    r"|<(?P<tag>code|pre|kbd|samp)\b.*?</(?P=tag)>|<[a-zA-Z/!][^>\n]*>"  # HTML
    r"|\$\$.+?\$\$|\$(?!\s)[^$\n]+?(?<!\s)\$(?!\d)|\\\(.+?\\\)|\\\[.+?\\\]"  # formulas
    r"|\\begin\{(?P<environment>[a-z*]+)\}.+?\\end\{(?P=environment)\}"
    r"|!?\[[^\[\]\n]*\]\([^()\n]*\)|\[\[[^\]\n]*\]\]"  # links
    r"|https?://[^\s<>\[\]]*(?:\[\w*\][\w/=&%#-][^\s<>\[\]]*)*",
    re.DOTALL,
)
_CODE_BEFORE = re.compile(r"[\w)]\Z")
_CODE_AFTER = re.compile(r"\s*=(?!=)|\.[^\W\d]|[(\w]")
_QUANTIFIER = ("+", "*", "{")


class Mark(NamedTuple):
    """Mark in a text: its span, the numbers that are known, and how many are not."""

    start: int
    end: int
    numbers: list[int]
    n_unknown: int


def find_marks(text: str, n_passages: int) -> Iterator[Mark]:
    """Yield the marks that cite at least one of the passages, which are numbered from 1."""
    literal = _Literal(text)
    last_end = -1
    for match in _MARK.finditer(text):
        start, end = match.start("open"), match.end()
        if text[end - 1] != _PAIRS[text[start]] or literal.holds(start):
            continue
        is_next = last_end == match.start()
        if match["items"] in literal.labels or _is_other(text, match, is_next=is_next):
            continue
        numbers, n_unknown = _numbers(match["items"], n_passages)
        if numbers:
            last_end = end
            yield Mark(match.start(), end, numbers, n_unknown)


def _is_other(text: str, match: re.Match[str], *, is_next: bool) -> bool:
    """Return whether a bracket is an index, a pattern, or a link's label."""
    start, end = match.start("open"), match.end()
    preceding, following = text[:start][-40:], text[end : end + 2]
    if text[start] != "[":
        return False
    if preceding.endswith(("[", "\\", "!")) or following.startswith(("](", "(", "]", ":]")):
        return True
    if preceding.endswith("]") and not is_next:
        return True
    if re.search(r"\\[a-zA-Z]+\Z", preceding):
        return True
    if following.startswith(_QUANTIFIER) and re.search(r"[-–—]", match["items"]):
        return True
    return bool(_CODE_BEFORE.search(preceding) and _CODE_AFTER.match(text, end))


def _numbers(items: str, n_passages: int) -> tuple[list[int], int]:
    """Return the known numbers of a bracket, and how many are unknown; none where one is 0.

    A range that leaves the passages counts as its two ends.
    """
    numbers: list[int] = []
    for match in _RANGE.findall(items):
        ends = [int(number) for number in match if number]
        is_range = 1 <= ends[0] <= ends[-1] <= n_passages
        numbers += range(ends[0], ends[-1] + 1) if is_range else ends
    if 0 in numbers:
        return [], 0
    known = [number for number in numbers if number <= n_passages]
    return known, len(numbers) - len(known)


class _Literal:
    """Parts of a text that are no prose, and the labels that it defines."""

    def __init__(self, text: str) -> None:
        definitions = list(_DEFINITION.finditer(text))
        self.labels = {match[1] for match in definitions}
        spans = [match.span() for match in definitions]
        spans += _code_blocks(text)
        spans += [match.span() for match in _LITERAL.finditer(text)]
        self._starts = [start for start, _ in sorted(spans)]
        self._ends = list(accumulate((end for _, end in sorted(spans)), max))

    def holds(self, at: int) -> bool:
        """Return whether a character is in one of the parts."""
        row = bisect_right(self._starts, at) - 1
        return row >= 0 and at < self._ends[row]


def _code_blocks(text: str) -> list[tuple[int, int]]:
    """Return the spans of fenced and of indented code."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tokens = MarkdownIt("commonmark").parse(text)
    lines = (token.map for token in tokens if token.type in {"fence", "code_block"} and token.map)
    return [(starts[first], starts[min(end, len(starts) - 1)]) for first, end in lines]


def renumber(text: str, sources: Sequence[Source]) -> tuple[str, tuple[Source, ...], int]:
    """Renumber citations such as ``[2]``, ``[1, 4]`` and ``[1-3]`` by the order of their sources.

    ``[k]`` cites ``sources[k - 1]``. An unknown number in a mark is dropped.

    Returns:
        The text, its cited sources by their new numbers, and how many numbers were unknown.
    """
    new: dict[Source, int] = {}
    parts: list[str] = []
    end = n_unknown = 0
    for mark in find_marks(text, len(sources)):
        cited = dict.fromkeys(sources[number - 1] for number in mark.numbers)
        numbers = "".join(f"[{new.setdefault(source, len(new) + 1)}]" for source in cited)
        space = " " if numbers and text[mark.start] in " \t" else ""
        parts += [text[end : mark.start], space, numbers]
        end, n_unknown = mark.end, n_unknown + mark.n_unknown
    return "".join([*parts, text[end:]]), tuple(new), n_unknown
