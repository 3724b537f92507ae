"""What commands share: the home's settings and source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from raptor_assets.project.home import Home
from raptor_assets.project.source_state import look
from raptor_core.documents import Inventory, Scan, partition_key
from raptor_core.home.published import refuse_unknown
from raptor_core.models.money.ledger import Ledger
from raptor_core.settings import Settings, load_settings
from raptor_core.settings.base import BudgetSettings


def home_settings(path: Path, *, needed: bool) -> tuple[Home, Settings]:
    """A home and its settings; the default ones where there is no home, unless it is ``needed``."""
    home = Home.at(path)
    if needed or home.settings.exists():
        return Home.open(path)
    return home, load_settings()


def look_at_source(path: Path, sources: Sequence[str]) -> tuple[Home, Settings, Scan]:
    """What ``read_source`` gives, and nothing is written: neither a home nor its settings."""
    fresh = kept_sources(sources)
    home, settings = home_settings(path, needed=not fresh)
    paths = dict.fromkeys((*settings.source.paths, *fresh))
    source = settings.source.model_copy(update={"paths": tuple(paths)})
    scan = look(home.table_store(settings), source)
    return home, settings.model_copy(update={"source": source}), scan


def read_source(path: Path, sources: Sequence[str]) -> tuple[Home, Settings, Scan]:
    """A home that knows these sources, and what is in all its sources.

    The sources are looked at before they are kept in the settings, so that a mistyped one leaves
    nothing behind. A home is made with the default settings where there is none.

    Raises:
        MissingHomeError: there is neither a home nor a source.
        SettingsError: the home's settings are wrong.
        SourceError: a source cannot be read, or all of them hold nothing.
    """
    home, settings, scan = look_at_source(path, sources)
    if sources:
        home.create()
        home.add_sources(kept_sources(sources))
    return home, settings, scan


def choose_partitions(
    names: Sequence[str], inventory: Inventory, settings: Settings
) -> tuple[str, ...] | None:
    """Keys of the partitions that are named; a tree's name will do where it has one of its own.

    Raises:
        UnknownTreeError: the source holds nothing by that name.
    """
    if not names:
        return None
    known = inventory.partitions(settings.grouping)
    of_tree = {name: partition_key(name, settings.grouping) for name in names}
    is_tree = {name for name in names if name in known.get(of_tree[name], {})}
    keys = [of_tree[n] if n in is_tree and n not in known else n for n in names]
    unknown = [key for key in keys if key not in known]
    refuse_unknown("partition of the source is called", unknown, known)
    return tuple(keys)


def bounded(settings: Settings, **bounds: float | None) -> Settings:
    """The settings with those bounds of ``budget`` that are given.

    Raises:
        SettingsError: a bound in USD, and a model whose price is not set.
    """
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    if not given:
        return settings
    budget = BudgetSettings.model_validate({**settings.budget.model_dump(), **given})
    bounded = settings.model_copy(update={"budget": budget})
    Ledger.of(bounded)
    return bounded


def kept_sources(sources: Sequence[str]) -> list[str]:
    """Sources as the settings keep them: local ones absolute, so that any folder will do."""
    return [
        source if "://" in source else str(Path(source).expanduser().resolve())
        for source in sources
    ]
