"""Strategies by what a reader answers: `raptor eval reader`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from raptor_assets.cli.evals.common import (
    cache_of,
    comparison_options,
    dataset_options,
    make_systems,
    open_evaluation,
    show,
)
from raptor_assets.cli.options import bounded, budget_options, home_and_json
from raptor_core.evaluation.compare import compare, join, with_suffix
from raptor_core.evaluation.index import tree_statistics
from raptor_core.models.money.ledger import Ledger
from raptor_core.settings.models import ReaderSettings
from raptor_core.tree.sqlite_cache import SqliteCache
from raptor_lab.readers import AnswerMeasurer, AnswerReader, ChatReader, UnifiedQa

UNIFIEDQA_TOKENS = 400
"""Context tokens that UnifiedQA reads, as in the paper: it cuts question and context at 512."""


def _parse_readers(
    _context: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> list[tuple[str, str]]:
    """Kinds and models; the model is empty where none is named."""
    readers = [(kind, model) for kind, _, model in (item.partition(":") for item in given)]
    if unknown := {kind for kind, _ in readers} - {"chat", "unifiedqa"}:
        raise click.BadParameter(
            f"{unknown.pop()!r}: expected chat or unifiedqa, with or without "
            "a model, such as chat:gpt-4o-mini"
        )
    if len(set(readers)) < len(readers):
        raise click.BadParameter(f"expected each reader once, got {', '.join(given)}")
    return readers


@click.command(
    epilog="\b\nExample:\n  raptor eval reader quality.jsonl --strategy collapsed --max-calls 500"
)
@click.argument("file", type=click.Path(path_type=Path))
@comparison_options("2000")
@click.option(
    "--reader",
    "readers",
    multiple=True,
    default=("chat",),
    show_default=True,
    metavar="KIND[:MODEL]",
    callback=_parse_readers,
    help="chat, the endpoint of [reader], or unifiedqa, on this machine, with a model of its own, "
    "such as unifiedqa:allenai/unifiedqa-v2-t5-large-1363200. May be repeated: each reads the "
    "same contexts.",
)
@click.option(
    "--model",
    help="Model of a reader that names none; else the home's, or UnifiedQA's of 3 billion.",
)
@budget_options("the reader")
@dataset_options
@home_and_json
def reader_command(file: Path, home: Path, as_json: bool, **values: Any) -> None:
    """Compare strategies by what a reader answers from their contexts.

    FILE is as for `raptor eval retrieval`. Without --budget-tokens UnifiedQA is given 400, since it
    reads no more. Several readers read the same contexts, a row each, as in the paper's Table 3.
    Scores are QASPER's answer F1, QuALITY's accuracy, and
    BLEU-1, BLEU-4, ROUGE-L and METEOR on NarrativeQA. Every answer is kept in the cache as it
    comes, so that a run that stops, by its budget too, goes on from there, and none is paid twice.
    What building the trees may spend is the home's budget.
    """
    systems = make_systems(values)
    readers = values["readers"]
    with open_evaluation(file, home, values) as index:
        trees = tree_statistics(index)
        settings = bounded(index.components.settings, values)
        ledger = Ledger.of(settings)
        log = SqliteCache(cache_of(home, values) / "read")
        read = []
        for kind, model in readers:
            reader = _reader(settings.reader, ledger, kind, model or values["model"])
            measurer = AnswerMeasurer(index.dataset.name, reader, log)
            compared = compare(
                index, systems, _budgets(values), pooled=values["pooled"], measurer=measurer
            )
            read.append(with_suffix(compared, model or kind) if len(readers) > 1 else compared)
    together = reduce(lambda first, other: join(first, other.scores), read)
    show(file, index.dataset, trees, together, values, ledger, as_json=as_json)


def _budgets(values: Mapping[str, Any]) -> list[int]:
    """Return the budgets of the command line, or what UnifiedQA can read."""
    source = click.get_current_context().get_parameter_source("budgets")
    kinds = {kind for kind, _ in values["readers"]}
    if source is ParameterSource.DEFAULT and "unifiedqa" in kinds:
        return [UNIFIEDQA_TOKENS]
    return list(values["budgets"])


def _reader(settings: ReaderSettings, ledger: Ledger, kind: str, model: str | None) -> AnswerReader:
    if kind == "unifiedqa":
        return UnifiedQa(model) if model else UnifiedQa()
    named = settings.model_copy(update={"model": model}) if model else settings
    return ChatReader(named, ledger)
