"""The seam to what earlier work has already paid for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from raptor_core.nodes import Node
from raptor_core.vectors import Vectors


class NodeCache(Protocol):
    """Finished vectors and texts by key, of any tree. A ``VectorStore`` is one."""

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """Known vectors by embedding key; unknown keys left out."""

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """Known summary texts by content key; unknown keys left out."""

    def stage(self, nodes: Sequence[Node], vectors: Vectors | None) -> None:
        """Keep finished nodes, with their vectors row for row or without."""


class MemoryCache:
    """A cache for one process, for builds without a store."""

    def __init__(self) -> None:
        self._vectors: dict[str, Vectors] = {}
        self._texts: dict[str, str] = {}

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """See ``NodeCache.vectors``."""
        return {key: self._vectors[key] for key in embedding_keys if key in self._vectors}

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """See ``NodeCache.texts``."""
        return {key: self._texts[key] for key in content_keys if key in self._texts}

    def stage(self, nodes: Sequence[Node], vectors: Vectors | None) -> None:
        """See ``NodeCache.stage``."""
        for row, node in enumerate(nodes):
            if node.layer:
                self._texts[node.content_key] = node.text
            if vectors is not None:
                self._vectors[node.embedding_key] = vectors[row]
