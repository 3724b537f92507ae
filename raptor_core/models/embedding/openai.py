"""The embedder that calls an OpenAI-compatible endpoint."""

import threading
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from raptor_core.errors import AnswerError, ModelError
from raptor_core.models.embedding.base import PROBE, PrefixingEmbedder
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.models.endpoints.limits import run_concurrently
from raptor_core.models.money.ledger import Ledger
from raptor_core.models.money.usage import EMBEDDINGS
from raptor_core.retrying import RetryPolicy
from raptor_core.settings.models import EmbedderSettings
from raptor_core.vectors import Vectors

_KNOWN_DIMS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}


class OpenAIEmbedder(PrefixingEmbedder):
    """Embedder that sends distinct texts in batches; threads may share one object.

    Embedding raises the errors of ``EndpointClient``, and ModelError if a vector is zero or has
    another length than earlier ones.
    """

    def __init__(
        self,
        settings: EmbedderSettings,
        policy: RetryPolicy | None = None,
        *,
        ledger: Ledger | None = None,
    ) -> None:
        # Without the URL, because the same model at another endpoint returns the same vectors.
        values = {"model": settings.model, "revision": settings.revision}
        super().__init__(settings, "openai-embedder", **values)
        self._client = EndpointClient(settings, policy, ledger=ledger, purpose=EMBEDDINGS)
        self._lock = threading.Lock()
        self._n_dims = _KNOWN_DIMS.get(settings.model)

    @property
    def n_dims(self) -> int:
        """Number of dimensions; for an unknown model, the endpoint is called once."""
        return self._n_dims or len(self._probe_vector)

    def probe(self) -> tuple[float, ...]:
        """Return the vector of ``PROBE``; see ``ProbedEmbedder``."""
        return self._probe_vector

    @cached_property
    def _probe_vector(self) -> tuple[float, ...]:
        return tuple(self._request_vectors([PROBE])[0].tolist())

    def embed_batches(self, texts: Sequence[str]) -> Iterator[tuple[int, Vectors]]:
        """Yield batches; see ``BatchEmbedder.embed_batches``. Repeated texts are sent again."""
        sent = [f"{self._settings.passage_prefix}{text}" for text in texts]
        bad: list[str] = []
        for start, vectors in self._embed_in_batches(sent):
            norms = np.linalg.norm(vectors, axis=1, keepdims=True)
            is_good = np.isfinite(norms[:, 0]) & (norms[:, 0] > 0)
            bad += [texts[start + row] for row in np.flatnonzero(~is_good).tolist()]
            if is_good.all():
                yield start, (vectors / norms).astype(np.float32)
                continue
            for row in np.flatnonzero(is_good).tolist():
                yield start + row, (vectors[row : row + 1] / norms[row]).astype(np.float32)
        if bad:
            raise AnswerError(
                f"embedding model {self.model!r} gave no finite vector for {len(bad)} texts; the "
                f"first is {bad[0][:80]!r}. The others are kept: change or remove this text",
                "unfit",
                bad[0],
                is_permanent=True,
            )

    def _encode(self, texts: Sequence[str]) -> Vectors:
        blocks = dict(self._embed_in_batches(texts))
        return np.concatenate([blocks[start] for start in sorted(blocks)])

    def _embed_in_batches(self, texts: Sequence[str]) -> Iterator[tuple[int, Vectors]]:
        """Yield the first row and the vectors of each batch; run ``concurrency`` calls at once."""
        batch_size = self._settings.batch_size

        def work(start: int, stop: threading.Event) -> tuple[int, Vectors]:
            return start, self._request_vectors(texts[start : start + batch_size], stop)

        yield from run_concurrently(
            work, range(0, len(texts), batch_size), self._settings.max_concurrent_calls
        )

    def _request_vectors(
        self, texts: Sequence[str], stop: threading.Event | None = None
    ) -> Vectors:
        """Send a request; all vectors must have the length of the first one."""
        vectors = self._client.embed(texts, stop=stop)
        with self._lock:
            self._n_dims = self._n_dims or vectors.shape[1]
        if vectors.shape[1] != self._n_dims:
            raise ModelError(
                f"{self.model!r} gave vectors of {vectors.shape[1]} dimensions, expected "
                f"{self._n_dims}: check that embedder.base_url serves only this model"
            )
        return vectors
