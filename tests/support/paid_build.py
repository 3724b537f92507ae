"""A build that pays a stand-in endpoint; as a process of its own, for tests that kill it.

Called as ``python paid_build.py URL FOLDER [BATCH_FROM]``; ``tests`` must be on the path. The
summaries come from the endpoint at URL, the vectors from the small embedder of the tests; FOLDER
holds the store and the cache of unfinished work.
"""

import random
import sys
from pathlib import Path

from support.clusterers import FOURS
from support.hashing import HashingEmbedder
from support.word_counter import WordCounter

from raptor_core.documents.base import Document
from raptor_core.settings import Settings
from raptor_core.store import open_store
from raptor_core.tree.build import build_tree
from raptor_core.tree.cache import NodeCache
from raptor_core.tree.components import Components

WORDS = [
    *("river", "mountain", "castle", "dragon", "engine", "window", "paper", "forest", "winter"),
    *("summer", "candle", "silver", "bridge", "garden", "market", "ocean", "thunder", "library"),
]
_RNG = random.Random(0)
_SENTENCES = [" ".join(_RNG.choices(WORDS, k=9)).capitalize() + "." for _ in range(200)]
DOCUMENTS = [Document("a.md", "\n\n".join(_SENTENCES))]
CONCURRENCY = 4


def paid_settings(url, **parts):
    """Small trees; summaries from the endpoint at ``url``; ``parts`` go over them."""
    values = {
        "chunking": {"max_tokens": 24, "max_context_tokens": 0},
        "components": FOURS,
        "clustering": {"max_tokens": 400},
        "summarizer": {
            "kind": "openai",
            "model": "small",
            "base_url": url,
            "concurrency": CONCURRENCY,
            "max_tokens": 60,
        },
        "prices": {"small": {"input": 1.0, "output": 2.0}},
    }
    for part, given in parts.items():
        values[part] = {**values.get(part, {}), **given}
    return Settings.model_validate(values)


def make_components(settings, folder=None, **parts):
    """Components that count words and load no model."""
    if settings.embedder.kind == "bundled":
        parts.setdefault("embedder", HashingEmbedder())
    if folder is not None:
        parts["cache"] = NodeCache(folder)
    return Components(settings, counter=WordCounter(), **parts)


def build(url, folder, batch_from=0):
    """The tree, with a store and a cache in ``folder``; by batches of so many summaries or more."""
    batches = {"batch_from": batch_from}
    components = make_components(paid_settings(url, summarizer=batches), folder / "answers")
    with open_store(
        components.settings.store, folder / "qdrant", components.store_identity
    ) as store:
        return build_tree(DOCUMENTS, components=components, known=store)


if __name__ == "__main__":
    build(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
