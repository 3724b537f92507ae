"""What the commands share that evaluate on a data set: its options, its documents, its trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dagster_project.cli.options import Command

if TYPE_CHECKING:
    from raptor_core.evaluation.forest import Forest
    from raptor_core.settings import Settings

_OPTIONS = (
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
        "--cache",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder that keeps the trees; else 'evaluation' in the home.",
    ),
)


def dataset_options(function: Command) -> Command:
    """Add what names a data set and the trees over it."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def parse_budgets(_context: click.Context, _option: click.Parameter, given: str) -> list[int]:
    """Token budgets, comma-separated.

    Raises:
        BadParameter: one of them is no whole number from 1.
    """
    budgets = [item.strip() for item in given.split(",")]
    if not all(item.isdecimal() and int(item) for item in budgets):
        raise click.BadParameter(f"{given!r}: expected whole numbers, such as 400,1000,2000")
    return list(map(int, budgets))


@contextmanager
def open_evaluation(file: Path, home_path: Path, values: Mapping[str, Any]) -> Iterator[Forest]:
    """The data set of a file with its trees, built where the cache does not have them.

    Raises:
        RaptorError: as reading, building and opening raise.
    """
    from dagster_project.home import Home
    from raptor_core.evaluation.forest import open_forest
    from raptor_core.tree.answers import AnswerLog
    from raptor_core.tree.tools import Tools

    home = Home.at(home_path)
    settings = _settings(home, values["preset"])
    dataset = _dataset(file, settings, values)
    cache = values["cache"] or home.path / "evaluation"
    tools = Tools(settings, answers=AnswerLog(cache / "answers"))
    with open_forest(dataset, tools, cache, _tell) as forest:
        yield forest


def _settings(home: Any, preset_name: str | None) -> Settings:
    from raptor_core.settings import load_settings, preset

    if preset_name:
        return preset(preset_name)
    settings: Settings = home.load_settings() if home.settings.exists() else load_settings()
    return settings


def _dataset(file: Path, settings: Settings, values: Mapping[str, Any]) -> Any:
    from raptor_core.documents import load_documents
    from raptor_core.evaluation.datasets import load_dataset, needs_documents

    documents: tuple[Any, ...] = ()
    paths = values["sources"] or settings.source.paths
    if paths and needs_documents(file):
        source = settings.source.model_copy(update={"paths": tuple(paths)})
        documents = load_documents(settings=source).documents
    return load_dataset(file, documents=documents, split=values["split"])


def _tell(n_built: int, n_trees: int) -> None:
    click.echo(f"{n_built} of {n_trees} trees built", err=True)
