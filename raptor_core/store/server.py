"""A Qdrant server or cluster by URL.

The alias ``<corpus>`` names the live collection ``<corpus>-<embedder>``; it is looked up once, so
that an open store never changes its embedder. A point in state "identity" says what a collection
was made for and what it replaced, as the alias file does on embedded engines.

Readers of a server wait for nobody: how a tree is published whole is in ``versions.py``. Requests
stay within the 32 MB that a server takes by default (``parts.py``).
"""

from __future__ import annotations

from contextlib import closing, nullcontext
from functools import partial

from raptor_core.errors import StoreError
from raptor_core.settings.stores import StoreSettings
from raptor_core.store.base import StoreIdentity
from raptor_core.store.connecting import connect
from raptor_core.store.corpus import Collection, Corpus
from raptor_core.store.home import check_identity, may_stand_beside
from raptor_core.store.store import VectorStore


def open_server(
    settings: StoreSettings, identity: StoreIdentity | None, *, beside: bool
) -> VectorStore:
    """Open the corpus on the server, or make it when ``identity`` is given and it is new.

    Raises:
        StoreError: the server does not answer or refuses; or there is no such corpus.
        StoreMismatchError: the corpus was made for another identity or schema.
    """
    corpus = connect(settings)
    try:
        chosen, live = _choose(corpus, identity, beside=beside)
    except BaseException:
        corpus.client.close()
        raise
    engine = corpus.open(chosen.name)
    promote = None if live else partial(corpus.promote, chosen)
    return VectorStore(
        engine,
        chosen.identity,
        engine.apply,
        _no_lock,
        promote,
        steady=engine.steady,
        turn=nullcontext(),
    )


def server_identities(settings: StoreSettings, *, beside: bool) -> list[StoreIdentity]:
    """What the live collection was made for, and with ``beside`` the others after it."""
    corpus = connect(settings)
    with closing(corpus.client):
        live = corpus.live()
        others = corpus.others(live) if live and beside else []
        return [found.identity for found in (live, *others) if found]


def check_server(settings: StoreSettings) -> None:
    """See ``check_writable``."""
    corpus = connect(settings)
    with closing(corpus.client):
        corpus.check_writable()


def _choose(
    corpus: Corpus, identity: StoreIdentity | None, *, beside: bool
) -> tuple[Collection, bool]:
    """The collection to open, and whether it is the live one."""
    live = corpus.live()
    if live is None:
        if identity is None:
            raise StoreError(f"{corpus.where} is not there; build it first")
        made = corpus.make(identity)
        corpus.point(made.name)
        return made, True
    if identity is not None:
        live = corpus.remove_retired(live)
        if beside and may_stand_beside(live.identity, identity):
            return corpus.make(identity), False
    check_identity(live.identity, identity, corpus.where)
    return live, True


def _no_lock() -> None:
    """A server has no lock of ours to release."""
