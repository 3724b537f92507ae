"""Options that commands share, and their conversion to a home, bounds and a query."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import reduce
from pathlib import Path
from typing import Any, get_args

import click

from raptor_assets.cli.exits import reported
from raptor_assets.home.folder import Home
from raptor_assets.serving.parameters import Filters
from raptor_core.home.folder import DEFAULT_HOME, HOME_VARIABLE
from raptor_core.models.money.ledger import Ledger
from raptor_core.retrieval import Query, Retrieval
from raptor_core.retrieval.base import Kind, Scope
from raptor_core.settings import Settings, load_settings
from raptor_core.settings.base import BudgetSettings
from raptor_core.settings.retrieval import Strategy
from raptor_core.store.base import Where

Command = Callable[..., Any]

_FROM_0, _FROM_1 = click.IntRange(min=0), click.IntRange(min=1)


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Combine decorators to one; help lists the options in this order."""
    return lambda function: reduce(lambda result, add: add(result), reversed(options), function)


_OPTIONS = {
    "trees": "tree",
    "documents": "document",
    "folders": "folder",
    "layers": "layer",
    "ids": "id",
    "metadata": "metadata",
}
"""Name of the option of each filter; each may be repeated."""


def filter_options(prefix: str = "") -> list[Callable[[Command], Command]]:
    """Return an option for each field of ``Filters``; the prefix "exclude" negates them."""
    return [
        click.option(
            f"--{prefix}-{option}" if prefix else f"--{option}",
            f"{prefix}_{name}" if prefix else name,
            multiple=True,
            type=_FROM_0 if name == "layers" else str,
            metavar="KEY=VALUE" if name == "metadata" else None,
            help=_filter_help(name, prefix),
        )
        for name, option in _OPTIONS.items()
    ]


def _filter_help(name: str, prefix: str) -> str:
    if prefix:
        return f"Leave out what --{_OPTIONS[name]} would take, in whole or in part."
    if name == "metadata":
        return "Only nodes whose metadata has this value, or with >=, >, <= or < one in a range."
    return f"{Filters.model_fields[name].description}"


query_options = together(
    click.option(
        "--scope",
        type=click.Choice(get_args(Scope)),
        help="What to search: the trees, the corpus tree ([corpus_tree]), or both.",
    ),
    click.option("--budget-tokens", type=_FROM_1, help="Tokens of the context."),
    click.option("--top-k", type=_FROM_1, help="Nodes, or nodes per layer."),
    click.option(
        "--strategy",
        type=click.Choice(get_args(Strategy)),
        help="How to search; see docs/retrieval.md.",
    ),
    click.option(
        "--kind",
        type=click.Choice(get_args(Kind)),
        help="Hybrid: a question about a detail, or a general one; auto decides by its words.",
    ),
    click.option("--start-layer", type=_FROM_0, help="Traversal: where the walk starts."),
    click.option("--layers-down", "n_layers", type=_FROM_1, help="Traversal: how far."),
    click.option(
        "--threshold",
        type=click.FloatRange(-1, 1),
        help="Traversal: nodes of at least this cosine, instead of the best --top-k.",
    ),
    click.option("--max-per-document", type=_FROM_1, help="Hybrid: most chunks of one document."),
    *filter_options(),
    *filter_options("exclude"),
)
"""Options and filters of a query."""


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
    """Return a home and its settings; default settings if no home exists or is needed."""
    home = Home.at(path)
    return Home.open(path) if needed or home.settings.exists() else (home, load_settings())


def is_missing(source: str) -> bool:
    """Return True if a source is neither a URL nor a file or folder."""
    return "://" not in source and not Path(source).expanduser().exists()


def absolute_sources(sources: Sequence[str]) -> list[str]:
    """Return sources for the settings, with absolute paths of local ones."""
    return [src if "://" in src else str(Path(src).expanduser().resolve()) for src in sources]


def budget_options(spender: str) -> Callable[[Command], Command]:
    """Add bounds of calls, tokens and US dollars."""
    usd = click.FloatRange(min=0)
    return together(
        click.option("--max-calls", type=_FROM_0, help=f"Most model calls of {spender}."),
        click.option("--max-tokens", type=_FROM_0, help=f"Most tokens of {spender}."),
        click.option("--max-usd", type=usd, help="Most US dollars, by the settings' prices."),
    )


