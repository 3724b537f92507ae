"""A table before it is written, and a comparison as tables."""

from __future__ import annotations

from dataclasses import dataclass

from raptor_core.evaluation.bootstrap import interval_text
from raptor_core.evaluation.compare import Comparison, Line


@dataclass(frozen=True, slots=True)
class Table:
    """One table; every row has a cell for each column of ``head``.

    ``note`` is one sentence or two below the title; it may be empty.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


_HEAD = ("strategy", "budget", "tokens", "questions", "mean", "difference", "p", "nodes by layer")


def comparison_tables(comparison: Comparison, kind: str = "") -> list[Table]:
    """A table for each measure; ``kind`` says which questions it is of, if not of all.

    A difference is to the first system.
    """
    name = f"{comparison.dataset}, {kind}" if kind else comparison.dataset
    return [
        Table(
            f"{name}: {measure.replace('_', ' ')}",
            _HEAD,
            tuple(_row(line, measure) for line in comparison.lines if measure in line.figures),
            comparison.meanings[measure],
        )
        for measure in comparison.measures
    ]


def _row(line: Line, measure: str) -> tuple[str, ...]:
    figure = line.figures[measure]
    difference = figure.difference
    return (
        line.system,
        f"{line.budget_tokens:,}",
        f"{line.mean_tokens:,.0f}",
        str(figure.n_questions),
        interval_text(figure.mean),
        "" if difference is None else interval_text(difference.interval, "+"),
        "" if difference is None else f"{difference.p:.3f}",
        ", ".join(f"{layer}: {share:.0%}" for layer, share in line.layers.items()),
    )
