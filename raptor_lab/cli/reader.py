"""The command `raptor eval reader`, which compares strategies by the answers of models."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from raptor_assets.cli.options import Command, apply_budget_options, budget_options, home_and_json
from raptor_core.models.money.ledger import Ledger
from raptor_core.settings.models import ReaderSettings
from raptor_core.tree.cache import NodeCache
from raptor_lab.cli import common
from raptor_lab.comparison.compare import compare
from raptor_lab.comparison.index import Index, compute_tree_statistics
from raptor_lab.readers import AnswerMeasurer, AnswerReader, ChatReader
from raptor_lab.unifiedqa import CONTEXT_TOKENS, UNIFIEDQA, UnifiedQaReader

CHAT_TOKENS = 2000
KINDS = ("chat", "unifiedqa")


def _require_reader_kinds(_context: click.Context, _option: click.Parameter, value: Any) -> Any:
    for name in (value,) if isinstance(value, str) else value or ():
        if name.partition(":")[0] not in KINDS:
            kinds = " or ".join(KINDS)
            raise click.BadParameter(f"{name!r}: expected {kinds}, with or without a model")
    return value


def reader_option(text: str, **more: Any) -> Callable[[Command], Command]:
    """Return a decorator that adds the option for an answering model; ``text`` begins its help."""
    text += (
        "chat (the endpoint of [reader]) or unifiedqa (on this machine), optionally with the name "
        "of a model, such as unifiedqa:allenai/unifiedqa-v2-t5-large-1363200."
    )
    more |= {"metavar": "KIND[:MODEL]", "callback": _require_reader_kinds, "help": text}
    return click.option("--reader", **more)


@click.command(
    epilog="\b\nExample:\n  raptor eval reader quality.jsonl --strategy collapsed --max-calls 500"
)
@click.argument("file", type=click.Path(path_type=Path))
@common.comparison_options(None)
@reader_option(
    "Answering model; may be repeated: ", multiple=True, default=("chat",), show_default=True
)
@budget_options("the answering models")
@common.dataset_options
@home_and_json
def reader_command(file: Path, home: Path, as_json: bool, **values: Any) -> None:
    """Compare strategies by the answers of one or more models.

    FILE is as for `raptor eval retrieval`. By default, a context has at most 2000 tokens, or 400
    for UnifiedQA, as in the paper. The score is answer F1 for QASPER, accuracy for QuALITY, and
    BLEU-1, BLEU-4, ROUGE-L and METEOR for NarrativeQA. Answers are cached, so a stopped run can
    continue, and no answer is paid for twice. The home's budget limits the building of trees.
    """
    systems = common.make_systems(values)
    with common.open_or_build_dataset_trees(file, home, values) as index:
        trees = compute_tree_statistics(index)
        ledger = Ledger.from_settings(apply_budget_options(index.components.settings, values))
        comparisons = {
            name: compare(
                index,
                systems,
                values["budgets"] or [context_budget_tokens(name)],
                pooled=values["pooled"],
                measurer=make_answer_measurer(index, home, values, name, ledger),
                keep_contexts=values["with_questions"],
            )
            for name in dict.fromkeys(values["reader"])
        }
    common.print_comparisons(
        file, index.dataset, trees, comparisons, values, ledger, as_json=as_json
    )


def context_budget_tokens(reader: str) -> int:
    """Return the token budget of a context for an answering model, as in the paper."""
    return CONTEXT_TOKENS if reader.startswith("unifiedqa") else CHAT_TOKENS


def make_answer_measurer(
    index: Index, home: Path, values: Mapping[str, Any], name: str, ledger: Ledger
) -> AnswerMeasurer:
    """Make the measurer that scores a model's answers, within the budget of the ledger."""
    reader = make_reader(index.components.settings.reader, ledger, name)
    return AnswerMeasurer(
        index.dataset.name, reader, open_answer_cache(common.cache_folder(home, values))
    )


def open_answer_cache(cache: Path) -> NodeCache:
    """Return the log of answers in the folder of an evaluation."""
    return NodeCache(cache / "read")


def make_reader(settings: ReaderSettings, ledger: Ledger, name: str) -> AnswerReader:
    """Make the answering model for a name such as "chat" or "unifiedqa:MODEL"."""
    kind, _, model = name.partition(":")
    if kind == "unifiedqa":
        return UnifiedQaReader(model or UNIFIEDQA)
    named = {"model": model} if model else {}
    return ChatReader(settings.model_copy(update=named), ledger)
