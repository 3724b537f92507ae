"""Options that commands share, and what they make of them: a home, bounds, a query."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import reduce
from pathlib import Path
from typing import Any, get_args

import click

from raptor_assets.cli.exits import reported
from raptor_assets.project.home import Home
from raptor_core.documents.base import MetadataValue
from raptor_core.home.folder import DEFAULT_HOME, HOME_VARIABLE
from raptor_core.models.money.ledger import Ledger
from raptor_core.retrieval import Query, Retrieval
from raptor_core.settings import Settings, load_settings
from raptor_core.settings.base import BudgetSettings
from raptor_core.settings.retrieval import Strategy
from raptor_core.store.base import Where

Command = Callable[..., Any]

STRATEGY = click.Choice(get_args(Strategy))

_FROM_0, _FROM_1 = click.IntRange(min=0), click.IntRange(min=1)


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """One decorator of several; help lists the options in this order."""
    return lambda function: reduce(lambda done, add: add(done), reversed(options), function)


query_options = together(
    click.option(
        "--scope",
        type=click.Choice(["trees", "corpus"]),
        help="Where to begin: at the trees, or at the tree above them ([corpus_tree]).",
    ),
    click.option("--budget-tokens", type=_FROM_1, help="Tokens of the context."),
    click.option("--top-k", type=_FROM_1, help="Nodes, or nodes per layer."),
    click.option("--strategy", type=STRATEGY, help="How to search; see docs/retrieval.md."),
    click.option("--start-layer", type=_FROM_0, help="Traversal: where the walk starts."),
    click.option("--layers-down", "n_layers", type=_FROM_1, help="Traversal: how far."),
    click.option(
        "--threshold",
        type=click.FloatRange(-1, 1),
        help="Traversal: the nodes of at least this cosine, in place of the best --top-k.",
    ),
    click.option("--beam-width", type=_FROM_1, help="Beam: summaries on each layer."),
    click.option(
        "--max-per-document", type=_FROM_1, help="Hybrid: chunks of one document at the most."
    ),
    click.option("--tree", "trees", multiple=True, help="Only this tree; may be repeated."),
    click.option("--document", "documents", multiple=True, help="Only this document; likewise."),
    click.option(
        "--layer",
        "layers",
        multiple=True,
        type=_FROM_0,
        help="Only this layer (0 holds the chunks); likewise.",
    ),
    click.option(
        "--metadata",
        multiple=True,
        metavar="KEY=VALUE",
        help="Only nodes whose metadata has this value; likewise.",
    ),
)
"""What a query can be told, and its filters."""


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
    return together(home, as_json)(reported(function))


def home_settings(path: Path, *, needed: bool) -> tuple[Home, Settings]:
    """A home and its settings; the default ones where there is no home, unless it is ``needed``."""
    home = Home.at(path)
    return Home.open(path) if needed or home.settings.exists() else (home, load_settings())


def is_missing(source: str) -> bool:
    """Whether a source is no URL, and no file or folder either."""
    return "://" not in source and not Path(source).expanduser().exists()


def kept_sources(sources: Sequence[str]) -> list[str]:
    """Sources as the settings keep them: local ones absolute, so that any folder will do."""
    return [one if "://" in one else str(Path(one).expanduser().resolve()) for one in sources]


def budget_options(of: str) -> Callable[[Command], Command]:
    """Add the bounds of what is spent; ``of`` says whose calls they are of."""
    usd = click.FloatRange(min=0)
    return together(
        click.option("--max-calls", type=_FROM_0, help=f"Model calls of {of} at the most."),
        click.option("--max-tokens", type=_FROM_0, help=f"Tokens of {of} at the most."),
        click.option("--max-usd", type=usd, help="US dollars, by the settings' prices."),
    )


def bounded(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """The settings with those bounds that a command line gives (``budget_options``).

    Raises:
        SettingsError: a bound in USD, and a model whose price is not set.
    """
    bounds = {name: values[f"max_{name}"] for name in BudgetSettings.model_fields}
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    if not given:
        return settings
    budget = BudgetSettings.model_validate({**settings.budget.model_dump(), **given})
    bounded = settings.model_copy(update={"budget": budget})
    Ledger.of(bounded)
    return bounded


def require_words(question: str) -> None:
    """BadParameter where a question is empty or white space."""
    if not question.strip():
        raise click.BadParameter("the question is empty", param_hint="QUESTION")


_TAKEN_BY = {
    "start_layer": ("--start-layer", "traversal", "beam"),
    "n_layers": ("--layers-down", "traversal"),
    "threshold": ("--threshold", "traversal"),
    "beam_width": ("--beam-width", "beam"),
    "max_per_document": ("--max-per-document", "hybrid"),
}
"""Options that some strategies alone take."""


def make_query(
    settings: Settings, values: Mapping[str, Any], beside: Collection[str] = ()
) -> Query:
    """The query of a command line over the settings' defaults.

    Raises:
        BadParameter: an option that neither the strategy takes nor one of those ``beside`` it.
    """
    names = {option.name for option in fields(Query)} & values.keys()
    given = {name: values[name] for name in names if values[name] is not None}
    query = replace(Query.from_settings(settings), where=make_where(values), **given)
    for name, (option, *takers) in _TAKEN_BY.items():
        if name in given and not {query.strategy, *beside} & set(takers):
            told = f"the strategy {query.strategy} does not take it; add --strategy {takers[0]}"
            raise click.BadParameter(told, param_hint=option)
    return query


def make_where(values: Mapping[str, Any]) -> Where:
    """The filter of a command line."""
    return Where(
        trees=values["trees"] or None,
        documents=values["documents"] or None,
        layers=values["layers"] or None,
        metadata=_metadata(values["metadata"]),
    )


def why_nothing(query: Query, retrievals: Sequence[Retrieval], values: Mapping[str, Any]) -> str:
    """What to say where none of the retrievals that a command line asked for found a node."""
    if any(one.n_passed_over for one in retrievals):
        return f"no node fits into {query.budget_tokens} tokens; raise --budget-tokens"
    filters = {
        "--tree": values["trees"],
        "--document": values["documents"],
        "--layer": values["layers"],
        "--metadata": values["metadata"],
        "--threshold": () if query.threshold is None else (query.threshold,),
    }
    given = [f"{option} {value}" for option, wanted in filters.items() for value in wanted]
    if query.scope == "corpus" and given:
        given[0] = f"in the trees that the tree above them leads to, {given[0]}"
    if given:
        return f"no node matches {', '.join(given)}; leave a filter out, or see `raptor status`"
    return "no node matches the question; ask with other words, or with another --strategy"


def _metadata(items: Iterable[str]) -> dict[str, tuple[MetadataValue, ...]]:
    """What ``KEY=VALUE`` may stand for, by key; a key that comes again has any of its values."""
    wanted: dict[str, tuple[MetadataValue, ...]] = {}
    for item in items:
        key, divider, value = item.partition("=")
        if not divider or not key:
            raise click.BadParameter(f"{item!r}: expected KEY=VALUE", param_hint="--metadata")
        wanted[key] = (*wanted.get(key, ()), *_readings(value))
    return wanted


def _readings(text: str) -> tuple[MetadataValue, ...]:
    """What a value may stand for: itself, and the number or truth that is written so."""
    if text in {"true", "false"}:
        return text, text == "true"
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return (text, number) if kind is float or str(number) == text else (text,)
    return (text,)
