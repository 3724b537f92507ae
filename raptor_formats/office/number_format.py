"""Number formats of spreadsheets: the text that a sheet shows for a number (ECMA-376, 18.8.31)."""

import re
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache

_DATE = "yyyy-mm-dd"
_LISTED = """
1=0|2=0.00|3=#,##0|4=#,##0.00|5="$"#,##0|6="$"#,##0|7="$"#,##0.00|8="$"#,##0.00|9=0%|10=0.00%
11=0.00E+00|15=d-mmm-yy|16=d-mmm|17=mmm-yy|18=h:mm AM/PM|19=h:mm:ss AM/PM
20=h:mm|21=h:mm:ss|22=yyyy-mm-dd h:mm|37=#,##0;(#,##0)|38=#,##0;(#,##0)|39=#,##0.00;(#,##0.00)
40=#,##0.00;(#,##0.00)|41=#,##0|42="$"#,##0|43=#,##0.00|44="$"#,##0.00|45=mm:ss|46=[h]:mm:ss
47=mm:ss.0|48=##0.0E+0|49=@
"""
_PAIRS = (entry.partition("=") for entry in _LISTED.strip().replace("\n", "|").split("|"))
BUILT_IN = {
    **{int(number): code for number, _, code in _PAIRS},
    **dict.fromkeys([14, *range(27, 37), *range(50, 59)], _DATE),
}
"""Formats that files name only by number; a locale's short date is shown as an ISO date."""

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|(?P<space>_.)|(?P<fill>\*.)'
    r"|\[\$(?P<money>[^\]-]*)[^\]]*\]|\[(?P<elapsed>h+|m+|s+)\]|\[(?P<bracket>[^\]]*)\]"
    r"|(?P<general>General)|(?P<half>AM/PM|A/P)|(?P<exponent>E[+-]0+)"
    r"|(?P<date>y+|m+|d+|h+|s+(?:\.0+)?|e+)|(?P<digit>[0#?])|(?P<point>\.)|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_UNREAD = re.compile(r"\[[<>=]|[#?0] ?/")  # conditions and fractions
_MIDNIGHT = re.compile(r"[ T]+(?:0?0:00(?::00(?:\.0+)?)?|12:00(?::00)? AM)\Z")
_MONTHS = "January February March April May June July August September October November December"
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_PRECISE = Context(prec=400)
_LAST_SERIAL = 2_958_466  # the year 10,000
_UNIT_SECONDS = {"h": 3600, "m": 60, "s": 1}

_Tokens = tuple[tuple[str, str], ...]


def format_number(value: float, code: str, *, from_1904: bool = False) -> str:
    """Format a number as a sheet shows it under a format code, with English months and days.

    Formats with conditions or fractions leave the number unchanged.
    """
    if _UNREAD.search(code):
        code = "General"
    tokens, is_negated = _choose_section(code, value)
    kinds = {kind for kind, _ in tokens}
    if not tokens and ";" in code:
        return ""
    if value < 0 and "elapsed" in kinds:
        return f"-{format_number(-value, code, from_1904=from_1904)}"
    if kinds & {"date", "elapsed"} and "digit" not in kinds and 0 <= value < _LAST_SERIAL:
        return _format_date(value, tokens, from_1904=from_1904).strip()
    if "digit" not in kinds and (not tokens or kinds & {"date"} or ("other", "@") in tokens):
        return f"{value:.15g}".upper()
    sign = "-" if value < 0 and not is_negated else ""
    if "general" in kinds:
        return sign + _join_literals(tokens, general=f"{abs(value):.15g}".upper()).strip()
    return sign + _format_digits(Decimal(repr(abs(value))), tokens).strip()


@cache
def _parse_format_code(code: str) -> tuple[_Tokens, ...]:
    parts: list[list[tuple[str, str]]] = [[]]
    for match in _TOKEN.finditer(code):
        kind = match.lastgroup or ""
        if (kind, match[0]) == ("other", ";"):
            parts.append([])
        elif kind not in {"fill", "bracket"}:
            parts[-1].append((kind, match[kind]))
    return tuple(map(tuple, parts))


def _choose_section(code: str, value: float) -> tuple[_Tokens, bool]:
    """Return the part of a format that applies to a number, and whether it shows a minus sign."""
    sections = _parse_format_code(code)
    row = 1 if value < 0 else 2 if value == 0 else 0
    row = row if row < len(sections) else 0
    return sections[row], row == 1


def _format_digits(value: Decimal, tokens: _Tokens) -> str:
    slots = [n for n, (kind, _) in enumerate(tokens) if kind in {"digit", "point"}]
    if not slots:
        return _join_literals(tokens)
    first, end = slots[0], slots[-1] + 1
    while tokens[end : end + 1] == (("other", ","),):
        value, tokens = value / 1000, tokens[:end] + tokens[end + 1 :]
    value *= 100 ** tokens.count(("other", "%"))
    marks = [text for kind, text in tokens if kind == "exponent"]
    if marks and value:
        value = Context(sum(tokens[n][0] == "digit" for n in slots), ROUND_HALF_UP).plus(value)
    power = value.adjusted() if marks and value else 0
    exponent = f"E{power:+0{len(marks[0]) - 1}d}" if marks else ""
    body = _fill_digit_places(value.scaleb(-power), tokens[first:end])
    return _join_literals(tokens[:first]) + body + _join_literals(tokens[end:], exponent)


def _fill_digit_places(value: Decimal, core: _Tokens) -> str:
    """Return the digits in their places, with the literal texts between them."""
    point = core.index(("point", ".")) if ("point", ".") in core else len(core)
    places = [text for kind, text in core[point:] if kind == "digit"]
    rounded = value.quantize(Decimal(1).scaleb(-len(places)), ROUND_HALF_UP, _PRECISE)
    units, _, decimals = f"{rounded:f}".partition(".")
    n_fixed = places.count("0")
    decimals = decimals[:n_fixed] + decimals[n_fixed:].rstrip("0")
    slots = [text for kind, text in core[:point] if kind == "digit"]
    units = units.lstrip("0").zfill(slots.count("0"))
    if ("other", ",") in core[:point]:
        units = f"{int(units):,}" if units else ""
    elif len(slots) < point:  # such as 000-00-0000
        digits = iter([units[: len(units) - len(slots) + 1], *units[len(units) - len(slots) + 1 :]])
        units = "".join(next(digits, "") if kind == "digit" else t for kind, t in core[:point])
    return f"{units}.{decimals}" if decimals else units


def _join_literals(tokens: _Tokens, exponent: str = "", general: str = "") -> str:
    shown = {"space": " ", "exponent": exponent, "general": general}
    return "".join(shown.get(kind, text) for kind, text in tokens)


def _format_date(serial: float, tokens: _Tokens, *, from_1904: bool) -> str:
    """Format a date, a time of day, or a duration, from a number of days."""
    fine = next((t for kind, t in tokens if kind == "date" and "." in t), "s.")
    n_decimals = len(fine.partition(".")[2])
    seconds = round(serial * 86_400, n_decimals)
    lag = 0 if from_1904 or serial >= 60 else 1  # sheets count a 29 February 1900
    epoch = datetime(1904, 1, 1) if from_1904 else datetime(1899, 12, 30)
    moment = epoch + timedelta(days=lag, seconds=seconds)
    is_half = any(kind == "half" for kind, _ in tokens)
    pieces: list[str] = []
    unit = ""  # of the last part; "m" after hours are minutes
    for n, (kind, text) in enumerate(tokens):
        if kind == "elapsed":
            unit = text[0].lower()
            pieces.append(f"{int(seconds // _UNIT_SECONDS[unit]):0{len(text)}d}")
        elif kind == "date":
            rest = (t[0].lower() for k, t in tokens[n + 1 :] if k in {"date", "elapsed"})
            is_minute = text[0] in "mM" and (unit == "h" or next(rest, "") == "s")
            unit = text[0].lower()
            pieces.append(
                _format_date_part(moment, "i" * len(text) if is_minute else text.lower(), is_half)
            )
        elif kind == "half":
            pieces.append("AM" if moment.hour < 12 else "PM")
        else:
            pieces.append(_join_literals(((kind, text),)))
    shown = "".join(pieces)
    return _MIDNIGHT.sub("", shown) if moment.time() == datetime.min.time() else shown


def _format_date_part(moment: datetime, part: str, is_half: bool) -> str:
    """Format a part of a date; "i" stands for minutes."""
    n_chars = len(part)
    if part[0] == "m" and n_chars > 2:
        name = _MONTHS.split()[moment.month - 1]
        return name[:3] if n_chars == 3 else name[:1] if n_chars == 5 else name
    if part[0] == "d" and n_chars > 2:
        name = _DAYS.split()[moment.weekday()]
        return name[:3] if n_chars == 3 else name
    if part[0] in "ye":
        return f"{moment.year % 100:02d}" if part in {"y", "yy"} else f"{moment.year:04d}"
    if part[0] == "s":
        fraction = part.partition(".")[2]
        decimals = f"{moment.microsecond:06d}"[: len(fraction)]
        return f"{moment.second:0{2 if part[:2] == 'ss' else 1}d}" + (
            f".{decimals}" if fraction else ""
        )
    hour = (moment.hour % 12 or 12) if is_half else moment.hour
    value = {"m": moment.month, "d": moment.day, "h": hour, "i": moment.minute}[part[0]]
    return f"{value:0{min(n_chars, 2)}d}"
