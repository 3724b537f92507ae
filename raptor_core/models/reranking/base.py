"""The interface of a reranker, rerankers at endpoints, and calls with a deadline."""

import queue
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from raptor_core.errors import EndpointError
from raptor_core.import_paths import make_from_path
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.settings.retrieval import RerankerSettings
from raptor_core.tracing import with_context


class Reranker(Protocol):
    """Interface of a model that scores how well passages answer a question.

    Example:
        >>> class Overlap:
        ...     def __init__(self, settings):
        ...         pass
        ...     def scores(self, question, texts):
        ...         words = set(question.lower().split())
        ...         return [len(words & set(text.lower().split())) for text in texts]
    """

    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Return a score for each text, higher for a better answer."""


MAX_TEXTS = {"tei": 32}
"""Texts of a request that a server takes by default (``max-client-batch-size``)."""


class EndpointReranker:
    """Reranker at an endpoint with the API of Cohere or of text-embeddings-inference."""

    def __init__(self, settings: RerankerSettings) -> None:
        self._client = EndpointClient(settings, purpose="reranking")
        self._size = MAX_TEXTS.get(settings.kind, settings.candidates)

    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """See ``Reranker.scores``; raises the errors of ``EndpointClient``."""
        parts = (texts[at : at + self._size] for at in range(0, len(texts), self._size))
        return [score for part in parts for score in self._client.rerank(question, part)]


@lru_cache(maxsize=8)
def make_reranker(settings: RerankerSettings) -> Reranker:
    """Return the reranker that the settings name; equal settings share one object.

    Raises:
        SettingsError: ``factory`` cannot be imported, or calling it with the settings failed.
    """
    if settings.kind != "class":
        return EndpointReranker(settings)
    label = f"retrieval.reranker.factory = {settings.factory!r}"
    reranker: Reranker = make_from_path(settings.factory, settings, label)
    return reranker


def score_before_deadline(
    settings: RerankerSettings, question: str, texts: Sequence[str]
) -> Sequence[float]:
    """Return the scores of the reranker, if it answers before ``settings.deadline_seconds``.

    Raises:
        EndpointError: it failed, was late, or returned a wrong number of scores.
        SettingsError: see ``make_reranker``.
    """
    reranker = make_reranker(settings)
    results: queue.SimpleQueue[Sequence[float] | Exception] = queue.SimpleQueue()

    def work() -> None:
        try:
            results.put(reranker.scores(question, texts))
        except Exception as error:  # noqa: BLE001  # a search continues without any failing model
            results.put(error)

    threading.Thread(target=with_context(work), daemon=True).start()
    seconds = settings.deadline_seconds
    try:
        found = results.get(timeout=seconds)
    except queue.Empty:
        raise EndpointError(f"the reranker gave no answer within {seconds:g} s") from None
    if isinstance(found, Exception):
        raise EndpointError(f"the reranker failed: {found}") from found
    if len(found) != len(texts):
        raise EndpointError(f"the reranker gave {len(found)} scores for {len(texts)} passages")
    return found
