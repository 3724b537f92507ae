"""`raptor eval reader`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dagster_project.cli.evals.common import (
    comparison_options,
    dataset_options,
    open_evaluation,
    show,
    the_ways,
)
from dagster_project.cli.options import home_and_json

if TYPE_CHECKING:
    from raptor_core.evaluation.readers import AnswerReader
    from raptor_core.models.money import Ledger
    from raptor_core.settings.models import ReaderSettings


@click.command(
    epilog="\b\nExample:\n  raptor eval reader quality.jsonl --strategy collapsed --max-calls 500"
)
@click.argument("file", type=click.Path(path_type=Path))
@comparison_options("2000")
@click.option(
    "--reader",
    "kind",
    type=click.Choice(["chat", "unifiedqa"]),
    default="chat",
    show_default=True,
    help="The chat endpoint of [reader], or a UnifiedQA model on this machine.",
)
@click.option("--model", help="Model of the reader; else the home's, or UnifiedQA's of 3 billion.")
@click.option("--max-calls", type=click.IntRange(min=0), help="The reader's calls at the most.")
@click.option("--max-tokens", type=click.IntRange(min=0), help="The reader's tokens at the most.")
@click.option(
    "--max-usd",
    type=click.FloatRange(min=0),
    help="The reader's US dollars, by the settings' prices.",
)
@dataset_options
@home_and_json
def command(file: Path, home: Path, as_json: bool, **values: Any) -> None:
    """Compare strategies by what a reader answers from their contexts.

    FILE is as for `raptor eval retrieval`. Scores are QASPER's answer F1, QuALITY's accuracy, and
    BLEU-1, BLEU-4, ROUGE-L and METEOR on NarrativeQA. Every answer is kept in the cache as it
    comes, so that a run that stops, by its budget too, goes on from there, and none is paid twice.
    What building the trees may spend is the home's budget.
    """
    from dagster_project.cli.session import bounded
    from raptor_core.evaluation.compare import compare
    from raptor_core.evaluation.readers import AnswerMeasurer
    from raptor_core.models.money import Ledger
    from raptor_core.tree.sqlite_cache import SqliteCache

    systems = the_ways(values)
    with open_evaluation(file, home, values) as opened:
        settings = bounded(opened.index.components.settings, **_bounds(values))
        ledger = Ledger.of(settings)
        reader = _reader(settings.reader, ledger, values["kind"], values["model"])
        log = SqliteCache(opened.cache / "read")
        measurer = AnswerMeasurer(opened.index.dataset.name, reader, log)
        found = compare(
            opened.index, systems, values["budgets"], pooled=values["pooled"], measurer=measurer
        )
    show(file, opened, found, values, ledger, as_json=as_json)


def _bounds(values: Mapping[str, Any]) -> dict[str, float | None]:
    return {name: values[f"max_{name}"] for name in ("calls", "tokens", "usd")}


def _reader(settings: ReaderSettings, ledger: Ledger, kind: str, model: str | None) -> AnswerReader:
    from raptor_core.evaluation.readers import ChatReader, UnifiedQa

    if kind == "unifiedqa":
        return UnifiedQa(model) if model else UnifiedQa()
    named = settings.model_copy(update={"model": model}) if model else settings
    return ChatReader(named, ledger)
