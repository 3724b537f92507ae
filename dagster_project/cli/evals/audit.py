"""`raptor eval audit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dagster_project.cli.options import home_and_json
from dagster_project.cli.output import print_json, print_table
from dagster_project.cli.session import home_settings
from raptor_core.audit import make_judge
from raptor_core.audit.base import Judge
from raptor_core.evaluation.bootstrap import interval_text
from raptor_core.evaluation.tables import Table
from raptor_core.models.money.ledger import Ledger

if TYPE_CHECKING:
    from raptor_core.evaluation.labelled import DatasetScore

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
    from raptor_core.evaluation.labelled import load_labelled, score_judge

    labelled = load_labelled(folder)
    judge = _judge(home, kind, model)
    scores = score_judge(labelled, judge)
    if as_json:
        datasets = [asdict(score) for score in scores]
        print_json(
            {"judge": judge.name, "version": judge.version, "split": SPLIT, "datasets": datasets}
        )
    else:
        _print(judge, scores)


def _judge(path: Path, kind: str | None, model: str | None) -> Judge:

    _, settings = home_settings(path, needed=False)
    given = {name: value for name, value in {"judge": kind, "model": model}.items() if value}
    settings = settings.model_copy(update={"audit": settings.audit.model_copy(update=given)})
    return make_judge(settings.audit, ledger=Ledger.of(settings))


def _print(judge: Judge, scores: Sequence[DatasetScore]) -> None:

    rows = []
    for score in scores:
        figures = (score.auc, score.balanced_accuracy, score.verdict_accuracy)
        left_out = f" (+{score.n_not_judged} not judged)" if score.n_not_judged else ""
        told = (interval_text(figure) or "not defined" for figure in figures)
        rows.append((score.dataset, f"{score.n_pairs}{left_out}", *told))
    head = ("data set", "pairs", "AUC", "balanced accuracy", "of its verdicts")
    print_table(Table(f"judge {judge.name} {judge.version}", head, tuple(rows), SPLIT))
