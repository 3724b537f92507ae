"""Code that all integrations share: number, order, score and metadata of results."""

from dataclasses import replace
from typing import Any, Literal

from raptor_core.errors import SettingsError
from raptor_core.retrieval import Query, Retrieval
from raptor_core.retrieval.retriever import BaseSearcher
from raptor_core.store.base import Hit

Order = Literal["score", "document"]


def with_top_k(searcher: BaseSearcher, query: Query | None, top_k: int | None) -> Query | None:
    """Return the query with ``top_k`` replaced, unless it is None; raise SettingsError below 1."""
    if top_k is None:
        return query
    if top_k < 1:
        raise SettingsError(f"expected 1 or more results, got {top_k}; pass 1 or more")
    return replace(query or searcher.query, top_k=top_k)


def best_hits(retrieval: Retrieval, top_k: int | None, order: Order) -> list[tuple[Hit, float]]:
    """Return the ``top_k`` best hits, each with its relevance.

    The relevance of a hit is its score divided by the best score of the search, at least 0, so that
    the best hit has 1 with every strategy.

    Args:
        retrieval: result of a search. A traversal applies ``top_k`` to each layer, so it may
            contain more hits than ``top_k``.
        top_k: maximum number of hits; None is no limit.
        order: ``"score"`` puts the best hit first, ``"document"`` keeps the order of the texts.
    """
    ranked = retrieval.hits_by_score
    best = max((hit.score for hit in ranked), default=0.0)
    kept = ranked[:top_k]
    if order == "document":
        ids = {hit.node.id for hit in kept}
        kept = [hit for hit in retrieval.hits if hit.node.id in ids]
    return [(hit, max(hit.score / best, 0.0) if best > 0 else 0.0) for hit in kept]


def hit_metadata(hit: Hit, relevance: float, retrieval: Retrieval) -> dict[str, Any]:
    """Return the origin of a hit as plain values for the framework's metadata.

    ``score`` is the strategy's own score. ``kind``, ``reason`` and ``note`` are those of the
    retrieval. Only a chunk has ``start``, ``end``, ``pages``, ``section`` and ``source``.
    ``metadata`` is that of the documents.
    """
    node = hit.node
    values: dict[str, Any] = {
        "node_id": node.id,
        "tree": node.tree,
        "layer": node.layer,
        "documents": list(node.documents),
        "score": hit.score,
        "relevance": relevance,
        "n_tokens": node.n_tokens,
        "metadata": dict(node.metadata),
        "kind": retrieval.kind,
        "reason": retrieval.reason,
        "note": retrieval.note,
    }
    if node.is_leaf:
        place = {"start": node.start, "end": node.end, "section": list(node.section)}
        values |= {"source": node.source, **place, "pages": list(node.pages)}
    return values
