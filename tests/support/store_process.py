"""What the store's tests run in processes of their own: hold, die, meet a full disk.

Called as ``python store_process.py ACTION ROOT KIND``; ``tests`` must be on the path.
"""

import os
import resource
import signal
import sys
import time
from pathlib import Path

from support.stores import make_manifest, make_tree, open_at, publish, vectors_of

from raptor_core.errors import StoreError
from raptor_core.store import journal

OLD = make_tree(n=12, word="old")
NEW = make_tree(n=12, word="new")[2:]


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def hold(root, kind):
    """Open the store and keep it until killed."""
    with open_at(root, kind):
        sys.stdout.write("held\n")
        sys.stdout.flush()
        time.sleep(60)


def publish_and_die(root, kind, step):
    """Publish NEW over OLD and die at a step of the commit."""
    store = open_at(root, kind)
    engine_class = type(store._engine)
    apply = engine_class.apply
    store.stage(NEW, None)
    store.stage(NEW, vectors_of(NEW))
    if step == "before journal":
        journal.write_durably = die
    elif step == "after journal":
        engine_class.apply = die
    elif step == "half applied":
        engine_class.apply = lambda self, batch: (
            apply(self, type(batch)(batch.upserts[:5])),
            die(),
        )
    elif step == "before deletes":
        engine_class.apply = lambda self, batch: (apply(self, type(batch)(batch.upserts)), die())
    elif step == "before flush":
        engine_class.flush = die
    elif step == "before the journal goes":
        journal.Path.unlink = die
    store.publish(make_manifest(NEW), NEW)


def publish_on_full_disk(root, kind):
    """Publish while no file may grow over some KB: writes fail as they do on a full disk."""
    try:
        with open_at(root, kind) as store:
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
            publish(store, NEW)
    except StoreError as error:
        sys.stdout.write(f"StoreError: {error}")


def publish_rounds(root, kind, word):
    """Publish the tree again and again, as one of several processes."""
    for i in range(4):
        with open_at(root, kind, lock_seconds=60.0) as store:
            publish(store, make_tree(n=12, word=f"{word}{i}"))


if __name__ == "__main__":
    action, place, *rest = sys.argv[1:]
    globals()[action](Path(place), *rest)
