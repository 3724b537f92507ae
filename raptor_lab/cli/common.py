"""Code that evaluation commands share: options, data sets, trees and output."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import click

from raptor_assets.cli.options import Command, combine_options, open_home_and_settings
from raptor_assets.cli.output import print_json
from raptor_assets.home.folder import Home
from raptor_assets.shown.terminal import say
from raptor_core.models.money.ledger import Ledger
from raptor_core.settings import override_settings, preset
from raptor_core.tree.components import Components
from raptor_lab.clustering import METHODS
from raptor_lab.comparison.compare import Comparison, split_by_kind
from raptor_lab.comparison.contexts import System
from raptor_lab.comparison.index import Index, TreeStatistics, open_or_build_index
from raptor_lab.comparison.systems import make_system
from raptor_lab.comparison.tables import comparison_tables, print_table, reader_tables
from raptor_lab.datasets.base import Dataset
from raptor_lab.datasets.load import open_dataset
from raptor_lab.dpr import ENCODERS

dataset_options = combine_options(
    click.option(
        "--source",
        "sources",
        multiple=True,
        metavar="PATH",
        help="Documents for your own questions; may be repeated. The default is the home's source.",
    ),
    click.option(
        "--split",
        default="test",
        show_default=True,
        help="Part of NarrativeQA: train, valid or test.",
    ),
    click.option("--preset", help="Use the settings of this preset, not of the home."),
    click.option(
        "--clustering",
        type=click.Choice(["raptor", "reference", *METHODS]),
        help="Clustering; contiguous groups neighbouring chunks, as in the paper's Table 9.",
    ),
    click.option(
        "--cache",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder for the trees; by default 'evaluation' in the home.",
    ),
)
"""Options of a data set and its trees."""


encoders_option = click.option(
    "--dpr",
    "encoders",
    nargs=2,
    metavar="QUESTION_MODEL PASSAGE_MODEL",
    help="Encoders of dpr and collapsed-dpr; by default those of the paper's Tables 1 and 2, "
    f"{' '.join(ENCODERS)}.",
)


def budgets_option(default: str | None) -> Callable[[Command], Command]:
    """Return a decorator that adds the option for token budgets, which may be None by default."""
    return click.option(
        "--budget-tokens",
        "budgets",
        default=default,
        show_default=True,
        callback=_parse_numbers,
        help="Maximum tokens of a context; separate several numbers by commas.",
    )


def comparison_options(budgets: str | None) -> Callable[[Command], Command]:
    """Return a decorator that adds the options of a comparison, with default ``budgets``."""
    return combine_options(
        click.option(
            "--strategy",
            "strategies",
            multiple=True,
            default=("collapsed",),
            show_default=True,
            metavar="NAME[@LAYERS][:K]",
            help="Strategy; may be repeated, and the first is the baseline. collapsed@1-2 searches "
            "only layers 1 and 2, traversal:5 selects at most 5 nodes. Further strategies: root, "
            "document, title-abstract, paragraph-fusion, dpr, collapsed-dpr.",
        ),
        encoders_option,
        budgets_option(budgets),
        click.option("--pooled", is_flag=True, help="Search all documents for each question."),
        click.option(
            "--by-kind", is_flag=True, help="Also print results by kind of question or answer."
        ),
        click.option(
            "--questions",
            "with_questions",
            is_flag=True,
            help="With --json, also print each question.",
        ),
    )


def _parse_numbers(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> list[int] | None:
    if text is None:
        return None
    numbers = [item.strip() for item in text.split(",")]
    if not all(item.isdecimal() and int(item) for item in numbers):
        raise click.BadParameter(f"{text!r}: expected whole numbers, such as 400,1000,2000")
    return list(map(int, numbers))


def open_or_build_dataset_trees(
    file: Path, home: Path, values: Mapping[str, Any]
) -> AbstractContextManager[Index]:
    """Open the data set of a file with its trees, and build those that are not cached."""
    preset_name, method = values["preset"], values["clustering"]
    settings = preset(preset_name) if preset_name else open_home_and_settings(home, needed=False)[1]
    if method is not None:
        path = METHODS.get(method, "")
        sections = {"components": {"clusterer": path}}
        if not path:
            sections["clustering"] = {"method": method}
        settings = override_settings(settings, sections, "--clustering")
    paths = values["sources"] or settings.source.paths
    source = settings.source.model_copy(update={"paths": tuple(paths)})
    dataset = open_dataset(file, source, split=values["split"])
    return open_or_build_index(
        dataset, Components(settings), cache_folder(home, values), print_built_count
    )


def make_systems(values: Mapping[str, Any]) -> list[System]:
    """Make the systems that a command line names."""
    return [make_system(name, values["encoders"] or ENCODERS) for name in values["strategies"]]


def cache_folder(home: Path, values: Mapping[str, Any]) -> Path:
    """Return the folder of trees and paid answers."""
    return values["cache"] or Home.at(home).path / "evaluation"


def print_comparisons(
    file: Path,
    dataset: Dataset,
    trees: TreeStatistics,
    comparisons: Mapping[str, Comparison],
    values: Mapping[str, Any],
    ledger: Ledger | None = None,
    *,
    as_json: bool,
) -> None:
    """Print comparisons, by answering model or "", with sizes of trees, costs and omissions."""
    left_out = [f"{item.name}: {item.reason}" for item in dataset.skipped_documents]
    if as_json:
        result: dict[str, Any] = {
            "file": str(file),
            "trees": trees.to_json_values(),
            "left_out": left_out,
        }
        parts = {name: _comparison_values(part, values) for name, part in comparisons.items()}
        result |= parts.get("", {"readers": parts})
        if ledger:
            result["spent"] = list(ledger.spendings)
        print_json(result)
        return
    for name, comparison in comparisons.items():
        kinds = split_by_kind(comparison) if values["by_kind"] else {}
        for kind, part in {"": comparison, **kinds}.items():
            for table in comparison_tables(part, ", ".join(filter(None, (name, kind)))):
                print_table(table)
    for table in reader_tables(comparisons) if len(comparisons) > 1 else ():
        print_table(table)
    _print_trees(trees)
    for line in left_out:
        say(f"left out: {line}", fg="yellow", err=True)


def _comparison_values(comparison: Comparison, values: Mapping[str, Any]) -> dict[str, Any]:
    result = comparison.to_json_values()
    if values["by_kind"]:
        result["by_kind"] = {
            name: part.to_json_values() for name, part in split_by_kind(comparison).items()
        }
    if values["with_questions"]:
        result["questions"] = _question_values(comparison)
    return result


def _question_values(comparison: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "id": item.question.id,
            "document": item.question.document,
            "strategy": item.system,
            "budget_tokens": item.budget_tokens,
            "n_tokens": item.n_tokens,
            "layers": item.n_nodes_by_layer,
            "context": item.context,
            **item.measures,
            **({} if item.answer is None else {"answer": item.answer}),
        }
        for item in comparison.scores
    ]


def _print_trees(trees: TreeStatistics) -> None:
    layers = ", ".join(f"{layer}: {n:,}" for layer, n in enumerate(trees.nodes_by_layer))
    say(f"{trees.n_trees} trees, nodes by layer {layers}")
    say(
        f"children per summary {trees.mean_children:.1f} (paper 6.7), tokens of a summary "
        f"{trees.mean_summary_tokens:.0f} (131), of a child {trees.mean_child_tokens:.0f} (86), "
        f"ratio {trees.mean_ratio:.2f} (0.28)"
    )


def print_built_count(n_built: int, n_trees: int) -> None:
    """Print how many trees of a data set are already built."""
    say(f"{n_built} of {n_trees} trees built", err=True)
