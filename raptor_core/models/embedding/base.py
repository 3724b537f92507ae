"""The seam for embedders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from raptor_core.vectors import Vectors


class Embedder(Protocol):
    """Turns texts into unit vectors. One object may be shared by threads."""

    @property
    def model(self) -> str:
        """Name of the model, for people."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the model, its revision and everything that changes its vectors."""

    @property
    def n_dims(self) -> int:
        """Length of a vector."""

    @property
    def max_tokens(self) -> int:
        """Tokens that the model reads; what follows is cut off by it."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape ``(len(texts), n_dims)``, float32, each of Euclidean norm 1.

        Every distinct text is computed once. Order follows ``texts``. An empty input gives
        shape ``(0, n_dims)``.

        Raises:
            ModelError: the model cannot be loaded, or its vectors are not finite.
            EndpointError: a remote model failed for good.
        """

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """As ``embed``, for questions: some models want another prefix for them."""


@runtime_checkable
class BatchEmbedder(Protocol):
    """An embedder whose batches are worth keeping one by one: each of them is paid for."""

    def embed_batches(self, texts: Sequence[str]) -> Iterator[tuple[int, Vectors]]:
        """As ``Embedder.embed``, batch by batch in any order: the first text's row, the vectors.

        A failure is raised after the batches that were under way beside it.
        """
