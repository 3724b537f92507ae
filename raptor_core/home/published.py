"""Opening the store of a home, and checking that named trees are published."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from raptor_core.errors import UnknownTreeError
from raptor_core.home.folder import HomeFolder, command_hint
from raptor_core.identity import to_nfc
from raptor_core.settings import Settings
from raptor_core.store import open_store, read_stored_identity
from raptor_core.store.base import Manifest, StoreIdentity
from raptor_core.store.store import VectorStore
from raptor_core.tree.corpus_tree import CORPUS_TREE, corpus_tree_settings


@contextmanager
def open_published(
    home: HomeFolder, settings: Settings, identity: StoreIdentity | None = None
) -> Iterator[VectorStore]:
    """Open the store of a home for reading.

    Raises:
        UnknownTreeError: nothing is published yet.
        StoreMismatchError: it was built with another embedder than ``identity`` names.
    """
    require_store(home, settings)
    with open_store(settings.store, home.embedded_store_path, identity) as store:
        if not store.count():
            raise _nothing_published(home)
        yield store


def require_store(home: HomeFolder, settings: Settings) -> None:
    """Raise UnknownTreeError if a home has no store, without opening it."""
    if read_stored_identity(settings.store, home.embedded_store_path) is None:
        raise _nothing_published(home)


def corpus_tree_folder(home: HomeFolder, settings: Settings) -> tuple[HomeFolder, Settings]:
    """Return the folder of a home's corpus tree, and its settings."""
    return HomeFolder(home.path / CORPUS_TREE), corpus_tree_settings(settings)


def has_corpus_tree(home: HomeFolder, settings: Settings) -> bool:
    """Return whether a home has a corpus tree, without opening a store."""
    folder, corpus_settings = corpus_tree_folder(home, settings)
    identity = read_stored_identity(corpus_settings.store, folder.embedded_store_path)
    return settings.corpus_tree.enabled and identity is not None


def _nothing_published(home: HomeFolder) -> UnknownTreeError:
    return UnknownTreeError(
        f"nothing is published in {home.path}; `{command_hint('build SOURCE', home.path)}` builds "
        "and publishes"
    )


def require_trees(store: VectorStore, names: Sequence[str]) -> list[Manifest]:
    """Return the manifests of published trees; raise UnknownTreeError for any other name."""
    names = [*map(to_nfc, names)]
    manifests = store.manifests(names)
    if unknown := set(names) - {manifest.tree for manifest in manifests}:
        everything = {manifest.tree for manifest in store.manifests()}
        require_existing("tree is published as", names, everything - unknown)
    return manifests


def require_existing(label: str, names: Iterable[str], existing: Collection[str]) -> None:
    """Raise UnknownTreeError, with some existing names, if any of the ``names`` does not exist.

    ``label`` is noun and verb of the message, such as "tree is published as".
    """
    if unknown := [name for name in names if name not in existing]:
        examples = ", ".join(sorted(existing)[:5]) or "none"
        raise UnknownTreeError(
            f"no {label} {', '.join(map(repr, unknown))}; there are {len(existing)}: {examples}"
            f"{' …' if len(existing) > 5 else ''}. `raptor status` lists what is published"
        )
