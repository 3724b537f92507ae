"""Vector stores: Qdrant embedded, in memory and remote behind one class.

To change the embedder, a build opens a ``successor`` with the new identity, as often as needed.
Readers keep the live collection until ``VectorStore.promote`` finds every tree in the new one. A
change of all collections, such as dropping a tree, goes through ``stored_identities``.
Read ``store.py`` next for the rules, and ``corpus.py`` for the collections.
"""

from collections.abc import Generator
from contextlib import closing
from pathlib import Path

from raptor_core.errors import StoreError, StoreMismatchError
from raptor_core.settings.stores import StoreSettings
from raptor_core.store.base import Edition, Hit, Manifest, PublicationCounts, StoreIdentity, Where
from raptor_core.store.corpus import CorpusCollections
from raptor_core.store.folder import StoreFolder
from raptor_core.store.store import VectorStore

__all__ = [
    "Edition",
    "Hit",
    "Manifest",
    "PublicationCounts",
    "StoreIdentity",
    "VectorStore",
    "Where",
    "check_writable",
    "open_store",
    "stored_identities",
    "stored_identity",
]


def open_store(
    settings: StoreSettings,
    root: Path | None,
    identity: StoreIdentity | None = None,
    *,
    successor: bool = False,
    owner: str | None = None,
) -> VectorStore:
    """Open the corpus that the settings name; with an identity, make a new one.

    Args:
        settings: kind and place of the store.
        root: directory of embedded stores; None is a store in memory. Ignored by kind "server".
        identity: corpus and embedder of the store. None opens the live collection, to read.
        successor: with an identity of another embedder than the live collection's, open another
            collection, which readers see once it is promoted.
        owner: with an identity, name in Dagster of the corpus that builds, empty for the raptor
            command. A collection on a server refuses another owner than its first; None is any.

    Raises:
        StoreError: nothing is there to read, the place is damaged, or the disk refuses.
        StoreLockedError: another process held an embedded store for ``lock_seconds``.
        StoreMismatchError: the store was made for another embedder (and ``successor`` is False),
            dimension or schema, or by another owner.
    """
    if identity is not None and identity.corpus != settings.corpus:
        raise StoreMismatchError(
            f"the settings name corpus {settings.corpus!r} and the identity {identity.corpus!r}; "
            "make the identity from the same settings"
        )
    corpus = _corpus(settings, root, owner)
    if corpus is not None:
        return corpus.open(identity, successor=successor)
    if identity is None:
        raise StoreError("a store in memory is made for an identity; give one, or a root directory")
    from raptor_core.store.engines.qdrant import open_local

    return VectorStore(open_local(identity.n_dims), identity, lambda: None)


def check_writable(settings: StoreSettings) -> None:
    """Raise StoreError where a server's key may not write, before anything is computed for it."""
    if settings.kind == "server":
        from raptor_core.store.server import ServerCorpus

        with closing(ServerCorpus(settings)) as corpus:
            corpus.check_writable()


def stored_identity(settings: StoreSettings, root: Path | None) -> StoreIdentity | None:
    """Return the identity of the live collection; None where there is none yet."""
    with closing(_identities(settings, root)) as identities:
        return next(identities, None)


def stored_identities(settings: StoreSettings, root: Path | None) -> list[StoreIdentity]:
    """Return the identity of the live collection, then those of its successors.

    On embedded engines no lock is taken and no engine is started. StoreError names damage.
    """
    return list(_identities(settings, root))


def _identities(settings: StoreSettings, root: Path | None) -> Generator[StoreIdentity, None, None]:
    if (corpus := _corpus(settings, root)) is not None:
        with closing(corpus):
            yield from corpus.identities()


def _corpus(
    settings: StoreSettings, root: Path | None, owner: str | None = None
) -> CorpusCollections | None:
    """Return the collections that the settings name; None for a store in memory."""
    if settings.kind == "server":
        from raptor_core.store.server import ServerCorpus

        return ServerCorpus(settings, owner)
    return None if root is None else StoreFolder(root, settings)
