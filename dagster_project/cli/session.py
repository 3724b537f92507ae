"""What query commands share: the home's settings, its store, and a search in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dagster_project.home import Home
from raptor_core.errors import SettingsError, UnknownTreeError
from raptor_core.retrieval import Query, Retrieval, Retriever
from raptor_core.settings import Settings
from raptor_core.store import open_store
from raptor_core.store.base import StoreIdentity, VectorStore, Where
from raptor_core.tree.tools import Tools


@contextmanager
def published(
    home: Home, settings: Settings, identity: StoreIdentity | None = None
) -> Iterator[VectorStore]:
    """The store of a home, open for reading.

    Raises:
        UnknownTreeError: nothing is published yet.
        StoreMismatchError: it was built with another embedder than ``identity`` names.
    """
    with open_store(settings.store, home.qdrant, identity) as store:
        if not store.manifests():
            raise UnknownTreeError(
                f"nothing is published in {home.path}; `raptor build SOURCE` builds and publishes"
            )
        yield store


def retrieve(home: Home, settings: Settings, question: str, query: Query) -> Retrieval:
    """Search a home's trees; the question is embedded before the store is opened.

    Raises:
        UnknownTreeError: nothing is published, or a tree that the query names is not.
    """
    tools = Tools(settings)
    vectors = tools.embedder.embed_queries([question])
    with published(home, settings, tools.store_identity) as store:
        require_trees(store, query.where.trees or ())
        return Retriever(store, tools.embedder).search_vectors([question], vectors, query)[0]


def require_trees(store: VectorStore, names: tuple[str, ...]) -> None:
    """Refuse names that nothing is published under.

    Raises:
        UnknownTreeError: names them, and some that there are.
    """
    known = {manifest.tree for manifest in store.manifests()}
    unknown = [name for name in names if name not in known]
    if unknown:
        some = ", ".join(sorted(known)[:5])
        raise UnknownTreeError(
            f"no tree is published as {', '.join(map(repr, unknown))}; "
            f"there are {len(known)}, such as: {some}. `raptor status` lists them"
        )


def make_query(settings: Settings, values: Mapping[str, Any]) -> Query:
    """The query of a command line over the settings' defaults."""
    base = Query.from_settings(settings.retrieval)
    return Query(
        strategy=values["strategy"] or base.strategy,
        budget_tokens=values["budget_tokens"] or base.budget_tokens,
        top_k=values["top_k"] or base.top_k,
        where=make_where(values),
        start_layer=values["start_layer"],
        n_layers=values["n_layers"],
    )


def make_where(values: Mapping[str, Any]) -> Where:
    """The filter of a command line."""
    return Where(
        trees=values["trees"] or None,
        documents=values["documents"] or None,
        layers=values["layers"] or None,
        metadata=dict(_pair(item) for item in values["metadata"]),
    )


def open_home(path: Path) -> tuple[Home, Settings]:
    """A home and its settings.

    Raises:
        SettingsError: the home has no settings file, or a wrong one.
    """
    home = Home.at(path)
    return home, home.load_settings()


def home_for_build(path: Path, sources: Sequence[str]) -> tuple[Home, Settings]:
    """A home that knows these sources; made with the default settings where it is new.

    Local sources are kept as absolute paths, so that a build from another folder finds them.

    Raises:
        SettingsError: the home's settings are wrong, or there is neither a home nor a source.
    """
    home = Home.at(path)
    kept = [source if "://" in source else str(Path(source).resolve()) for source in sources]
    if not home.settings.exists():
        if not kept:
            raise SettingsError(
                f"{home.path} is no home yet and no source is named: `raptor build SOURCE`, "
                "or `raptor init` first"
            )
        home.create(sources=kept)
    home.add_sources(kept)
    return home, home.load_settings()


def _pair(item: str) -> tuple[str, str | int | float | bool]:
    key, divider, value = item.partition("=")
    if not divider or not key:
        raise SettingsError(f"--metadata {item!r}: expected KEY=VALUE")
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
