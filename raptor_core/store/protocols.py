"""Interface of a store to retrieval; ``VectorStore`` in ``store.py`` also publishes."""

from collections.abc import Sequence
from typing import Protocol

from raptor_core.nodes import Node
from raptor_core.store.base import Hit, Manifest, Mark, StoreIdentity, Where
from raptor_core.store.outlines import Candidates
from raptor_core.vectors import Vectors


class Searcher(Protocol):
    """Interface for retrieval. Results are of live nodes, best first, ties by node id."""

    @property
    def identity(self) -> StoreIdentity:
        """What the store was made for."""

    def search(
        self, vectors: Vectors, limit: int, where: Where = ..., *, exact: bool = False
    ) -> list[list[Hit]]:
        """Return the nearest nodes by cosine to each row of shape ``(n_questions, n_dims)``.

        ``exact`` compares every vector, where an engine would look along a graph and may miss some.

        Raises:
            StoreMismatchError: the rows' length is not the store's.
        """

    def search_text(self, texts: Sequence[str], limit: int, where: Where = ...) -> list[list[Hit]]:
        """Return the best nodes for each text by BM25; none for a text without words."""

    def candidates(
        self,
        vectors: Vectors,
        texts: Sequence[str],
        limit: int,
        where: Where | Sequence[Where] = ...,
    ) -> list[tuple[Candidates, Candidates]]:
        """Return what ``search`` and ``search_text`` would for each row and text, to be ranked.

        Candidates have outlines and scores; whole nodes are read by id. ``where`` is one filter
        for all, or one for each.
        """

    def nodes(self, where: Where = ...) -> list[Node]:
        """Return nodes by tree, layer, ``Node.order``."""

    def count(self, where: Where = ...) -> int:
        """Return the number of live nodes that match."""

    def manifests(self, trees: Sequence[str] | None = None) -> list[Manifest]:
        """Return the manifests of these trees, or of all, by tree name."""

    def marks(self, trees: Sequence[str] | None = None) -> list[Mark]:
        """Return short forms of these manifests, or of all, by tree name; they cost less."""
