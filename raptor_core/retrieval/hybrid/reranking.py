"""A second look at what was found: by a cross-encoder, or at the best passages' sentences."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np

from raptor_core.chunking.sentences import sentences
from raptor_core.errors import ModelError, SettingsError
from raptor_core.identity import embedding_key
from raptor_core.models.embedding.base import Embedder
from raptor_core.retrieval.base import Query, Questions
from raptor_core.retrieval.hybrid.passages import Passages, cut
from raptor_core.retrieval.hybrid.pool import Numbers, Ranked, Scores, standardized
from raptor_core.store.base import Where
from raptor_core.store.protocols import Searcher
from raptor_core.vectors import Vectors

SENTENCES = "sentences"
"""``Query.reranker`` that has no model of its own, but embeds sentences."""

RERANKED = 48
"""Chunks that a cross-encoder reads: about twice what 2,000 tokens hold."""

REREAD = 20
"""Passages whose sentences are embedded: more cost more time and find no more."""

SECOND = 0.35
"""What the second best sentence of a passage counts in its score; the best counts the rest."""

KEPT = 16_384
"""Vectors of sentences that a process keeps: 25 MB of 384 dimensions."""


def reranked(question: str, leaves: Ranked, query: Query, store: Searcher) -> Ranked:
    """Scores with the cross-encoder's added to the best chunks, in standard deviations.

    Raises:
        ModelError: the model cannot be loaded, or gives more than one score.
    """
    scores = leaves.scores
    best = np.argsort(-scores, kind="stable")[:RERANKED]
    ids = leaves.outlines.take(best).ids()
    texts = {node.id: node.text for node in store.nodes(Where(ids=tuple(ids)))}
    told = _told(query.reranker, question, [texts.get(name, "") for name in ids])
    added = _added(scores, best, told, query.hybrid.reranker)
    return Ranked(leaves.outlines, {**leaves.parts, "reranker": added})


def reread(
    question: Questions,
    leaves: Ranked,
    passages: Passages,
    scores: Scores,
    query: Query,
    store: Searcher,
) -> Scores:
    """What the best two sentences of each of the best passages add to its score.

    A sentence is read as its chunk is, after the headings, and worth its cosine to the question.
    What passages are worth is standardized over those that are read.

    Raises:
        SettingsError: the questions come without an embedder.
        ModelError, EndpointError: as ``Embedder.embed``.
    """
    embedder = question.embedder
    if embedder is None:
        raise SettingsError(
            f"retrieval.reranker = {SENTENCES!r} embeds sentences, and Questions has no embedder: "
            "give it the one that made its vectors, or search by a Retriever"
        )
    best = np.argsort(-scores, kind="stable")[:REREAD]
    texts, owners = _sentences(leaves, passages, best, store)
    if not texts:
        return np.zeros(len(scores))
    worth: dict[int, list[float]] = {}
    cosines = _sentence_vectors(embedder, texts) @ question.vectors[0]
    for owner, cosine in zip(owners, cosines.tolist(), strict=True):
        worth.setdefault(owner, []).append(cosine)
    least = [min(cosines.tolist())]
    told = np.array([_best_two(worth.get(passage, least)) for passage in best.tolist()])
    return _added(scores, best, told, query.hybrid.reranker)


def _best_two(cosines: Sequence[float]) -> float:
    best = sorted(cosines, reverse=True)
    return (1 - SECOND) * best[0] + SECOND * best[min(1, len(best) - 1)]


def _added(scores: Scores, best: Numbers, told: Scores, weight: float) -> Scores:
    """What the second look at ``best`` adds to all; the others stay under what it was given to."""
    added = np.zeros(len(scores))
    added[best] = weight * standardized(told)
    rest = np.ones(len(scores), dtype=bool)
    rest[best] = False
    if rest.any():
        added[rest] = -max(0.0, float(scores[rest].max() - (scores + added)[best].min()))
    return added


def _sentences(
    leaves: Ranked, passages: Passages, best: Numbers, store: Searcher
) -> tuple[list[str], list[int]]:
    """The sentences of passages as the embedder reads them, and the passage of each."""
    parts = np.flatnonzero(np.isin(passages.passage, best))
    chunks = np.unique(passages.chunk[parts])
    ids = dict(zip(chunks.tolist(), leaves.outlines.take(chunks).ids(), strict=True))
    nodes = {node.id: node for node in store.nodes(Where(ids=tuple(ids.values())))}
    begins = np.searchsorted(passages.chunk, passages.chunk[parts])
    n_parts = np.bincount(passages.chunk)
    texts: list[str] = []
    owners: list[int] = []
    for part, begin in zip(parts.tolist(), begins.tolist(), strict=True):
        chunk = int(passages.chunk[part])
        node = nodes.get(ids[chunk])
        if node is None:  # removed by another publication meanwhile
            continue
        at = part - begin
        text = node.text if n_parts[chunk] == 1 else cut(node, slice(at, at + 1)).text
        before = f"{node.context}\n" if node.context else ""
        texts += [before + text[start:end] for start, end in sentences(text)]
        owners += [int(passages.passage[part])] * (len(texts) - len(owners))
    return texts, owners


_kept: OrderedDict[str, Vectors] = OrderedDict()
_turn = Lock()


def _sentence_vectors(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Vectors of texts, shape ``(len(texts), n_dims)``; the last ``KEPT`` are not made again."""
    keys = [embedding_key(text, embedder.fingerprint) for text in texts]
    with _turn:
        known = {key: _kept[key] for key in keys if key in _kept}
    new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
    known |= dict(zip(new, embedder.embed(list(new.values())), strict=True))
    with _turn:
        for key, vector in known.items():
            _kept[key] = vector
            _kept.move_to_end(key)
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return np.stack([known[key] for key in keys])


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
