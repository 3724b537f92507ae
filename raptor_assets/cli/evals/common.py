"""What the commands share that evaluate on a data set: its options, its documents, its trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import click

from raptor_assets.cli.options import Command, home_settings, together
from raptor_assets.cli.output import print_json, print_table
from raptor_assets.cli.terminal import say
from raptor_assets.project.home import Home
from raptor_core.evaluation.compare import Comparison, by_kind
from raptor_core.evaluation.contexts import System
from raptor_core.evaluation.datasets import Dataset, open_dataset
from raptor_core.evaluation.index import Index, TreeStatistics, open_index
from raptor_core.evaluation.systems import make_system
from raptor_core.evaluation.tables import comparison_tables
from raptor_core.models.money.ledger import Ledger
from raptor_core.settings import preset, with_preset
from raptor_core.tree.components import Components

dataset_options = together(
    click.option(
        "--source",
        "sources",
        multiple=True,
        metavar="PATH",
        help="Documents that your own questions are asked of; may be repeated. Else those of the "
        "home.",
    ),
    click.option(
        "--split", default="test", show_default=True, help="NarrativeQA: train, valid or test."
    ),
    click.option("--preset", help="Settings of a preset in place of the home's."),
    click.option(
        "--clustering",
        type=click.Choice(["raptor", "contiguous", "kmeans", "gmm"]),
        help="How layers are clustered, in place of the settings: contiguous is the ablation of "
        "the paper's Table 9.",
    ),
    click.option(
        "--cache",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder that keeps the trees; else 'evaluation' in the home.",
    ),
)
"""What names a data set and the trees over it."""

ENCODERS = click.option(
    "--dpr",
    nargs=2,
    metavar="QUESTION_MODEL PASSAGE_MODEL",
    help="Encoders of DPR: sentence-transformers models; without them it cannot be compared.",
)


def budgets_option(default: str) -> Callable[[Command], Command]:
    """Add the budgets of contexts."""
    return click.option(
        "--budget-tokens",
        "budgets",
        default=default,
        show_default=True,
        callback=_parse_numbers,
        help="Tokens of a context, one or several.",
    )


def comparison_options(budgets: str) -> Callable[[Command], Command]:
    """Add what is compared; ``budgets`` are those by default."""
    return together(
        click.option(
            "--strategy",
            "strategies",
            multiple=True,
            default=("collapsed",),
            show_default=True,
            metavar="NAME[@LAYERS][:K]",
            help="A strategy, on all layers or on some, such as collapsed@0 or collapsed@1-2, with "
            "as many nodes as fill the budget or at most K, such as traversal:5; or "
            "root, title-abstract, paragraph-fusion, dpr. May be repeated: the others are compared "
            "with the first.",
        ),
        budgets_option(budgets),
        click.option(
            "--top-k",
            "top_ks",
            callback=_parse_numbers,
            metavar="K,...",
            help="Nodes at the most, on each layer of a traversal, one or several: each strategy "
            "once for each. Else as many as fill the budget.",
        ),
        click.option("--pooled", is_flag=True, help="Ask every question of all documents."),
        ENCODERS,
        click.option(
            "--by-kind", is_flag=True, help="Also by kind of question or answer, as in QASPER."
        ),
        click.option(
            "--questions", "with_questions", is_flag=True, help="With --json: every question."
        ),
    )


def _parse_numbers(
    _context: click.Context, _option: click.Parameter, given: str | None
) -> list[int] | None:
    """Numbers of tokens or nodes, comma-separated; None where none is given."""
    if given is None:
        return None
    numbers = [item.strip() for item in given.split(",")]
    if not all(item.isdecimal() and int(item) for item in numbers):
        raise click.BadParameter(f"{given!r}: expected whole numbers, such as 400,1000,2000")
    return list(map(int, numbers))


def open_evaluation(
    file: Path, home: Path, values: Mapping[str, Any]
) -> AbstractContextManager[Index]:
    """The data set of a file with its trees, built where the cache does not have them."""
    preset_name, method = values["preset"], values["clustering"]
    settings = preset(preset_name) if preset_name else home_settings(home, needed=False)[1]
    if method is not None:
        clustering = settings.clustering.model_copy(update={"method": method})
        settings = settings.model_copy(update={"clustering": clustering})
    paths = values["sources"] or settings.source.paths
    source = settings.source.model_copy(update={"paths": tuple(paths)})
    dataset = open_dataset(file, source, split=values["split"])
    return open_index(dataset, Components(settings), cache_of(home, values), _tell)


def open_beside(first: Index, preset_name: str, cache: Path) -> AbstractContextManager[Index]:
    """The same data set with trees by a preset, whose tokens are counted as those of ``first``.

    What the preset does not name is as in the settings of ``first``, which may be closed.
    """
    used = first.components
    components = Components(with_preset(used.settings, preset_name))
    return open_index(first.dataset, components, cache, _tell, used.counter)


def cache_of(home: Path, values: Mapping[str, Any]) -> Path:
    """The folder that keeps trees, and what is paid for."""
    return values["cache"] or Home.at(home).evaluation


def make_systems(values: Mapping[str, Any]) -> list[System]:
    """What the command line compares."""
    bounds = [f":{top_k}" for top_k in values["top_ks"] or ()] or [""]
    return [
        make_system(name + bound, values["dpr"])
        for name in values["strategies"]
        for bound in bounds
    ]


def show(
    file: Path,
    dataset: Dataset,
    trees: TreeStatistics,
    comparison: Comparison,
    values: Mapping[str, Any],
    ledger: Ledger | None = None,
    beside: Mapping[str, TreeStatistics] | None = None,
    *,
    as_json: bool,
) -> None:
    """Print a comparison, what the reader spent, and what of the data set was left out.

    ``beside`` are the sizes of further trees, by the preset that they are of.
    """
    kinds = by_kind(comparison) if values["by_kind"] else {}
    left_out = [f"{item.name}: {item.reason}" for item in dataset.left_out]
    if as_json:
        told: dict[str, Any] = {"file": str(file), "trees": trees.values()}
        told |= {**comparison.values(), "left_out": left_out}
        if beside:
            told["beside"] = {name: sizes.values() for name, sizes in beside.items()}
        if ledger:
            told["spent"] = list(ledger.spendings)
        if values["by_kind"]:
            told["by_kind"] = {kind: part.values() for kind, part in kinds.items()}
        if values["with_questions"]:
            told["questions"] = _question_values(comparison)
        print_json(told)
        return
    for kind, part in {"": comparison, **kinds}.items():
        for table in comparison_tables(part, kind):
            print_table(table)
    _print_trees(trees)
    for name, sizes in (beside or {}).items():
        say(f"{name}:")
        _print_trees(sizes)
    for line in left_out:
        say(f"left out: {line}", fg="yellow", err=True)


def _question_values(comparison: Comparison) -> list[dict[str, Any]]:
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
        for item in comparison.scores
    ]


def _print_trees(trees: TreeStatistics) -> None:
    """Sizes of the trees in two lines, beside the paper's (Table 10)."""
    layers = ", ".join(f"{layer}: {n:,}" for layer, n in enumerate(trees.nodes_by_layer))
    say(f"{trees.n_trees} trees, nodes by layer {layers}")
    say(
        f"children per summary {trees.mean_children:.1f} (paper 6.7), tokens of a summary "
        f"{trees.mean_summary_tokens:.0f} (131), of a child {trees.mean_child_tokens:.0f} (86), "
        f"ratio {trees.mean_ratio:.2f} (0.28)"
    )


def _tell(n_built: int, n_trees: int) -> None:
    say(f"{n_built} of {n_trees} trees built", err=True)
