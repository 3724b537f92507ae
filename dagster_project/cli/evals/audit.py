"""`raptor eval audit`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from dagster_project.cli.options import home_and_json

if TYPE_CHECKING:
    from raptor_core.audit.base import Judge
    from raptor_core.evaluation.bootstrap import Interval
    from raptor_core.evaluation.faithfulness import DatasetScore

PIPE_COLUMNS = 120
SPLIT = "documents whose hash is odd are reported, the others calibrate"


@click.command(epilog="\b\nExample:\n  raptor eval audit labelled/ --judge overlap")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--judge",
    "kind",
    type=click.Choice(["support", "overlap", "nli", "llm"]),
    help="Which judge; else the home's setting.",
)
@click.option("--model", help="Model of nli or llm; else the home's setting.")
@home_and_json
def command(folder: Path, kind: str | None, model: str | None, home: Path, as_json: bool) -> None:
    """Score a judge on labelled summaries, data set by data set.

    FOLDER holds docs.jsonl (doc_id, text) and pairs.jsonl (pair_id, dataset, doc_id, claim,
    label: 1 for consistent, 0 for not). Half of the documents calibrate, the other is reported;
    intervals are of 95 %, bootstrapped over documents. A judge that calls an endpoint is paid
    for every pair, within the home's budget.
    """
    from dagster_project.cli.output import print_json
    from raptor_core.chunking.sentences import sentences
    from raptor_core.evaluation.faithfulness import score_judge
    from raptor_core.evaluation.labelled import load_labelled

    labelled = load_labelled(folder)
    judge = _judge(home, kind, model)
    scores = score_judge(labelled, judge, sentences)
    if as_json:
        found = [asdict(score) for score in scores]
        print_json(
            {"judge": judge.name, "version": judge.version, "split": SPLIT, "datasets": found}
        )
    else:
        _print(judge, scores)


def _judge(path: Path, kind: str | None, model: str | None) -> Judge:
    from raptor_assets.project.home import Home
    from raptor_core.audit import make_judge
    from raptor_core.models.money import Ledger
    from raptor_core.settings import load_settings

    home = Home.at(path)
    settings = home.load_settings() if home.settings.exists() else load_settings()
    given = {name: value for name, value in {"judge": kind, "model": model}.items() if value}
    settings = settings.model_copy(update={"audit": settings.audit.model_copy(update=given)})
    return make_judge(settings.audit, ledger=Ledger.of(settings))


def _print(judge: Judge, scores: Sequence[DatasetScore]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"judge {judge.name} {judge.version}", caption=SPLIT, title_justify="left")
    for name in ("data set", "pairs", "AUC", "balanced accuracy", "of its verdicts"):
        justify: Literal["left", "right"] = "left" if name == "data set" else "right"
        table.add_column(name, justify=justify, no_wrap=True)
    for score in scores:
        figures = (score.auc, score.balanced_accuracy, score.verdict_accuracy)
        left_out = f" (+{score.n_not_judged} not judged)" if score.n_not_judged else ""
        table.add_row(score.dataset, f"{score.n_pairs}{left_out}", *map(_told, figures))
    Console(width=None if sys.stdout.isatty() else PIPE_COLUMNS).print(table)


def _told(figure: Interval) -> str:
    if figure.value is None:
        return "not defined"
    return f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"
