"""Detection of numbers and dates in a text, and their values.

"1,000", "1 000", "one thousand" and "1k" have the same value. A number may be ambiguous ("1.000" is
1000 or 1), so it has a set of values. Words, names and codes are in ``terms``.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from raptor_core.text.words import find_words, fold

_GROUP = r"[,.'’\u066c\u00a0\u202f]"
_NUMBER = re.compile(
    rf"(?<![\d.,])\d{{1,3}}(?: \d{{3}})+(?![\d.,]?\d)|\d+(?:(?:{_GROUP}|\u066b)\d+)*"
)
_GROUPED = re.compile(rf"\d{{1,3}}(?:[ ]\d{{3}})+|\d{{1,3}}(?:{_GROUP}\d{{2,3}})*{_GROUP}\d{{3}}")
_DATE = re.compile(
    r"(?<![\d.])(?:(?P<y>\d{4})[-/.年]\s?(?P<m>\d{1,2})[-/.月]\s?(?P<d>\d{1,2})日?"
    r"|(?P<a>\d{1,2})[-/.]\s?(?P<b>\d{1,2})[-/.]\s?(?P<z>\d{4}|\d{2}))(?![\d.]\d)"
)
_RANGE = re.compile(r"(?<!\d)(\d{2})\d{2}[-–/](\d{2})(?!\d)")
_EVENING = re.compile(r"(?<!\d)(\d{1,2})(?:[:.]\d\d)?\s?p\.?\s?m\b", re.IGNORECASE)
_DECADE = re.compile(r"['’]?s\b")
_CENTURY = re.compile(r"(?:st|nd|rd|th)?[ -]centur")
_PERCENT = re.compile(
    r"\s?(?:[%٪％]|per ?cent\b|prozent\b|pour ?cent\b|por ?cient?o\b|per cento\b|procent\b"
    r"|процент)",
    re.IGNORECASE,
)
_PER_CENT = re.compile(r"\b(?:per|pour|por) (?=cent)", re.IGNORECASE)
_SCALE = re.compile(r"\s?(?P<word>百万|[万萬만亿億억千천]|[^\W\d_]+)")
_SCALES = {
    "k": 3, "m": 6, "mn": 6, "mio": 6, "mill": 6, "bn": 9, "b": 9, "mrd": 9, "md": 9, "tn": 12,
    "lakh": 5, "lakhs": 5, "crore": 7, "crores": 7, "тыс": 3, "млн": 6, "млрд": 9,
    "万": 4, "萬": 4, "만": 4, "亿": 8, "億": 8, "억": 8, "千": 3, "천": 3, "百万": 6,
}  # fmt: skip
"""Powers of ten by the sign after a number; words such as "million" are in number_words.txt."""
_CURRENCIES = tuple("$€£¥₹")
_HAN = re.compile(r"[零〇一二两兩三四五六七八九十百千万萬亿億]+")
_HAN_DIGITS = {c: at % 10 for at, c in enumerate("零一二三四五六七八九〇")} | {"两": 2, "兩": 2}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_LINKS = frozenset({"and", "und", "et", "y", "e", "i", "en", "a", "og", "och"})
_MIN_COMPOUND, _MAX_COMPOUND = 6, 40
COUNTABLE = 12
"""Largest whole number that may be a count of the things that a text lists."""


class Number(NamedTuple):
    """A number as written, its possible values as plain decimals, and its span.

    ``may_be_count`` is True for a small whole number, which may count what a text lists, and
    for a vague number, such as "hundred".
    """

    text: str
    values: frozenset[str]
    start: int
    end: int
    may_be_count: bool = False


def format_plain_decimal(value: Decimal) -> str:
    """Format a value as a plain decimal without an exponent and trailing zeros."""
    text = format(value, "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def find_numbers(text: str) -> list[Number]:
    """Return the numbers of a text in order, in digits and in words, without dates."""
    bare = blank_out_dates(text)
    digits = list(_find_numbers_in_digits(bare))
    scales = {number.end for number in digits}
    words = (number for number in _find_numbers_in_words(bare) if number.end not in scales)
    return sorted([*digits, *words, *_find_chinese_numbers(bare)], key=lambda number: number.start)


def _find_numbers_in_digits(text: str) -> Iterator[Number]:
    for match in _NUMBER.finditer(text):
        values, (start, end) = set(possible_values(match[0])), match.span()
        if _DECADE.match(text, end) and len(match[0]) == 4:
            values |= {f"{match[0][:3]}{year}" for year in range(10)}
        small = int(match[0]) if match[0].isdecimal() and len(match[0]) < 3 else 0
        if small and _CENTURY.match(text, end):
            values |= {f"{small - 1}{year:02}" for year in range(100)}
        counts = match[0].isdecimal() and small <= COUNTABLE and len(match[0]) < 3
        counts = counts and text[max(0, start - 2) : start].strip()[-1:] not in _CURRENCIES
        scale = _SCALE.match(text, end)
        if scale and (power := _power_of_ten(scale["word"])):
            scaled, is_sign = (
                {_multiply_by_power(v, power) for v in values},
                scale["word"] in tuple("kKmMbB"),
            )
            values = values | scaled if is_sign else scaled  # because "5m" may mean metres
            counts, end = False, scale.end()
        percent = _percent_values(text, end, values)
        yield Number(match[0], percent.union(values), start, end, counts and not percent)


def _percent_values(text: str, end: int, values: Iterable[str]) -> frozenset[str]:
    """Return the values divided by 100 if a percent sign or word follows, else none."""
    is_percent = _PERCENT.match(text, end) is not None
    return frozenset(_multiply_by_power(value, -2) for value in values if is_percent)


def _power_of_ten(word: str) -> int:
    if word in _SCALES or word.lower() in _SCALES:
        return _SCALES.get(word) or _SCALES[word.lower()]
    value = max(number_word_values().get(fold(word), (0,)))
    return len(str(value)) - 1 if value >= 1000 else 0


def _multiply_by_power(value: str, power: int) -> str:
    number = parse_decimal(value)
    return value if number is None else format_plain_decimal(number.scaleb(power))


def possible_values(number: str) -> frozenset[str]:
    """Return the values that ``number`` may have: 1000 for "1,000", 1000 or 1 for "1.000"."""
    digits = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in number)
    values = set()
    if _GROUPED.fullmatch(digits):
        values.add(format_plain_decimal(Decimal(re.sub(r"\D", "", digits))))
    groups = re.split(r"\D", digits)
    separators = set(re.findall(r"\D", digits))
    if len(groups) == 1 or (len(groups) == 2 and separators & {".", ",", "\u066b"}):
        values.add(format_plain_decimal(Decimal(".".join(groups))))
    elif len(separators) > 1:  # in "1,234.56", the last one is the decimal separator
        values.add(format_plain_decimal(Decimal("".join(groups[:-1]) + "." + groups[-1])))
    return frozenset(values or {digits})


def is_grouped(number: str) -> bool:
    """Return whether a number has separators between its thousands."""
    return _GROUPED.fullmatch(number) is not None


@cache
def number_word_values() -> dict[str, tuple[int, ...]]:
    """Return the values of each number word, folded, in all languages."""
    by_word: dict[str, tuple[int, ...]] = {}
    for line in _read_lines("number_words.txt"):
        value, _, spelled = line.partition(": ")
        for word in spelled.split():
            by_word[fold(word)] = (*by_word.get(fold(word), ()), int(value))
    return by_word


@cache
def month_numbers() -> dict[str, int]:
    """Return the number of each month by its folded name, in all languages."""
    lines = enumerate(_read_lines("months.txt"), 1)
    return {fold(word): month for month, line in lines for word in line.split()}


def _read_lines(name: str) -> list[str]:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()


@cache
def _number_word_pattern() -> re.Pattern[str]:
    parts = "|".join(
        sorted(filter(lambda w: len(w) > 2, number_word_values()), key=len, reverse=True)
    )
    return re.compile(rf"(?:{parts})(?:(?:und|en|et|og|e)?(?:{parts}))+")


@lru_cache(maxsize=65_536)
def _split_number_word(word: str) -> tuple[tuple[int, ...], ...]:
    """Return the values of the number words that make up a word, such as "fünfundzwanzig".

    The result is empty if the word contains anything else.
    """
    if word in number_word_values():
        return (number_word_values()[word],)
    if not _MIN_COMPOUND <= len(word) <= _MAX_COMPOUND or not _number_word_pattern().fullmatch(
        word
    ):
        return ()
    names = sorted(filter(lambda w: len(w) > 2, number_word_values()), key=len, reverse=True)
    return tuple(number_word_values()[name] for name in re.findall("|".join(names), word))


def _find_numbers_in_words(text: str) -> Iterator[Number]:
    """Yield the numbers in words; consecutive words, such as "two hundred and five", are one."""
    text = _PER_CENT.sub(lambda match: f"{match[0][:-1]}x", text)
    run: list[tuple[int, ...]] = []
    start = end = 0
    for match in find_words(text):
        parts = _split_number_word(fold(match[0])) if match[0][0].isalpha() else ()
        between = text[end : match.start()].strip().casefold()
        if run and parts and not _continues_number(max(run[-1]), max(parts[0]), between):
            yield _words_to_number(text, run, start, end)
            run = []
        if parts:
            start = start if run else match.start()
            run, end = [*run, *parts], match.end()
    if run:
        yield _words_to_number(text, run, start, end)


def _continues_number(before: int, after: int, between: str) -> bool:
    """Return whether a number word continues the number before it."""
    if between in _LINKS:
        return before >= 20 and after < before
    if between not in ("", "-", "\u2011"):
        return False
    is_pair = 10 <= before < 100 and 10 <= after < 100  # such as a year or a price
    return (
        is_pair or after >= 100 or (before >= 20 and after < before) or (before, after) == (4, 20)
    )


def _words_to_number(text: str, run: Sequence[tuple[int, ...]], start: int, end: int) -> Number:
    """Return the number that consecutive words make, with all its possible values."""
    firsts = [max(values) for values in run]
    values = {_add_up_number_words(firsts), *(run[0] if len(run) == 1 else ())}
    shown = {str(value) for value in values}
    if len(firsts) > 1 and 10 <= firsts[0] < 100 and 10 <= firsts[1] < 100:  # a year or a price
        rest = sum(firsts[1:])
        shown |= {str(100 * firsts[0] + rest), format_plain_decimal(Decimal(f"{firsts[0]}.{rest}"))}
    percent = _percent_values(text, end, shown)
    is_vague = len(run) == 1 and firsts[0] >= 100  # such as "a few hundred"
    counts = (min(values) <= COUNTABLE or is_vague) and not percent
    return Number(text[start:end], frozenset(shown | percent), start, end, counts)


def _add_up_number_words(parts: Sequence[int]) -> int:
    total = current = 0
    for value in parts:
        if value >= 1000:
            total, current = total + max(current, 1) * value, 0
        elif value == 100 or (value, current) == (20, 4) or (value == 12 and 1 < current < 10):
            current = max(current, 1) * value
        else:
            current += value
    return total + current


def _find_chinese_numbers(text: str) -> Iterator[Number]:
    """Yield the numbers in Chinese characters, such as 二十五.

    A single character is ignored, because it is usually part of a word.
    """
    for match in _HAN.finditer(text):
        signs = match[0]
        if len(signs) < 2 or _HAN_DIGITS.keys().isdisjoint(signs):
            continue
        if _HAN_SCALES.keys().isdisjoint(signs):
            value = int("".join(str(_HAN_DIGITS[sign]) for sign in signs))
        else:
            total = current = digit = 0
            for sign in signs:
                scale = _HAN_SCALES.get(sign, 0)
                if scale >= 10**4:
                    total, current, digit = (total + current + digit) * scale, 0, 0
                elif scale:
                    current, digit = current + max(digit, 1) * scale, 0
                else:
                    digit = _HAN_DIGITS[sign]
            value = total + current + digit
        yield Number(signs, frozenset({str(value)}), *match.span(), value <= COUNTABLE)


class Date(NamedTuple):
    """A date in digits: its text, and the possible values of day, month and year."""

    text: str
    days: frozenset[str]
    months: frozenset[str]
    years: frozenset[str]

    @property
    def term_forms(self) -> tuple[frozenset[str], ...]:
        """Forms of day, month and year, as in ``terms.SupportedTerms``."""
        days, years = (frozenset(f"#{v}" for v in values) for values in (self.days, self.years))
        return days, frozenset(f"@{month}" for month in self.months), years


def find_dates(text: str) -> list[Date]:
    """Return the dates in digits in a text; in "3/5/2024", day and month are ambiguous."""
    dates = []
    for match in _DATE.finditer(text):
        year = match["y"] or match["z"]
        first, second = (match["d"], match["m"]) if match["y"] else (match["a"], match["b"])
        both = {str(int(first)), str(int(second))}
        in_year = {n for n in both if 1 <= int(n) <= 12}
        if not in_year or any(not 1 <= int(n) <= 31 for n in both):
            continue
        years = {year} if len(year) == 4 else {f"19{year}", f"20{year}", str(int(year))}
        days = {str(int(first))} if match["y"] else both
        possible = {str(int(second))} if match["y"] else in_year
        dates.append(Date(match[0], frozenset(days), frozenset(possible), frozenset(years)))
    return dates


def find_implied_values(text: str) -> Iterator[str]:
    """Yield values that a text implies besides its numbers: 1995 for "1990-95", 15 for "3 pm"."""
    for match in _RANGE.finditer(text):
        yield match[1] + match[2]
    for match in _EVENING.finditer(text):
        yield str(int(match[1]) % 12 + 12)


def blank_out_dates(text: str) -> str:
    """Replace the dates in digits in a text by spaces of the same length."""
    return _DATE.sub(lambda match: " " * len(match[0]), text)


def parse_decimal(value: str) -> Decimal | None:
    """Convert a value to a number; None if it is not a number, such as the digits of a version."""
    try:
        return Decimal(value)
    except InvalidOperation:
        return None
