"""Reranker with a cross-encoder of sentence-transformers, in this process."""

from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import Any

from raptor_core.models.embedding.local_models import loading_weights
from raptor_core.settings.retrieval import RerankerSettings
from raptor_core.tracing import model_call_attributes, span


class CrossEncoderReranker:
    """Reranker with a model from the hub or a folder, which is loaded when it is first used.

    Threads may share one object; the model serves one of them at a time.
    """

    def __init__(self, settings: RerankerSettings) -> None:
        self._model = settings.model
        self._lock = Lock()

    @cached_property
    def _encoder(self) -> Any:
        from sentence_transformers import CrossEncoder

        with loading_weights(self._model, "cross-encoder", "retrieval.reranker.model"):
            return CrossEncoder(self._model)

    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """See ``Reranker.scores``."""
        values = model_call_attributes("rerank", self._model, "sentence-transformers")
        with self._lock, span(f"rerank {self._model}", values):
            pairs = [(question, text) for text in texts]
            scores: list[float] = self._encoder.predict(pairs, show_progress_bar=False).tolist()
            return scores
