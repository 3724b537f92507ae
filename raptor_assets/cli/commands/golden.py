"""Retrieval on published trees: `raptor eval golden`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from raptor_assets.cli.options import home_and_json, query_options, read_options
from raptor_assets.cli.output import print_json
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.folder import Home
from raptor_assets.home.regression import compare_baseline
from raptor_assets.local.dagster import begun_partitions
from raptor_assets.shown.markdown import shorten
from raptor_assets.shown.terminal import say
from raptor_core.errors import SettingsError
from raptor_core.evaluation.golden import GoldenReport, golden_values, measure_golden
from raptor_core.evaluation.golden_file import Question, load_golden
from raptor_core.evaluation.regression import Regression
from raptor_core.home.published import open_published, require_trees
from raptor_core.retrieval import Query
from raptor_core.settings import Settings
from raptor_core.tree.components import Components


@click.command(epilog="\b\nExample:\n  raptor eval golden questions.jsonl --min-hit-rate 0.8")
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--min-hit-rate",
    type=click.FloatRange(0, 1),
    help="Exit with code 5 if the hit rate is lower than this.",
)
@click.option(
    "--min-mrr",
    type=click.FloatRange(0, 1),
    help="Exit with code 5 if the mean reciprocal rank is lower than this.",
)
@click.option(
    "--min-recall",
    type=click.FloatRange(0, 1),
    help="Exit with code 5 if the recall of passages or of documents is lower than this.",
)
@click.option(
    "--baseline",
    metavar="published|BUILD",
    help="Compare two builds, and exit with code 5 if the new build is significantly worse. With "
    '"published", the new builds are those that wait for approval. With the beginning of the id of '
    "a kept build, the new builds are the published builds.",
)
@query_options
@home_and_json
def golden_command(
    file: Path | None,
    min_hit_rate: float | None,
    min_mrr: float | None,
    min_recall: float | None,
    baseline: str | None,
    home: Path,
    as_json: bool,
    **values: Any,
) -> None:
    """Measure retrieval on questions with known answers.

    FILE is a golden set with one JSON object per line: "question", and "expected" (ids of
    documents) or "span" (text of a document). The default is the file in checks.golden.
    """
    opened, settings = Home.open_with_settings(home)
    path = file or opened.golden(settings)
    if path is None:
        raise SettingsError("no golden set is given; pass a FILE, or set checks.golden")
    cases, query = load_golden(path), read_options(values).query(settings)
    regression = None
    if baseline:
        access = CorpusAccess(settings, opened)
        partitions = access.partitions(begun_partitions(opened))
        regression = compare_baseline(access, cases, query, baseline, partitions)
    report = regression.after if regression else ask_published(opened, settings, cases, query)
    broken = report.describe_broken_bounds(min_hit_rate, min_mrr, min_recall)
    if as_json:
        more = _regression_values(regression) if regression else {}
        bounds = {"min_hit_rate": min_hit_rate, "broken_bounds": broken}
        print_json({"file": str(path), **bounds, **golden_values(report), **more})
    else:
        _print(report, regression, broken)
    if broken or (regression and regression.significant_losses):
        raise SystemExit(5)


def _regression_values(regression: Regression) -> dict[str, Any]:
    return {
        "baseline": golden_values(regression.before),
        "differences": regression.differences,
        "losses": regression.significant_losses,
        "worse": [after.question.text for _, after in regression.worse_answers],
    }


def changed_ranks(regression: Regression) -> list[str]:
    """Return a line for each question whose rank changed."""
    pairs = zip(regression.before.results, regression.after.results, strict=True)
    return [
        f"    {old.rank or 'missed'} → {new.rank or 'missed'}  {shorten(old.question.text, 100)}"
        for old, new in pairs
        if old.rank != new.rank
    ]


def ask_published(
    home: Home, settings: Settings, cases: Sequence[Question], query: Query
) -> GoldenReport:
    """Search the published trees of a home for the questions of a golden set."""
    with open_published(home, settings) as store:
        trees = [*(query.where.trees or ()), *(c.document for c in cases if c.document)]
        require_trees(store, trees)
    components = Components(settings)
    return measure_golden(
        cases,
        components.embedder,
        lambda: open_published(home, settings, components.store_identity),
        query,
    )


def _print(report: GoldenReport, regression: Regression | None, broken: Sequence[str]) -> None:
    for hit in report.results:
        rank, color = (f"rank {hit.rank}", None) if hit.rank else ("missed", "yellow")
        place = (
            ""
            if hit.found_evidence_share is None
            else f", {hit.found_evidence_share:.0%} of the evidence"
        )
        say(f"{rank + place:<10} {shorten(hit.question.text, 100)}", fg=color)
    for name, value in report.figures().items():
        say(f"{name.replace('_', ' '):<20} {value:.4g}")
    if regression:
        for line in (f"against the baseline: {regression.describe()}", *changed_ranks(regression)):
            say(line, fg="red" if regression.significant_losses else None)
    for phrase in broken:
        say(phrase, fg="red", err=True)
