"""Comparison of strategies by a reader's answers: `raptor eval reader`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from raptor_assets.cli.options import bounded, budget_options, home_and_json
from raptor_core.models.money.ledger import Ledger
from raptor_core.tree.cache import NodeCache
from raptor_lab.cli import common
from raptor_lab.comparison.compare import compare
from raptor_lab.comparison.index import Index, tree_statistics
from raptor_lab.comparison.systems import make_system
from raptor_lab.readers import AnswerMeasurer, ChatReader


@click.command(
    epilog="\b\nExample:\n  raptor eval reader quality.jsonl --strategy collapsed --max-calls 500"
)
@click.argument("file", type=click.Path(path_type=Path))
@common.comparison_options("2000")
@click.option("--model", help="Chat model; by default that of [reader].")
@budget_options("the reader")
@common.dataset_options
@home_and_json
def reader_command(file: Path, home: Path, as_json: bool, **values: Any) -> None:
    """Compare strategies by a reader's answers from their contexts.

    FILE is as for `raptor eval retrieval`. The chat model of [reader] reads. Scores are QASPER's
    answer F1, QuALITY's accuracy, and BLEU-1, BLEU-4, ROUGE-L and METEOR on NarrativeQA. Answers
    are cached as they come, so that a stopped run continues and none is paid twice. Building the
    trees is bounded by the home's budget.
    """
    systems = list(map(make_system, values["strategies"]))
    with common.open_evaluation(file, home, values) as index:
        trees = tree_statistics(index)
        measurer, ledger = answer_measurer(index, home, values, values["model"])
        comparison = compare(
            index, systems, values["budgets"], pooled=values["pooled"], measurer=measurer
        )
    common.show(file, index.dataset, trees, comparison, values, ledger, as_json=as_json)


def answer_measurer(
    index: Index, home: Path, values: Mapping[str, Any], model: str | None
) -> tuple[AnswerMeasurer, Ledger]:
    """Make the measurer by the answers of a chat model, and the ledger that bounds its calls."""
    settings = bounded(index.components.settings, values)
    named = {"model": model, "sha256": ""} if model else {}
    ledger = Ledger.of(settings)
    reader = ChatReader(settings.reader.model_copy(update=named), ledger)
    log = NodeCache(common.cache_of(home, values) / "read")
    return AnswerMeasurer(index.dataset.name, reader, log), ledger
