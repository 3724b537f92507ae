"""What the integrations share: how many nodes are asked for, and what is told of each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from raptor_core.errors import SettingsError
from raptor_core.retrieval import Query, Retrieval
from raptor_core.retrieval.retriever import AsyncSearch
from raptor_core.store.base import Hit


def asked(searcher: AsyncSearch, query: Query | None, top_k: int | None) -> Query | None:
    """The query with another number of nodes, under the name that an ecosystem gives it.

    Raises:
        SettingsError: the number is not 1 or more.
    """
    if top_k is None:
        return query
    if top_k < 1:
        raise SettingsError(f"{top_k} results were asked for; ask for 1 or more")
    return replace(query or searcher.query, top_k=top_k)


def bounded(found: Retrieval, top_k: int | None) -> list[Hit]:
    """The hits in the strategy's order; of more than ``top_k``, as a walk finds, the best.

    None is no bound.
    """
    kept = {hit.node.id for hit in found.ranked[:top_k]}
    return [hit for hit in found.hits if hit.node.id in kept]


def hit_metadata(hit: Hit) -> dict[str, Any]:
    """Where a node comes from, as plain values.

    ``start``, ``end``, ``pages``, ``section`` and ``source`` are a chunk's; a summary has none of
    them. The documents' own metadata stands under ``metadata``.
    """
    node = hit.node
    told: dict[str, Any] = {
        "node_id": node.id,
        "tree": node.tree,
        "layer": node.layer,
        "documents": list(node.documents),
        "score": hit.score,
        "n_tokens": node.n_tokens,
        "metadata": dict(node.metadata),
    }
    if node.is_leaf:
        place = {"start": node.start, "end": node.end, "section": list(node.section)}
        told |= {"source": node.source, **place, "pages": list(node.pages)}
    return told
