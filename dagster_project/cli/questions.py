"""From the options of `query` and `ask` to a query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import click

from raptor_core.documents.base import MetadataValue
from raptor_core.retrieval import Query
from raptor_core.settings import Settings
from raptor_core.store.base import Where

_GIVEN = (
    *("strategy", "budget_tokens", "top_k", "start_layer", "n_layers", "beam_width"),
    *("max_per_document", "threshold", "scope"),
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
        metadata=_metadata(values["metadata"]),
    )


def why_nothing(query: Query) -> str:
    """What to say where no node was found."""
    where = query.where
    filters = {
        "--tree": where.trees,
        "--document": where.documents,
        "--layer": where.layers,
        "--metadata": [
            f"{key}={reading}"
            for key, readings in where.metadata.items()
            for reading in (readings if isinstance(readings, tuple) else (readings,))
            if isinstance(reading, str)
        ],
    }
    given = [f"{option} {value}" for option, values in filters.items() for value in values or ()]
    if given:
        return f"no node matches {', '.join(given)}; leave a filter out, or see `raptor status`"
    return f"no node fits into {query.budget_tokens} tokens; raise --budget-tokens"


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
