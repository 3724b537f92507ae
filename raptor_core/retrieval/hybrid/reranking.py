"""Reranking: scores of a cross-encoder, or of the sentences of the best passages.

The first scores are those of ``pool``; ``context_packing`` adds both.
"""

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
from raptor_core.retrieval.hybrid.pool import Numbers, Ranked, Scores, standardize
from raptor_core.store.base import Where
from raptor_core.store.protocols import Searcher
from raptor_core.vectors import Vectors

SENTENCES = "sentences"
"""Value of ``Query.reranker`` that compares sentences with the embedder, without a model."""

N_CHUNKS = 48
"""Number of chunks that a cross-encoder reads: about twice what 2,000 tokens hold."""

N_PASSAGES = 20
"""Number of passages whose sentences are embedded. More take more time and improve nothing."""

SECOND_WEIGHT = 0.35
"""Weight of the second best sentence in the score of a passage; the best one has the rest."""

MAX_VECTORS = 16_384
"""Number of sentence vectors in a process's cache: 25 MB at 384 dimensions."""


def rerank(question: str, leaves: Ranked, query: Query, store: Searcher) -> Ranked:
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


def rerank_by_sentences(
    question: Questions,
    leaves: Ranked,
    passages: Passages,
    scores: Scores,
    query: Query,
    store: Searcher,
) -> Scores:
    """Return what the two best sentences of each of the best passages add to its score.

    A sentence is embedded after its headings, like its chunk, and scored by its cosine similarity
    to the question. The scores are standardized over the passages that are read.

    Returns:
        Scores to add, shape ``(n_passages,)``.

    Raises:
        SettingsError: ``question`` has no embedder.
        ModelError: the embedder's model fails.
        EndpointError: the embedder's endpoint fails.
    """
    embedder = question.embedder
    if embedder is None:
        raise SettingsError(
            f"retrieval.reranker = {SENTENCES!r} embeds sentences, and Questions has no embedder: "
            "pass the embedder of its vectors, or search with a Retriever"
        )
    best = np.argsort(-scores, kind="stable")[:N_PASSAGES]
    texts, owners = _sentences(leaves, passages, best, store)
    if not texts:
        return np.zeros(len(scores))
    by_passage: dict[int, list[float]] = {}
    cosines = _sentence_vectors(embedder, texts) @ question.vectors[0]
    for owner, cosine in zip(owners, cosines.tolist(), strict=True):
        by_passage.setdefault(owner, []).append(cosine)
    least = [min(cosines.tolist())]
    relevance = np.array([_best_two(by_passage.get(passage, least)) for passage in best.tolist()])
    return _added_scores(scores, best, relevance, query.hybrid.reranker)


def _best_two(cosines: Sequence[float]) -> float:
    best = sorted(cosines, reverse=True)
    return (1 - SECOND_WEIGHT) * best[0] + SECOND_WEIGHT * best[min(1, len(best) - 1)]


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


def _sentences(
    leaves: Ranked, passages: Passages, best: Numbers, store: Searcher
) -> tuple[list[str], list[int]]:
    """Return the sentences of passages as the embedder reads them, and the passage of each."""
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
        if node is None:  # a publication removed it meanwhile
            continue
        number = part - begin
        text = node.text if n_parts[chunk] == 1 else cut(node, slice(number, number + 1)).text
        headings = f"{node.context}\n" if node.context else ""
        texts += [headings + text[start:end] for start, end in sentences(text)]
        owners += [int(passages.passage[part])] * (len(texts) - len(owners))
    return texts, owners


_vector_cache: OrderedDict[str, Vectors] = OrderedDict()
_cache_lock = Lock()


def _sentence_vectors(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Embed texts, shape ``(len(texts), n_dims)``; the last ``MAX_VECTORS`` stay in a cache."""
    keys = [embedding_key(text, embedder.fingerprint) for text in texts]
    with _cache_lock:
        known = {key: _vector_cache[key] for key in keys if key in _vector_cache}
    new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
    known |= dict(zip(new, embedder.embed(list(new.values())), strict=True))
    with _cache_lock:
        for key, vector in known.items():
            _vector_cache[key] = vector
            _vector_cache.move_to_end(key)
        while len(_vector_cache) > MAX_VECTORS:
            _vector_cache.popitem(last=False)
    return np.stack([known[key] for key in keys])


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
