"""What the store's tests run in processes of their own: hold, die.

Called as ``python store_process.py ACTION ROOT``; ``tests`` must be on the path.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from support.stores import (
    faults,
    open_at,
    publish_together,
    rebuild,
)


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def hold(root):
    """Open the store and keep it until killed."""
    with open_at(root):
        say("held")
        time.sleep(60)


def publish_rebuilds(root, start, end):
    """Publish rebuild after rebuild of two trees together, each in an opening of its own."""
    for number in range(int(start), int(end)):
        with open_at(root, lock_seconds=60.0) as store:
            publish_together(store, {tree: rebuild(tree, number) for tree in ("one", "two")})
        say(number)
        time.sleep(0.03)


def read_until_a_line_comes(root):
    """Read everything again and again until a line comes; then say what was found wrong."""
    stopped, wrong, builds = threading.Event(), [], set()
    threading.Thread(target=lambda: (sys.stdin.readline(), stopped.set())).start()
    say("reading")
    while not stopped.is_set():
        with open_at(root, identity=None, lock_seconds=60.0) as store:
            wrong += faults(store)
            builds |= {manifest.build_id for manifest in store.manifests()}
        time.sleep(0.01)
    say(json.dumps({"wrong": wrong, "n_builds": len(builds)}))


if __name__ == "__main__":
    action, place, *rest = sys.argv[1:]
    globals()[action](Path(place), *rest)
