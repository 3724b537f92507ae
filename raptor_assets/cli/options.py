"""Options that commands share, and their conversion to a home, budgets and a query."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce, wraps
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import click
from pydantic import ValidationError

from raptor_assets.cli.exits import reported
from raptor_assets.home.folder import Home
from raptor_assets.serving.parameters import ScopedOptions
from raptor_core.home.folder import DEFAULT_HOME, HOME_VARIABLE
from raptor_core.identity import to_nfc
from raptor_core.models.money.ledger import Ledger
from raptor_core.settings import Settings, load_settings
from raptor_core.settings.base import BudgetSettings

Command = Callable[..., Any]

_FROM_0 = click.IntRange(min=0)

_NAMES = ("trees", "tree", "partitions", "node", "subject", "name")
"""Command arguments that name a tree, a partition, a document or a node."""


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Combine decorators into one; the help lists the options in this order."""
    return lambda function: reduce(lambda result, add: add(result), reversed(options), function)


_FILTERS = {
    "trees": "tree",
    "documents": "document",
    "folders": "folder",
    "layers": "layer",
    "ids": "id",
    "metadata": "metadata",
    "readers": "as",
    "history": "history",
}
"""Option name of each repeatable option: the filters, and the earlier questions."""

_NEVER_EXCLUDED = ("readers", "history")


def _filter_options(prefix: str = "") -> list[Callable[[Command], Command]]:
    """Return an option for each filter; the prefix "exclude" negates them."""
    return [
        click.option(
            f"--{prefix}-{option}" if prefix else f"--{option}",
            f"{prefix}_{name}" if prefix else name,
            multiple=True,
            type=int if name == "layers" else str,
            metavar="KEY=VALUE" if name == "metadata" else None,
            help=_filter_help(name, prefix),
        )
        for name, option in _FILTERS.items()
        if not prefix or name not in _NEVER_EXCLUDED
    ]


def _filter_help(name: str, prefix: str) -> str:
    if prefix:
        return f"Like --{_FILTERS[name]}, but excludes all nodes with a matching chunk."
    if name == "metadata":
        return "Search only nodes whose metadata has this value; >=, >, <= and < set a range."
    return f"{ScopedOptions.model_fields[name].description}"


_PLAIN = {
    name: field
    for name, field in ScopedOptions.model_fields.items()
    if name != "exclude" and name not in _FILTERS
}
"""Fields of ``ScopedOptions`` that are not filters."""


def _plain_options() -> list[Callable[[Command], Command]]:
    """Return an option for each field that is not a filter."""
    return [
        click.option(_option(name), type=_click_type(field.annotation), help=field.description)
        for name, field in _PLAIN.items()
    ]


def _click_type(annotation: Any) -> Any:
    """Return the type of an option: its choices, or the number type in the annotation."""
    kind = get_args(annotation)[0]  # the other one is None
    kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return click.Choice(get_args(kind)) if get_origin(kind) is Literal else kind


def _option(name: str) -> str:
    """Return the option name of a field of ``ScopedOptions``."""
    return f"--{_FILTERS.get(name, name).replace('_', '-')}"


query_options = together(*_plain_options(), *_filter_options(), *_filter_options("exclude"))
"""Options and filters of a query."""


def home_and_json(function: Command) -> Command:
    """Add ``--home`` and ``--json``, report errors, and normalize names."""
    home = click.option(
        "--home",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path(DEFAULT_HOME),
        envvar=HOME_VARIABLE,
        show_default=True,
        help="Folder with settings, tables, vectors and Dagster's records.",
    )
    as_json = click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON value for programs."
    )

    @wraps(function)
    def command(**values: Any) -> Any:
        names = {name: _composed(values[name]) for name in _NAMES if name in values}
        return function(**values | names)

    return together(home, as_json)(reported(command))


def _composed(value: Any) -> Any:
    """Normalize a name, or several, to composed letters; return other values unchanged."""
    if isinstance(value, tuple):
        return tuple(map(_composed, value))
    return to_nfc(value) if isinstance(value, str) else value


def home_and_settings(path: Path, *, needed: bool) -> tuple[Home, Settings]:
    """Return a home and its settings; default settings if the home is missing and not needed."""
    home = Home.at(path)
    return (
        Home.open_with_settings(path)
        if needed or home.settings_path.exists()
        else (home, load_settings())
    )


def is_missing(source: str) -> bool:
    """Return whether a source is neither a URL nor an existing file or folder."""
    return "://" not in source and not Path(source).expanduser().exists()


def absolute_sources(sources: Sequence[str]) -> list[str]:
    """Return sources as the settings store them: local ones with absolute paths."""
    return [src if "://" in src else str(Path(src).expanduser().resolve()) for src in sources]


def budget_options(spender: str) -> Callable[[Command], Command]:
    """Add options for budgets of calls, tokens and US dollars."""
    usd = click.FloatRange(min=0)
    return together(
        click.option("--max-calls", type=_FROM_0, help=f"Maximum model calls of {spender}."),
        click.option("--max-tokens", type=_FROM_0, help=f"Maximum tokens of {spender}."),
        click.option(
            "--max-usd", type=usd, help="Maximum cost in US dollars, at the prices in the settings."
        ),
    )


def bounded(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """Apply the options of ``budget_options``; USD require prices of all models."""
    options = {name: values[f"max_{name}"] for name in BudgetSettings.model_fields}
    bounds = {name: bound for name, bound in options.items() if bound is not None}
    if not bounds:
        return settings
    budget = BudgetSettings.model_validate({**settings.budget.model_dump(), **bounds})
    bounded = settings.model_copy(update={"budget": budget})
    Ledger.from_settings(bounded)
    return bounded


def read_options(values: Mapping[str, Any]) -> ScopedOptions:
    """Read the query options of a command line; raise BadParameter for an invalid value."""
    fields: dict[str, Any] = {name: values[name] for name in _PLAIN if values[name] is not None}
    fields |= _filters(values, "")
    if exclude := _filters(values, "exclude_"):
        fields["exclude"] = exclude
    try:
        return ScopedOptions.model_validate(fields)
    except ValidationError as error:
        fault = error.errors()[0]
        name, *inner = map(str, fault["loc"])
        hint = f"--exclude{_option(inner[0])[1:]}" if name == "exclude" else _option(name)
        message = f"{fault['msg']}, got {fault['input']!r:.80}"
        raise click.BadParameter(message, param_hint=hint) from error


def _filters(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the filters whose options were given, by name."""
    chosen = {name: values[prefix + name] for name in _FILTERS if values.get(prefix + name)}
    if "metadata" in chosen:
        chosen["metadata"] = _metadata(chosen["metadata"])
    return chosen


_CONDITION = re.compile(r"(?P<key>[^=<>]+)(?P<operator>>=|<=|=|<|>)(?P<value>.*)", re.DOTALL)
_BOUNDS = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}


def _metadata(conditions: Iterable[str]) -> dict[str, Any]:
    """Parse ``KEY=VALUE`` conditions to the accepted values, or the bounds of a range, by key.

    A repeated key accepts several values.
    """
    values: dict[str, tuple[str, ...]] = {}
    ranges: dict[str, dict[str, str]] = {}
    for condition in conditions:
        match = _CONDITION.fullmatch(condition)
        if match is None:
            message = f"{condition!r}: expected KEY=VALUE, or >=, >, <= or < instead of ="
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
