"""Vector stores: Qdrant embedded and remote behind one class.

A corpus is one collection, made for one embedder. That of a second embedder replaces it as a whole,
or is independent under a second corpus name. Read ``store.py`` next for the rules, then
``collection.py``.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from raptor_core.errors import StoreError, StoreMismatchError
from raptor_core.settings.stores import StoreSettings
from raptor_core.store.base import (
    Hit,
    Manifest,
    PublicationCounts,
    StoreIdentity,
    TreeEdition,
    Where,
)
from raptor_core.store.folder import open_folder, open_replacement_folder, read_folder_record
from raptor_core.store.store import VectorStore

if TYPE_CHECKING:
    from raptor_core.store.server import ServerCorpus

__all__ = [
    "Hit",
    "Manifest",
    "PublicationCounts",
    "StoreIdentity",
    "TreeEdition",
    "VectorStore",
    "Where",
    "open_replacement_store",
    "open_store",
    "read_stored_identity",
]


def open_store(
    settings: StoreSettings,
    root: Path | None,
    identity: StoreIdentity | None = None,
    *,
    owner: str | None = None,
) -> VectorStore:
    """Open the corpus that the settings name; with an identity, create it if it does not exist.

    Args:
        settings: kind and place of the store.
        root: directory of embedded stores; None creates a temporary one, which is deleted when the
            store is closed. Ignored by kind "server".
        identity: corpus and embedder of the store. None opens an existing store of any embedder.
        owner: name in Dagster of the corpus that builds, empty for the raptor command. A collection
            on a server rejects any other owner than its first; None skips this check.

    Raises:
        StoreError: there is no store to read, its files are damaged, or the disk refused a write.
        StoreLockedError: another process kept an embedded store locked for ``lock_seconds``.
        StoreMismatchError: the store was made for another embedder, dimension or schema, or by
            another owner.
    """
    if identity is not None and identity.corpus != settings.corpus:
        raise StoreMismatchError(
            f"the settings name corpus {settings.corpus!r} and the identity {identity.corpus!r}; "
            "make the identity from the same settings"
        )
    if settings.kind == "server":
        return _server_corpus(settings).open(identity, owner)
    if root is not None:
        return open_folder(root, settings, identity)
    if identity is None:
        raise StoreError("a temporary store needs an identity; pass one, or a root directory")
    return open_folder(Path(mkdtemp(prefix="raptor-")), settings, identity, is_temporary=True)


@contextmanager
def open_replacement_store(
    settings: StoreSettings, root: Path, identity: StoreIdentity
) -> Iterator[VectorStore]:
    """Open an empty store for another embedder, which replaces the stored one at the end.

    Readers see the stored one until then, and all of them the new one from then on. After an
    exception the stored one stays. Nothing else may publish meanwhile.
    """
    if settings.kind == "server":
        with (
            closing(_server_corpus(settings)) as corpus,
            corpus.open_replacement(identity) as store,
        ):
            yield store
    else:
        with open_replacement_folder(root, settings, identity) as store:
            yield store


def read_stored_identity(settings: StoreSettings, root: Path | None) -> StoreIdentity | None:
    """Return the identity of the stored corpus; None if there is none yet.

    Embedded stores are neither locked nor opened for this. Damage raises StoreError.
    """
    if settings.kind == "server":
        with closing(_server_corpus(settings)) as corpus:
            stored = corpus.read_record()
    else:
        stored = None if root is None else read_folder_record(root, settings.corpus)
    return None if stored is None else stored.identity


def _server_corpus(settings: StoreSettings) -> "ServerCorpus":
    from raptor_core.store.server import ServerCorpus  # it takes time to import

    return ServerCorpus(settings)
