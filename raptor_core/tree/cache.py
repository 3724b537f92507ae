"""Interfaces to vectors and texts that exist before a build, and the cache in memory.

A tree first says which keys it *wants*; ``docs/adr/0008`` says when the cache forgets them.
``sqlite_cache`` keeps such a cache in a home.
"""

from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from raptor_core.vectors import Vectors


class Known(Protocol):
    """Finished vectors and texts of any tree by key, such as those in a ``VectorStore``."""

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """Return vectors by embedding key, without the keys that are unknown."""

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """Return summary texts by content key, without the keys that are unknown."""


class NodeCache(Known, AbstractContextManager[object], Protocol):
    """Cache of unfinished work; ``with`` keeps it open over many calls, which is optional."""

    def want(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Record which trees need which keys, by pairs of tree and key; repeats have no effect."""

    def keep_texts(self, texts: Mapping[str, str]) -> None:
        """Keep summaries by content key; replace other texts of the same key."""

    def keep_vectors(self, vectors: Mapping[str, Vectors]) -> None:
        """Keep vectors by embedding key."""

    def discard(self, keys: Iterable[str]) -> None:
        """Remove values that proved unusable."""

    def forget(self, trees: Collection[str]) -> None:
        """Remove keys that these trees wanted and no other tree wants."""

    def unfinished(self) -> list[str]:
        """Return the names of the trees that want any key, sorted."""

    def count_texts(self) -> int:
        """Return the number of kept summaries that unfinished trees want."""


class MemoryCache:
    """Cache in memory, which ends with its process."""

    def __init__(self) -> None:
        self._vectors: dict[str, Vectors] = {}
        self._texts: dict[str, str] = {}
        self._keys_of: dict[str, set[str]] = {}

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """See ``Known.vectors``."""
        return {key: self._vectors[key] for key in embedding_keys if key in self._vectors}

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """See ``Known.texts``."""
        return {key: self._texts[key] for key in content_keys if key in self._texts}

    def want(self, pairs: Iterable[tuple[str, str]]) -> None:
        """See ``NodeCache.want``."""
        for tree, key in pairs:
            self._keys_of.setdefault(tree, set()).add(key)

    def keep_texts(self, texts: Mapping[str, str]) -> None:
        """See ``NodeCache.keep_texts``."""
        self._texts |= texts

    def keep_vectors(self, vectors: Mapping[str, Vectors]) -> None:
        """See ``NodeCache.keep_vectors``."""
        self._vectors |= vectors

    def discard(self, keys: Iterable[str]) -> None:
        """See ``NodeCache.discard``."""
        for key in keys:
            self._texts.pop(key, None)
            self._vectors.pop(key, None)

    def forget(self, trees: Collection[str]) -> None:
        """See ``NodeCache.forget``."""
        keys = set().union(*(self._keys_of.pop(tree, set()) for tree in trees))
        self.discard(keys.difference(*self._keys_of.values()))

    def unfinished(self) -> list[str]:
        """See ``NodeCache.unfinished``."""
        return sorted(self._keys_of)

    def count_texts(self) -> int:
        """See ``NodeCache.count_texts``."""
        return len(self._texts.keys() & set().union(*self._keys_of.values()))

    def __enter__(self) -> object:
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing to close."""


class ChainedKnown:
    """Several sources of known content as one; the first that knows a key answers."""

    def __init__(self, *sources: Known) -> None:
        self._sources = sources

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """See ``Known.vectors``."""
        vectors: dict[str, Vectors] = {}
        keys = set(embedding_keys)
        for source in self._sources:
            vectors |= source.vectors(keys - vectors.keys())
        return vectors

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """See ``Known.texts``."""
        texts: dict[str, str] = {}
        keys = set(content_keys)
        for source in self._sources:
            texts |= source.texts(keys - texts.keys())
        return texts
