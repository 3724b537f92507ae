"""A build in a process of its own, for tests that kill it, fill its disk or make it hold the store.

Called as ``python build_process.py ACTION ROOT [ARGUMENT]``; ``tests`` must be on the path. The
embedder is the small one of the tests; everything else is what the settings say.
"""

import os
import resource
import signal
import sys
import time
from pathlib import Path

from support.command import embedder_made_by
from support.hashing import HashingEmbedder

from dagster_project.cli import main
from raptor_core.settings import StoreSettings
from raptor_core.store import StoreIdentity, open_store
from raptor_core.store.store import QdrantStore


def die(*_args, **_kwargs):
    os.kill(os.getpid(), signal.SIGKILL)


def build(root):
    """`raptor build`."""
    with embedder_made_by(lambda _settings: HashingEmbedder()):
        main(["build", "--json", "--home", str(root / "home")])


def build_and_die(root, point):
    """Build, and die in the middle.

    ``point`` is "publish" (before it), "published" (after the first tree), or the number of the
    call to embed.
    """
    if point == "publish":
        QdrantStore.publish = die
    elif point == "published":
        publish = QdrantStore.publish
        QdrantStore.publish = lambda self, *given: (publish(self, *given), die())
    else:
        embed = HashingEmbedder.embed
        calls = iter(range(int(point)))
        HashingEmbedder.embed = lambda self, texts: (
            embed(self, texts) if next(calls, None) is not None else die()
        )
    build(root)


def build_on_full_disk(root, n_bytes):
    """Build while no file may grow over ``n_bytes``: writes fail as they do on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(n_bytes), int(n_bytes)))
    build(root)


def hold(root):
    """Open the store and keep it until killed."""
    embedder = HashingEmbedder()
    identity = StoreIdentity("corpus", embedder.model, embedder.fingerprint, embedder.n_dims)
    with open_store(StoreSettings(), root / "home" / "qdrant", identity):
        sys.stdout.write("held\n")
        sys.stdout.flush()
        time.sleep(600)


if __name__ == "__main__":
    action, place, *rest = sys.argv[1:]
    globals()[action](Path(place), *rest)
