"""Comparison of strategies by a reader's answers: `raptor eval reader`."""

from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from raptor_assets.cli.options import bounded, budget_options, home_and_json
from raptor_core.models.money.ledger import Ledger
from raptor_core.settings.models import ReaderSettings
from raptor_core.tree.cache import NodeCache
from raptor_lab.cli import common
from raptor_lab.comparison.compare import compare, join, with_suffix
from raptor_lab.comparison.index import tree_statistics
from raptor_lab.readers import AnswerMeasurer, AnswerReader, ChatReader, UnifiedQa

UNIFIEDQA_TOKENS = 400  # as in the paper: UnifiedQA cuts question and context at 512


def parse_readers(
    _context: click.Context, _option: click.Parameter, items: tuple[str, ...]
) -> list[tuple[str, str]]:
    """Return kind and model of each reader of a command line."""
    readers = [(kind, model) for kind, _, model in (item.partition(":") for item in items)]
    if unknown := {kind for kind, _ in readers} - {"chat", "unifiedqa"}:
        raise click.BadParameter(
            f"{unknown.pop()!r}: expected chat or unifiedqa, with or without "
            "a model, such as chat:gpt-4o-mini"
        )
    if len(set(readers)) < len(readers):
        raise click.BadParameter(f"expected each reader once, got {', '.join(items)}")
    return readers


@click.command(
    epilog="\b\nExample:\n  raptor eval reader quality.jsonl --strategy collapsed --max-calls 500"
)
@click.argument("file", type=click.Path(path_type=Path))
@common.comparison_options("2000")
@click.option(
    "--reader",
    "readers",
    multiple=True,
    default=("chat",),
    show_default=True,
    metavar="KIND[:MODEL]",
    callback=parse_readers,
    help="chat, the endpoint of [reader], or unifiedqa, on this machine, optionally with a model, "
    "such as unifiedqa:allenai/unifiedqa-v2-t5-large-1363200. May be repeated.",
)
@click.option(
    "--model",
    help="Model of readers that name none; by default the home's, or UnifiedQA's of 3 billion.",
)
@budget_options("the reader")
@common.dataset_options
@home_and_json
def reader_command(file: Path, home: Path, as_json: bool, **values: Any) -> None:
    """Compare strategies by a reader's answers from their contexts.

    FILE is as for `raptor eval retrieval`. By default UnifiedQA reads 400 tokens, since it can read
    no more. Several readers read the same contexts, as in the paper's Table 3. Scores are QASPER's
    answer F1, QuALITY's accuracy, and BLEU-1, BLEU-4, ROUGE-L and METEOR on NarrativeQA. Answers
    are cached as they come, so that a stopped run continues and none is paid twice. Building the
    trees is bounded by the home's budget.
    """
    systems = common.make_systems(values)
    readers = values["readers"]
    with common.open_evaluation(file, home, values) as index:
        trees = tree_statistics(index)
        settings = bounded(index.components.settings, values)
        ledger = Ledger.of(settings)
        log = NodeCache(common.cache_of(home, values) / "read")
        comparisons = []
        for kind, model in readers:
            reader = make_reader(settings.reader, ledger, kind, model or values["model"])
            measurer = AnswerMeasurer(index.dataset.name, reader, log)
            compared = compare(
                index,
                systems,
                _budgets(values),
                pooled=values["pooled"],
                measurer=measurer,
            )
            comparisons.append(
                with_suffix(compared, model or kind) if len(readers) > 1 else compared
            )
    joined = reduce(lambda first, second: join(first, second.scores), comparisons)
    common.show(file, index.dataset, trees, joined, values, ledger, as_json=as_json)


def _budgets(values: Mapping[str, Any]) -> list[int]:
    """Return the budgets of the command line, or what UnifiedQA can read."""
    source = click.get_current_context().get_parameter_source("budgets")
    kinds = {kind for kind, _ in values["readers"]}
    if source is ParameterSource.DEFAULT and "unifiedqa" in kinds:
        return [UNIFIEDQA_TOKENS]
    return list(values["budgets"])


def make_reader(
    settings: ReaderSettings, ledger: Ledger, kind: str, model: str | None
) -> AnswerReader:
    """Make the reader of a kind, with its default model if none is named."""
    if kind == "unifiedqa":
        return UnifiedQa(model) if model else UnifiedQa()
    named = settings.model_copy(update={"model": model, "sha256": ""}) if model else settings
    return ChatReader(named, ledger)
