"""What a home publishes: its store open for reading, its trees by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from raptor_core.errors import UnknownTreeError
from raptor_core.home.folder import HomeFolder, hint
from raptor_core.settings import Settings
from raptor_core.store import open_store, stored_identity
from raptor_core.store.base import Manifest, StoreIdentity
from raptor_core.store.store import VectorStore
from raptor_core.tree.corpus_tree import CORPUS_TREE, corpus_tree_settings


@contextmanager
def published(
    home: HomeFolder, settings: Settings, identity: StoreIdentity | None = None
) -> Iterator[VectorStore]:
    """The store of a home, open for reading.

    Raises:
        UnknownTreeError: nothing is published yet.
        StoreMismatchError: it was built with another embedder than ``identity`` names.
    """
    require_store(home, settings)
    with open_store(settings.store, home.qdrant, identity) as store:
        if not any(mark.n_nodes for mark in store.marks()):
            raise _nothing(home)
        yield store


def require_store(home: HomeFolder, settings: Settings) -> None:
    """Refuse a home where nothing was ever published, without opening its store.

    Raises:
        UnknownTreeError: there is no store.
    """
    if stored_identity(settings.store, home.qdrant) is None:
        raise _nothing(home)


def corpus_tree_folder(home: HomeFolder, settings: Settings) -> tuple[HomeFolder, Settings]:
    """Where the tree above a home's trees is kept, and its settings."""
    return HomeFolder(home.path / CORPUS_TREE), corpus_tree_settings(settings)


def has_corpus_tree(home: HomeFolder, settings: Settings) -> bool:
    """Whether there is a corpus tree, without opening a store."""
    above, own = corpus_tree_folder(home, settings)
    return settings.corpus_tree.enabled and stored_identity(own.store, above.qdrant) is not None


def _nothing(home: HomeFolder) -> UnknownTreeError:
    return UnknownTreeError(
        f"nothing is published in {home.path}; `{hint('build SOURCE', home.path)}` builds and "
        "publishes"
    )


def require_trees(store: VectorStore, names: Sequence[str]) -> list[Manifest]:
    """The manifests of published trees; names that nothing is published under are refused.

    Raises:
        UnknownTreeError: names them, and some that there are.
    """
    manifests = store.manifests(names)
    if unknown := set(names) - {manifest.tree for manifest in manifests}:
        everything = {manifest.tree for manifest in store.manifests()}
        refuse_unknown("tree is published as", names, everything - unknown)
    return manifests


def refuse_unknown(what: str, names: Iterable[str], known: Collection[str]) -> None:
    """Refuse names that are not among the known ones.

    Raises:
        UnknownTreeError: names them, and some that there are.
    """
    if unknown := [name for name in names if name not in known]:
        some = ", ".join(sorted(known)[:5]) or "none"
        raise UnknownTreeError(
            f"no {what} {', '.join(map(repr, unknown))}; there are {len(known)}: {some}"
            f"{' …' if len(known) > 5 else ''}. `raptor status` lists what is published"
        )