def bounded(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """Return the settings with the bounds of ``budget_options``; USD need prices of all models."""
    options = {name: values[f"max_{name}"] for name in BudgetSettings.model_fields}
    bounds = {name: bound for name, bound in options.items() if bound is not None}
    if not bounds:
        return settings
    budget = BudgetSettings.model_validate({**settings.budget.model_dump(), **bounds})
    bounded = settings.model_copy(update={"budget": budget})
    Ledger.of(bounded)
    return bounded


_TAKEN_BY = {
    "start_layer": ("--start-layer", "traversal"),
    "n_layers": ("--layers-down", "traversal"),
    "threshold": ("--threshold", "traversal"),
    "max_per_document": ("--max-per-document", "hybrid"),
    "kind": ("--kind", "hybrid"),
}
"""Options of single strategies."""


def make_query(settings: Settings, values: Mapping[str, Any]) -> Query:
    """Make the query of a command line; raise BadParameter if its strategy lacks an option."""
    names = {option.name for option in fields(Query)} & values.keys()
    options = {name: values[name] for name in names if values[name] is not None}
    query = replace(Query.from_settings(settings), where=make_where(values), **options)
    for name, (option, *takers) in _TAKEN_BY.items():
        if name in options and query.strategy not in takers:
            message = f"the strategy {query.strategy} does not take it; add --strategy {takers[0]}"
            raise click.BadParameter(message, param_hint=option)
    return query


def make_where(values: Mapping[str, Any]) -> Where:
    """Make the filter of a command line."""
    where, exclude = (_filters(values, prefix) for prefix in ("", "exclude_"))
    return Where(**where, exclude=Where(**exclude) if exclude else None)


def _filters(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the filters whose options were used, by name."""
    chosen = {name: values[prefix + name] for name in _OPTIONS if values[prefix + name]}
    if "metadata" in chosen:
        chosen["metadata"] = _metadata(chosen["metadata"])
    return chosen


def explain_empty(query: Query, retrieval: Retrieval, values: Mapping[str, Any]) -> str:
    """Return the reason why the retrieval of a command line has no hit, and a remedy."""
    if retrieval.note:
        return f"{retrieval.note}; leave that filter out, or write its name as documents do"
    if retrieval.n_passed_over:
        return f"no node fits into {query.budget_tokens} tokens; raise --budget-tokens"
    filters = {f"--{option}": values[name] for name, option in _OPTIONS.items()}
    filters |= {f"--exclude-{o}": values[f"exclude_{name}"] for name, o in _OPTIONS.items()}
    filters["--threshold"] = () if query.threshold is None else (query.threshold,)
    texts = [f"{option} {value}" for option, items in filters.items() for value in items]
    if texts:
        return f"no node matches {', '.join(texts)}; leave a filter out, or see `raptor status`"
    return "no node matches the question; ask with other words, or with another --strategy"


_CONDITION = re.compile(r"(?P<key>[^=<>]+)(?P<operator>>=|<=|=|<|>)(?P<value>.*)", re.DOTALL)
_BOUNDS = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}


def _metadata(conditions: Iterable[str]) -> dict[str, Any]:
    """Return the accepted values, or the bounds of a range, by key from ``KEY=VALUE``.

    A repeated key has several values.
    """
    values: dict[str, tuple[str, ...]] = {}
    ranges: dict[str, dict[str, str]] = {}
    for condition in conditions:
        match = _CONDITION.fullmatch(condition)
        if match is None:
            message = f"{condition!r}: expected KEY=VALUE, or >=, >, <= or < for ="
            raise click.BadParameter(message, param_hint="--metadata")
        key, operator, value = match.groups()
        if operator == "=":
            values[key] = (*values.get(key, ()), value)
        else:
            ranges.setdefault(key, {})[_BOUNDS[operator]] = value
    if both := sorted(values.keys() & ranges.keys()):
        message = f"{both[0]}: expected values or a range, got both"
        raise click.BadParameter(message, param_hint="--metadata")
    return {**values, **ranges}
