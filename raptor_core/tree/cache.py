"""The seam to what is known of a tree before it is built: published, or paid for and kept.

A node's vector and a summary's text are kept from the moment they come until a publication has
them. They are found by key, whatever tree they were made for. A tree says which keys it *wants*
before it looks them up; what it wanted goes when it is published or dropped, unless another
unfinished tree wants it too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from raptor_core.vectors import Vectors


class Known(Protocol):
    """Finished vectors and texts by key, of any tree. A ``VectorStore`` is one: what is live."""

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """Known vectors by embedding key; unknown keys left out."""

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """Known summary texts by content key; unknown keys left out."""


class NodeCache(Known, AbstractContextManager[object], Protocol):
    """Unfinished work. ``with`` keeps it open over many calls; each call also works alone."""

    def want(self, wanted: Iterable[tuple[str, str]]) -> None:
        """Say which trees need which keys: pairs of both. Again is the same as once."""

    def keep_texts(self, texts: Mapping[str, str]) -> None:
        """Keep summaries by content key, in place of others of the same key."""

    def keep_vectors(self, vectors: Mapping[str, Vectors]) -> None:
        """Keep vectors by embedding key."""

    def discard(self, keys: Iterable[str]) -> None:
        """Drop what turned out to be unusable."""

    def forget(self, trees: Collection[str]) -> None:
        """Drop what these trees wanted, once it is published or not to be; not what others want."""

    def unfinished(self) -> list[str]:
        """Names of the trees that want anything, sorted."""


class MemoryCache:
    """A cache that ends with its process."""

    def __init__(self) -> None:
        self._vectors: dict[str, Vectors] = {}
        self._texts: dict[str, str] = {}
        self._wanted: dict[str, set[str]] = {}

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """See ``Known.vectors``."""
        return {key: self._vectors[key] for key in embedding_keys if key in self._vectors}

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """See ``Known.texts``."""
        return {key: self._texts[key] for key in content_keys if key in self._texts}

    def want(self, wanted: Iterable[tuple[str, str]]) -> None:
        """See ``NodeCache.want``."""
        for tree, key in wanted:
            self._wanted.setdefault(tree, set()).add(key)

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
        gone = set().union(*(self._wanted.pop(tree, set()) for tree in trees))
        self.discard(gone.difference(*self._wanted.values()))

    def unfinished(self) -> list[str]:
        """See ``NodeCache.unfinished``."""
        return sorted(self._wanted)

    def __enter__(self) -> object:
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing to close."""


class Together:
    """Several places as one; the first that knows a key is taken."""

    def __init__(self, *places: Known) -> None:
        self._places = places

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """See ``Known.vectors``."""
        vectors: dict[str, Vectors] = {}
        wanted = set(embedding_keys)
        for place in self._places:
            vectors |= place.vectors(wanted - vectors.keys())
        return vectors

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """See ``Known.texts``."""
        texts: dict[str, str] = {}
        wanted = set(content_keys)
        for place in self._places:
            texts |= place.texts(wanted - texts.keys())
        return texts
