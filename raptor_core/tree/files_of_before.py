"""What earlier versions kept of unfinished work, read once: files of answers, staged nodes."""

from __future__ import annotations

import base64
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from raptor_core.disk import disk_errors, file_lock
from raptor_core.errors import StoreError
from raptor_core.identity import digest
from raptor_core.store.corpus import is_collection_of
from raptor_core.tree.cache import NodeCache
from raptor_core.vectors import Vectors


def left_files(folder: Path, stores: Path | None, corpus: str) -> list[Path]:
    """Files of answers in ``folder``, and of staged nodes of a corpus under ``stores``.

    None where this process may not write, so that it only reads what is taken over.
    """
    if not os.access(folder if folder.exists() else folder.parent, os.W_OK):
        return []
    staged = [] if stores is None else stores.glob(f"{corpus}-*/staged.sqlite")
    folders = [path.parent for path in staged if is_collection_of(path.parent.name, corpus)]
    own = [place / "staged.sqlite" for place in folders if not place.is_symlink()]
    return sorted([*folder.glob("answers-*.jsonl"), *own])


def take_over(path: Path, cache: NodeCache) -> None:
    """Keep what a file holds, and remove it. One that a process still works with is left."""
    with disk_errors(path):
        if path.suffix != ".jsonl":
            _take_staged(path, cache)
            return
        with file_lock(path.with_suffix(".lock")) as is_free:
            if is_free:
                _take_answers(path, cache)


def _take_answers(path: Path, cache: NodeCache) -> None:
    """Lines of JSON; one that a crash cut off, or the disk changed, is passed over."""
    texts: dict[str, str] = {}
    vectors: dict[str, Vectors] = {}
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            stored = json.loads(line)
            key, text, vector = stored["key"], stored.get("text"), stored.get("vector")
            seal = digest("answer", *(str(value) for value in (key, stored["at"], text, vector)))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        if stored.get("digest", seal) != seal:
            continue
        if text is not None:
            texts[key] = text
        if vector is not None:
            vectors[key] = np.frombuffer(base64.b64decode(vector), dtype="<f4")
    cache.keep_texts(texts)
    cache.keep_vectors(vectors)
    path.unlink(missing_ok=True)


def _take_staged(path: Path, cache: NodeCache) -> None:
    """Nodes that were staged, unless a process of the version before has them open."""
    texts: dict[str, str] = {}
    vectors: dict[str, Vectors] = {}
    wanted: list[tuple[str, str]] = []
    query = "select tree, content_key, embedding_key, payload, dense from staged"
    try:
        with closing(sqlite3.connect(path, timeout=0)) as connection:
            for tree, content_key, embedding_key, payload, dense in connection.execute(query):
                node = json.loads(payload)
                if node["layer"]:
                    texts[content_key] = node["text"]
                    wanted.append((tree, content_key))
                if dense is not None:
                    vectors[embedding_key] = np.frombuffer(dense, dtype="<f4")
                    wanted.append((tree, embedding_key))
    except (sqlite3.Error, ValueError) as error:
        if "locked" in str(error):
            return
        raise StoreError(
            f"{path}: what an earlier version staged cannot be read: {error}. Remove the file: it "
            "holds unpublished work only, which is made again"
        ) from error
    cache.want(wanted)
    cache.keep_texts(texts)
    cache.keep_vectors(vectors)
    path.unlink(missing_ok=True)
