"""Options that commands share, and their conversion to a home, bounds and a query."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import reduce
from pathlib import Path
from typing import Any, get_args

import click

from raptor_assets.cli.exits import reported
from raptor_assets.project.home import Home
from raptor_core.documents.base import MetadataScalar
from raptor_core.home.folder import DEFAULT_HOME, HOME_VARIABLE
from raptor_core.laboratory import load_registered
from raptor_core.models.money.ledger import Ledger
from raptor_core.retrieval import STRATEGIES, Query, Retrieval
from raptor_core.retrieval.base import Kind
from raptor_core.settings import Settings, load_settings
from raptor_core.settings.base import BudgetSettings
from raptor_core.settings.retrieval import Strategy
from raptor_core.store.base import Where

Command = Callable[..., Any]

STRATEGY = click.Choice((*get_args(Strategy), "dpr", "collapsed-dpr"))
"""Strategies of the core and, with ``ENCODERS``, of the laboratory."""

ENCODERS = click.option(
    "--dpr",
    "encoders",
    nargs=2,
    metavar="QUESTION_MODEL PASSAGE_MODEL",
    help="Encoders of the strategies dpr and collapsed-dpr: models of sentence-transformers.",
)

_FROM_0, _FROM_1 = click.IntRange(min=0), click.IntRange(min=1)


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Combine decorators to one; help lists the options in this order."""
    return lambda function: reduce(lambda result, add: add(result), reversed(options), function)


query_options = together(
    click.option(
        "--scope",
        type=click.Choice(["trees", "corpus"]),
        help="Where to begin: at the trees, or at the corpus tree ([corpus_tree]).",
    ),
    click.option("--budget-tokens", type=_FROM_1, help="Tokens of the context."),
    click.option("--top-k", type=_FROM_1, help="Nodes, or nodes per layer."),
    click.option("--strategy", type=STRATEGY, help="How to search; see docs/retrieval.md."),
    ENCODERS,
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
    click.option("--beam-width", type=_FROM_1, help="Beam: summaries on each layer."),
    click.option("--max-per-document", type=_FROM_1, help="Hybrid: most chunks of one document."),
    click.option("--tree", "trees", multiple=True, help="Only this tree; may be repeated."),
    click.option(
        "--document", "documents", multiple=True, help="Only this document; may be repeated."
    ),
    click.option(
        "--layer",
        "layers",
        multiple=True,
        type=_FROM_0,
        help="Only this layer (0 holds the chunks); may be repeated.",
    ),
    click.option(
        "--metadata",
        multiple=True,
        metavar="KEY=VALUE",
        help="Only nodes whose metadata has this value; may be repeated.",
    ),
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


def require_words(question: str) -> None:
    """Raise BadParameter if a question is empty or white space."""
    if not question.strip():
        raise click.BadParameter("the question is empty", param_hint="QUESTION")


_TAKEN_BY = {
    "start_layer": ("--start-layer", "traversal", "beam"),
    "n_layers": ("--layers-down", "traversal"),
    "threshold": ("--threshold", "traversal"),
    "beam_width": ("--beam-width", "beam"),
    "max_per_document": ("--max-per-document", "hybrid"),
    "kind": ("--kind", "hybrid"),
}
"""Options of single strategies."""


def make_query(
    settings: Settings, values: Mapping[str, Any], compared: Collection[str] = ()
) -> Query:
    """Make the query of a command line from the settings' defaults.

    Raises:
        BadParameter: an option that neither the strategy nor a ``compared`` one takes.
    """
    names = {option.name for option in fields(Query)} & values.keys()
    options = {name: values[name] for name in names if values[name] is not None}
    query = replace(Query.from_settings(settings), where=make_where(values), **options)
    for name, (option, *takers) in _TAKEN_BY.items():
        if name in options and not {query.strategy, *compared} & set(takers):
            message = f"the strategy {query.strategy} does not take it; add --strategy {takers[0]}"
            raise click.BadParameter(message, param_hint=option)
    return query


def with_strategy(query: Query, name: str, encoders: tuple[str, str] | None) -> Query:
    """Return the query with the strategy of a name; those of the laboratory need encoders."""
    if name in STRATEGIES:
        return replace(query, strategy=name)
    from raptor_core.evaluation.systems import SYSTEMS

    make = load_registered(SYSTEMS, name, f"the strategy {name}")
    return replace(query, strategy=name, custom_strategy=make(name, encoders))


def make_where(values: Mapping[str, Any]) -> Where:
    """Make the filter of a command line."""
    return Where(
        trees=values["trees"] or None,
        documents=values["documents"] or None,
        layers=values["layers"] or None,
        metadata=_metadata(values["metadata"]),
    )


def explain_empty(query: Query, retrievals: Sequence[Retrieval], values: Mapping[str, Any]) -> str:
    """Return the reason why no retrieval of a command line has a hit, and a remedy."""
    if any(retrieval.n_passed_over for retrieval in retrievals):
        return f"no node fits into {query.budget_tokens} tokens; raise --budget-tokens"
    filters = {
        "--tree": values["trees"],
        "--document": values["documents"],
        "--layer": values["layers"],
        "--metadata": values["metadata"],
        "--threshold": () if query.threshold is None else (query.threshold,),
    }
    texts = [f"{option} {value}" for option, items in filters.items() for value in items]
    if query.scope == "corpus" and texts:
        texts[0] = f"in the trees that the corpus tree leads to, {texts[0]}"
    if texts:
        return f"no node matches {', '.join(texts)}; leave a filter out, or see `raptor status`"
    return "no node matches the question; ask with other words, or with another --strategy"


def _metadata(items: Iterable[str]) -> dict[str, tuple[MetadataScalar, ...]]:
    """Return the accepted values by key from ``KEY=VALUE``; a repeated key has several."""
    accepted: dict[str, tuple[MetadataScalar, ...]] = {}
    for item in items:
        key, divider, value = item.partition("=")
        if not divider or not key:
            raise click.BadParameter(f"{item!r}: expected KEY=VALUE", param_hint="--metadata")
        accepted[key] = (*accepted.get(key, ()), *_interpretations(value))
    return accepted


def _interpretations(text: str) -> tuple[MetadataScalar, ...]:
    """Return a value as text and, if it is written so, as number or truth value."""
    if text in {"true", "false"}:
        return text, text == "true"
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return (text, number) if kind is float or str(number) == text else (text,)
    return (text,)
