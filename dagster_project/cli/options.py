"""Options that every command has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dagster_project.cli.exits import reported
from dagster_project.home import DEFAULT_HOME, HOME_VARIABLE

Command = Callable[..., Any]


def home_and_json(function: Command) -> Command:
    """Add ``--home`` and ``--json``, and report errors."""
    function = click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON value for machines."
    )(reported(function))
    return click.option(
        "--home",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path(DEFAULT_HOME),
        envvar=HOME_VARIABLE,
        show_default=True,
        help="Folder of settings, tables, vectors and Dagster's own records.",
    )(function)


def where_options(function: Command) -> Command:
    """Add the filters of a query."""
    for option in (
        click.option("--tree", "trees", multiple=True, help="Only these trees."),
        click.option("--document", "documents", multiple=True, help="Only these documents."),
        click.option("--layer", "layers", multiple=True, type=int, help="Only these layers."),
        click.option(
            "--metadata",
            multiple=True,
            metavar="KEY=VALUE",
            help="Only nodes whose metadata has this value.",
        ),
    ):
        function = option(function)
    return function


def query_options(function: Command) -> Command:
    """Add what a query can be told beside its filters."""
    for option in (
        click.option("--strategy", type=click.Choice(["collapsed", "traversal"])),
        click.option("--budget-tokens", type=click.IntRange(min=1), help="Tokens of the context."),
        click.option("--top-k", type=click.IntRange(min=1), help="Nodes, or nodes per layer."),
        click.option(
            "--start-layer", type=click.IntRange(min=0), help="Traversal: where the walk starts."
        ),
        click.option(
            "--layers-down", "n_layers", type=click.IntRange(min=1), help="Traversal: how far."
        ),
    ):
        function = option(function)
    return where_options(function)
