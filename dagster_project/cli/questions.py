"""From the options of `query` and `ask` to a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from raptor_core.retrieval import Query
from raptor_core.settings import Settings
from raptor_core.store.base import Where

_GIVEN = (
    *("strategy", "budget_tokens", "top_k", "start_layer", "n_layers", "beam_width"),
    "max_per_document",
)
"""Options that go over the settings."""


def require_words(question: str) -> None:
    """Refuse a question that asks nothing.

    Raises:
        BadParameter: it is empty or white space.
    """
    if not question.strip():
        raise click.BadParameter("the question is empty", param_hint="QUESTION")


def make_query(settings: Settings, values: Mapping[str, Any]) -> Query:
    """The query of a command line over the settings' defaults."""
    base = Query.from_settings(settings)
    given = {name: values[name] for name in _GIVEN if values[name] is not None}
    return replace(base, where=make_where(values), **given)


def make_where(values: Mapping[str, Any]) -> Where:
    """The filter of a command line."""
    return Where(
        trees=values["trees"] or None,
        documents=values["documents"] or None,
        layers=values["layers"] or None,
        metadata=dict(_pair(item) for item in values["metadata"]),
    )


def why_nothing(query: Query) -> str:
    """What to say where no node was found."""
    where = query.where
    filters = {
        "--tree": where.trees,
        "--document": where.documents,
        "--layer": where.layers,
        "--metadata": [f"{key}={value}" for key, value in where.metadata.items()],
    }
    given = [f"{option} {value}" for option, values in filters.items() for value in values or ()]
    if given:
        return f"no node matches {', '.join(given)}; leave a filter out, or see `raptor status`"
    return f"no node fits into {query.budget_tokens} tokens; raise --budget-tokens"


def _pair(item: str) -> tuple[str, str | int | float | bool]:
    key, divider, value = item.partition("=")
    if not divider or not key:
        raise click.BadParameter(f"{item!r}: expected KEY=VALUE", param_hint="--metadata")
    return key, _value(value)


def _value(text: str) -> str | int | float | bool:
    if text in {"true", "false"}:
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
