"""A comparison as tables for people, and question by question for machines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from raptor_core.evaluation.compare import Comparison, Figure, Line
    from raptor_core.evaluation.tree_statistics import TreeStatistics

PIPE_COLUMNS = 160


def question_values(found: Comparison) -> list[dict[str, Any]]:
    """Every question's figures as plain values."""
    return [
        {
            "id": item.question.id,
            "document": item.question.document,
            "strategy": item.system,
            "budget_tokens": item.budget_tokens,
            "n_tokens": item.n_tokens,
            **item.measures,
            **({} if item.answer is None else {"answer": item.answer}),
        }
        for item in found.found
    ]


def print_comparison(found: Comparison, kind: str = "") -> None:
    """A table for each measure; ``kind`` says which questions it is of, if not of all."""
    from rich.console import Console
    from rich.table import Table

    from raptor_core.evaluation.compare import MEANINGS

    console = Console(width=None if sys.stdout.isatty() else PIPE_COLUMNS)
    for measure in found.measures:
        table = Table(
            title=f"{found.dataset}{kind and f', {kind}'}: {measure.replace('_', ' ')}",
            caption=MEANINGS[measure],
            title_justify="left",
            caption_justify="left",
        )
        table.add_column("strategy", no_wrap=True)
        for name in ("budget", "tokens", "questions", "mean", "difference", "p"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("nodes by layer", no_wrap=True)
        for line in found.lines:
            if measure in line.figures:
                table.add_row(*_cells(line, line.figures[measure]))
        console.print(table)


def print_trees(trees: TreeStatistics) -> None:
    """Sizes of the trees in two lines, beside the paper's (Table 10)."""
    layers = ", ".join(f"{layer}: {n:,}" for layer, n in enumerate(trees.nodes_by_layer))
    click.echo(f"{trees.n_trees} trees, nodes by layer {layers}")
    click.echo(
        f"children per summary {trees.mean_children:.1f} (paper 6.7), tokens of a summary "
        f"{trees.mean_summary_tokens:.0f} (131), of a child {trees.mean_child_tokens:.0f} (86), "
        f"ratio {trees.mean_ratio:.2f} (0.28)"
    )


def _cells(line: Line, figure: Figure) -> tuple[str, ...]:
    from raptor_core.evaluation.bootstrap import interval_text

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
