"""Citations in an answer, such as ``[2]``, which refer to passages by number.

A citation is outside of code, formulas and links, and refers to a passage that the model got.
Anything else in brackets is text, which is not changed. Asking a model is in ``reader``.
"""

import re
from collections.abc import Hashable, Sequence
from typing import TypeVar

Source = TypeVar("Source", bound=Hashable)

_NUMBER = r"\^?\d{1,12}"
_ITEM = rf"{_NUMBER}(?:\s*[-–—]\s*{_NUMBER})?"
_WORD = r"and|und|et|y|e|i|и|和|及|と"
_BETWEEN = rf"(?:\s*[,;、，；&]\s*(?:(?:{_WORD})\s+)?|\s+(?:{_WORD})\s+|\s*[和及と]\s*)"
_RANGE = re.compile(r"\^?(\d+)(?:\s*[-–—]\s*\^?(\d+))?")
_LITERAL = (
    r"^[ \t]*(?P<fence>`{3,}|~{3,}).*?(?:^[ \t]*(?P=fence)|\Z)"
    r"|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"
    r"|<(?P<tag>code|pre|kbd|samp)\b.*?</(?P=tag)>|<[a-zA-Z/!][^>\n]*>"
    r"|\$\$.+?\$\$|\$(?!\s)[^$\n]+?(?<!\s)\$(?!\d)|\\\(.+?\\\)|\\\[.+?\\\]"
    r"|\\begin\{(?P<environment>[a-z*]+)\}.+?\\end\{(?P=environment)\}"
    r"|!?\[[^\[\]\n]*\](?:\([^()\n]*\)|:(?=[ \t]+\S+://))|\[\[[^\]\n]*\]\]"
    r"|\[[^\[\]\n]*[a-zA-Z][^\[\]\n]*\]\[[^\[\]\n]*\]"
    r"|https?://[^\s<>\[\]]*(?:\[\w*\][\w/=&%#-][^\s<>\[\]]*)*"
)
"""Code, HTML, formulas, links and addresses."""
_MARK = (
    rf"(?P<space>[ \t]?)[\[［【]\s*(?P<items>{_ITEM}(?:{_BETWEEN}{_ITEM})*)"
    r"\s*(?:†[^】\]\n]{0,80})?[\]］】](?![+*{(])"
)
_PART = re.compile(f"{_LITERAL}|{_MARK}", re.DOTALL | re.MULTILINE)


def renumber_citations(text: str, sources: Sequence[Source]) -> tuple[str, tuple[Source, ...], int]:
    """Renumber citations such as ``[2]``, ``[1, 4]`` and ``[1-3]`` in the order of first citation.

    ``[k]`` cites ``sources[k - 1]``. Numbers without a source are removed if another number in the
    same brackets has one.

    Returns:
        The text, the cited sources by their new numbers, and how many numbers were removed.
    """
    new: dict[Source, int] = {}
    n_unknown = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal n_unknown
        numbers, n_dropped = _read_cited_numbers(match["items"] or "", len(sources))
        if not numbers:
            return match[0]
        n_unknown += n_dropped
        cited = dict.fromkeys(sources[number - 1] for number in numbers)
        marks = "".join(f"[{new.setdefault(source, len(new) + 1)}]" for source in cited)
        return f"{match['space']}{marks}"

    return _PART.sub(replace, text), tuple(new), n_unknown


def _read_cited_numbers(items: str, n_passages: int) -> tuple[list[int], int]:
    """Return the valid numbers in brackets, and how many are invalid; none if any number is 0.

    A range that exceeds the number of passages counts as its two ends.
    """
    numbers: list[int] = []
    for match in _RANGE.findall(items):
        ends = [int(number) for number in match if number]
        is_range = 1 <= ends[0] <= ends[-1] <= n_passages
        numbers += range(ends[0], ends[-1] + 1) if is_range else ends
    if 0 in numbers:
        return [], 0
    valid = [number for number in numbers if number <= n_passages]
    return valid, len(numbers) - len(valid)
