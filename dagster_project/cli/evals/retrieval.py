"""`raptor eval retrieval`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dagster_project.cli.evals.common import dataset_options, open_evaluation, parse_budgets
from dagster_project.cli.options import home_and_json

if TYPE_CHECKING:
    from raptor_core.evaluation.bootstrap import Interval
    from raptor_core.evaluation.compare import Comparison, Figure, Line

PIPE_COLUMNS = 160


@click.command(
    epilog="\b\nExample:\n  raptor eval retrieval qasper.jsonl --strategy collapsed@0 "
    "--strategy collapsed"
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--strategy",
    "strategies",
    multiple=True,
    default=("collapsed",),
    show_default=True,
    metavar="NAME[@LAYERS]",
    help="A strategy, on all layers or on some, such as collapsed@0 or collapsed@1-2; may be "
    "repeated. The others are compared with the first.",
)
@click.option(
    "--budget-tokens",
    "budgets",
    default="400,1000,2000",
    show_default=True,
    callback=parse_budgets,
    help="Tokens of a context, one or several.",
)
@click.option("--pooled", is_flag=True, help="Ask every question of all documents together.")
@click.option(
    "--questions", "with_questions", is_flag=True, help="With --json: every question's figures."
)
@dataset_options
@home_and_json
def command(file: Path, home: Path, as_json: bool, **values: Any) -> None:
    """Compare strategies on questions whose answers are known, at equal token budgets.

    FILE is QASPER, QuALITY or the folder of NarrativeQA as they are published, documents with
    their questions (JSON Lines), or your own questions, as for `raptor eval golden`, with --source
    naming the documents. Trees are built by the home's settings, and kept in the cache.

    A difference is to the first strategy. Intervals are of 95 %, p is two-sided; both are
    bootstrapped over documents.
    """
    from dagster_project.cli.output import print_json
    from raptor_core.evaluation.compare import compare
    from raptor_core.evaluation.ways import make_way

    ways = [make_way(name) for name in values["strategies"]]
    with open_evaluation(file, home, values) as forest:
        found = compare(forest, ways, values["budgets"], pooled=values["pooled"])
        left_out = [f"{item.name}: {item.reason}" for item in forest.dataset.left_out]
    if as_json:
        told = {"file": str(file), **found.values(), "left_out": left_out}
        if values["with_questions"]:
            told["questions"] = question_values(found)
        print_json(told)
    else:
        _print(found)
        for line in left_out:
            click.secho(f"left out: {line}", fg="yellow", err=True)


def question_values(found: Comparison) -> list[dict[str, Any]]:
    """Every question's figures as plain values."""
    return [
        {
            "id": item.question.id,
            "document": item.question.document,
            "strategy": item.way,
            "budget_tokens": item.budget_tokens,
            "n_tokens": item.n_tokens,
            **item.measures,
        }
        for item in found.found
    ]


def _print(found: Comparison) -> None:
    from rich.console import Console
    from rich.table import Table

    from raptor_core.evaluation.measures import MEASURES

    console = Console(width=None if sys.stdout.isatty() else PIPE_COLUMNS)
    for measure in found.measures:
        table = Table(
            title=f"{found.dataset}: {measure.replace('_', ' ')}",
            caption=MEASURES[measure],
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


def _cells(line: Line, figure: Figure) -> tuple[str, ...]:
    difference = figure.difference
    return (
        line.way,
        f"{line.budget_tokens:,}",
        f"{line.mean_tokens:,.0f}",
        str(figure.n_questions),
        _told(figure.mean),
        "" if difference is None else _told(difference.interval, "+"),
        "" if difference is None else f"{difference.p:.3f}",
        ", ".join(f"{layer}: {share:.0%}" for layer, share in line.layers.items()),
    )


def _told(figure: Interval, sign: str = "") -> str:
    return f"{figure.value:{sign}.3f} [{figure.low:{sign}.3f}, {figure.high:{sign}.3f}]"
