"""Numbers of parts of a text: "chapter 3", "Chapter III", "the third chapter", "drittes Kapitel".

``numerals.txt`` contains the names of parts, and the numbers up to 12 in words and Roman numerals,
in the languages of ``wording`` that put spaces between words.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path


@cache
def _numeral_lines() -> dict[str, list[str]]:
    text = Path(__file__).with_name("numerals.txt").read_text(encoding="utf-8")
    pairs = (line.partition(":") for line in text.splitlines())
    return {name: words.split() for name, _, words in pairs}


@cache
def _digits_by_form() -> dict[str, str]:
    """Return the digits of each number by its forms."""
    numbers = {n: [n, *forms] for n, forms in _numeral_lines().items() if n.isdigit()}
    return {form: number for number, forms in numbers.items() for form in forms}


def find_part_numbers(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each numeral next to a part's name with digits: ("third", "3") for "third chapter".

    Args:
        words: casefolded words of a question or heading.
    """
    parts, numbers = _numeral_lines()["part"], _digits_by_form()
    for pair in pairwise(words):
        for part, form in (pair, pair[::-1]):
            if part in parts and form in numbers:
                yield form, numbers[form]


def find_heading_numbers(words: Sequence[str]) -> set[str]:
    """Return the number of a heading, such as "3" of "Chapter Three" or "III. The cave"."""
    named = {number for _, number in find_part_numbers(words)}
    if named or not words:
        return named
    romans = {forms[0]: number for number, forms in _numeral_lines().items() if number.isdigit()}
    return {romans[words[0]]} if words[0] in romans else set()


def number_forms(number: str) -> list[str]:
    """Return a number in digits and in all other forms."""
    return [number, *_numeral_lines().get(number, ())]
