"""Tables of results, before they are written as text or Markdown."""

from dataclasses import dataclass

from raptor_core.evaluation.bootstrap import interval_text
from raptor_core.evaluation.compare import Comparison, ComparisonRow


@dataclass(frozen=True, slots=True)
class Table:
    """Table with a cell for each column of ``head`` in every row; ``note`` is below the title."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


_HEAD = ("strategy", "budget", "tokens", "questions", "mean", "difference", "p", "nodes by layer")


def comparison_tables(comparison: Comparison, kind: str = "") -> list[Table]:
    """Make a table for each measure; ``kind`` names the kind of the questions, if not all."""
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


def _row(line: ComparisonRow, measure: str) -> tuple[str, ...]:
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
