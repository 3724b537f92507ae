"""What the paper reports (Sarthi et al. 2024, arXiv:2401.18059), by its own table numbers.

Shares are in percent, as they are printed there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from raptor_core.evaluation.tables import Table

ANSWERS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {"qasper": (2, 3, 5), "quality": (2, 4, 7, 9), "narrativeqa": (1, 6)}
)
"""Tables of answers by data set."""

LAYERS = (8, 14, 15, 16, 17)
"""Accuracy by start layer and number of layers, of single stories."""

SHARES = (18, 19, 20, 21)
COMPRESSION = 10
_NOTES = dict.fromkeys(SHARES, "Share of the nodes that the collapsed tree retrieved, in percent.")
_NOTES[COMPRESSION] = "Summaries by gpt-3.5-turbo."
_READ = "Scores of answers, in percent, from the paper."


def published(*numbers: int) -> list[Table]:
    """The paper's tables of these numbers."""
    return [_tables()[number] for number in numbers]


@cache
def _tables() -> Mapping[int, Table]:
    """Of ``published.txt``: title, head and rows of each, cells between "|"."""
    text = Path(__file__).with_name("published.txt").read_text(encoding="utf-8")
    tables = {}
    for part in text.rstrip("\n").split("\n\n"):
        title, *lines = part.split("\n")
        number = int(title.removeprefix("Table ").partition(":")[0])
        head, *rows = (tuple(map(str.strip, line.split("|"))) for line in lines)
        tables[number] = Table(f"Paper, {title}", head, tuple(rows), _NOTES.get(number, _READ))
    return tables
