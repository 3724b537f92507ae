"""What the cache's tests run in processes of their own: keep, wait, die, meet a full disk.

Called as ``python cache_process.py ACTION FOLDER``; ``tests`` must be on the path.
"""

import resource
import sys
from itertools import count
from pathlib import Path

import numpy as np

from raptor_core.errors import StoreError
from raptor_core.tree.cache import NodeCache


def say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def keep_one(folder):
    """Leave an answer and end."""
    NodeCache(folder).keep_texts({"b": "of the other"})


def keep_many(folder):
    """Keep answers and vectors until killed, and say which are kept."""
    cache = NodeCache(folder)
    for number in count():
        key = f"{number:06}"
        cache.record_needed_keys([("t", key)])
        if number % 2:
            cache.keep_texts({key: key * 50})
        else:
            cache.keep_vectors({key: np.full(384, number, dtype=np.float32)})
        say(key)


def forget_and_keep(folder):
    """Keep a layer and forget it, again and again."""
    cache = NodeCache(folder)
    texts = {f"{number:03}": "text " * 100 for number in range(200)}
    while True:
        cache.record_needed_keys(("t", key) for key in texts)
        cache.keep_texts(texts)
        say("kept")
        cache.forget_trees(["t"])


def keep_on_full_disk(folder):
    """Keep while no file may grow over some KB: writes fail as they do on a full disk."""
    cache = NodeCache(folder)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    try:
        for number in range(1000):
            cache.keep_texts({str(number): "x" * 2000})
            say(number)
    except StoreError as error:
        say(f"StoreError: {error}")


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]))
