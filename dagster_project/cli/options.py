"""Options that commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, get_args

import click

from dagster_project.cli.exits import reported
from raptor_core.home.folder import DEFAULT_HOME, HOME_VARIABLE
from raptor_core.settings.retrieval import Strategy

Command = Callable[..., Any]

STRATEGY = click.Choice(get_args(Strategy))

_QUERY = (
    click.option(
        "--scope",
        type=click.Choice(["trees", "corpus"]),
        help="Where to begin: at the trees, or at the tree above them ([corpus]).",
    ),
    click.option("--budget-tokens", type=click.IntRange(min=1), help="Tokens of the context."),
    click.option("--top-k", type=click.IntRange(min=1), help="Nodes, or nodes per layer."),
    click.option("--strategy", type=STRATEGY, help="How to search; see docs/retrieval.md."),
    click.option(
        "--start-layer", type=click.IntRange(min=0), help="Traversal: where the walk starts."
    ),
    click.option(
        "--layers-down", "n_layers", type=click.IntRange(min=1), help="Traversal: how far."
    ),
    click.option(
        "--threshold",
        type=click.FloatRange(-1, 1),
        help="Traversal: the nodes of at least this cosine, in place of the best --top-k.",
    ),
    click.option("--beam-width", type=click.IntRange(min=1), help="Beam: summaries on each layer."),
    click.option(
        "--max-per-document",
        type=click.IntRange(min=1),
        help="Hybrid: chunks of one document at the most.",
    ),
)
_WHERE = (
    click.option("--tree", "trees", multiple=True, help="Only this tree; may be repeated."),
    click.option("--document", "documents", multiple=True, help="Only this document; likewise."),
    click.option(
        "--layer",
        "layers",
        multiple=True,
        type=click.IntRange(min=0),
        help="Only this layer (0 holds the chunks); likewise.",
    ),
    click.option(
        "--metadata",
        multiple=True,
        metavar="KEY=VALUE",
        help="Only nodes whose metadata has this value; likewise.",
    ),
)


def home_and_json(function: Command) -> Command:
    """Add ``--home`` and ``--json``, and report errors."""
    home = click.option(
        "--home",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path(DEFAULT_HOME),
        envvar=HOME_VARIABLE,
        show_default=True,
        help="Folder of settings, tables, vectors and Dagster's own records.",
    )
    as_json = click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON value for machines."
    )
    return add_options((home, as_json), reported(function))


def query_options(function: Command) -> Command:
    """Add what a query can be told, and its filters."""
    return add_options((*_QUERY, *_WHERE), function)


def budget_options(of: str) -> Callable[[Command], Command]:
    """Add the bounds of what is spent; ``of`` says whose calls they are of."""
    whole, share = click.IntRange(min=0), click.FloatRange(min=0)
    options = (
        click.option("--max-calls", type=whole, help=f"Model calls of {of} at the most."),
        click.option("--max-tokens", type=whole, help=f"Tokens of {of} at the most."),
        click.option("--max-usd", type=share, help="US dollars, by the settings' prices."),
    )
    return lambda function: add_options(options, function)


def add_options(options: Iterable[Callable[[Command], Command]], function: Command) -> Command:
    """Decorate so that help lists the options in this order."""
    for option in reversed(list(options)):
        function = option(function)
    return function
