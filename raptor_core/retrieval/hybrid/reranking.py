"""Reranking: scores of a cross-encoder for the best chunks, added to those of ``pool``."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from raptor_core.errors import ModelError
from raptor_core.retrieval.base import Query
from raptor_core.retrieval.hybrid.pool import Numbers, Ranked, Scores, standardize
from raptor_core.store.base import Where
from raptor_core.store.store import VectorStore

N_CHUNKS = 48
"""Number of chunks that a cross-encoder reads: about twice what 2,000 tokens hold."""


def rerank(question: str, leaves: Ranked, query: Query, store: VectorStore) -> Ranked:
    """Add the scores of a cross-encoder to the best chunks, in standard deviations.

    Raises:
        ModelError: the model cannot be loaded, or returns several scores for a pair.
    """
    scores = leaves.scores
    best = np.argsort(-scores, kind="stable")[:N_CHUNKS]
    ids = leaves.outlines.take(best).ids()
    texts = {node.id: node.text for node in store.nodes(Where(ids=tuple(ids)))}
    relevance = _relevance(query.reranker, question, [texts.get(name, "") for name in ids])
    added = _added_scores(scores, best, relevance, query.hybrid.reranker)
    return Ranked(leaves.outlines, {**leaves.parts, "reranker": added})


def _added_scores(scores: Scores, best: Numbers, relevance: Scores, weight: float) -> Scores:
    """Return what to add to all scores, so that the rest ranks below the reranked rows.

    Args:
        scores: the scores so far.
        best: rows that the reranker read.
        relevance: its scores of these rows.
        weight: weight of the reranker.
    """
    added = np.zeros(len(scores))
    added[best] = weight * standardize(relevance)
    rest = np.ones(len(scores), dtype=bool)
    rest[best] = False
    if rest.any():
        added[rest] = -max(0.0, float(scores[rest].max() - (scores + added)[best].min()))
    return added


def _relevance(name: str, question: str, texts: Sequence[str]) -> Scores:
    if not texts:
        return np.zeros(0)
    pairs = [(question, text) for text in texts]
    scores = np.asarray(_encoder(name).predict(pairs, show_progress_bar=False), dtype=np.float64)
    if scores.ndim != 1:
        raise ModelError(
            f"retrieval.reranker = {name!r} returns {scores.shape[1]} scores for a pair, expected "
            "one score: name a model that was trained to rank"
        )
    return scores


@lru_cache(maxsize=2)
def _encoder(name: str) -> Any:
    from sentence_transformers import CrossEncoder

    from raptor_core.models.embedding.local_models import loading

    with loading(name, "reranker", "retrieval.reranker", ', or set it to ""'):
        return CrossEncoder(name)
