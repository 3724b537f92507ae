"""A second look at the best chunks by a cross-encoder, which reads them with the question."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from raptor_core.errors import ModelError
from raptor_core.retrieval.base import Query
from raptor_core.retrieval.hybrid.groups import Scores
from raptor_core.retrieval.hybrid.pool import standardized
from raptor_core.retrieval.hybrid.scoring import Ranked
from raptor_core.store.base import Where
from raptor_core.store.protocols import Searcher

RERANKED = 48
"""Chunks that are read again: about twice what 2,000 tokens hold."""


def reranked(question: str, leaves: Ranked, query: Query, store: Searcher) -> Ranked:
    """Scores with the cross-encoder's added to the best of them, in standard deviations.

    The others stay under what the second look was given to.

    Raises:
        ModelError: the model cannot be loaded, or gives more than one score.
    """
    scores = leaves.scores
    order = np.argsort(-scores, kind="stable")
    best, rest = order[:RERANKED], order[RERANKED:]
    ids = leaves.outlines.take(best).ids()
    texts = {node.id: node.text for node in store.nodes(Where(ids=tuple(ids)))}
    told = _told(query.reranker, question, [texts.get(name, "") for name in ids])
    found = scores.copy()
    found[best] += query.hybrid.reranker * standardized(told)
    if len(rest):
        found[rest] -= max(0.0, float(found[rest].max() - found[best].min()))
    return Ranked(leaves.outlines, {**leaves.parts, "reranker": found - scores})


def _told(name: str, question: str, texts: Sequence[str]) -> Scores:
    if not texts:
        return np.zeros(0)
    pairs = [(question, text) for text in texts]
    told = np.asarray(_encoder(name).predict(pairs, show_progress_bar=False), dtype=np.float64)
    if told.ndim != 1:
        raise ModelError(
            f"retrieval.reranker = {name!r} gives {told.shape[1]} scores to a pair, expected one: "
            "name a model that was trained to rank"
        )
    return told


@lru_cache(maxsize=2)
def _encoder(name: str) -> Any:
    from sentence_transformers import CrossEncoder

    from raptor_core.models.embedding.local_models import loading

    with loading(name, "reranker", "retrieval.reranker", ', or set it to ""'):
        return CrossEncoder(name)
