"""From nodes to their vectors, each distinct text paid for once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from raptor_core.embedding.base import BatchEmbedder
from raptor_core.money import EMBEDDINGS
from raptor_core.money.usage import Usage
from raptor_core.nodes import Node
from raptor_core.tree.cache import NodeCache
from raptor_core.tree.tools import Tools
from raptor_core.vectors import Vectors

SLICE_NODES = 4096
"""Nodes that are embedded before they are staged: what a crash can lose of a local model's."""


@dataclass(frozen=True, eq=False)
class Embedded:
    """Vectors of nodes, row for row, and what they took.

    ``n_reused`` texts were known to the cache, ``n_computed`` distinct ones were embedded,
    ``n_truncated`` nodes are longer than the model reads. ``usage`` is of an endpoint.
    """

    vectors: Vectors
    n_reused: int
    n_computed: int
    n_truncated: int
    usage: Usage = field(default_factory=Usage)


def embed_nodes(nodes: Sequence[Node], tools: Tools, cache: NodeCache) -> Embedded:
    """Vectors of shape ``(len(nodes), n_dims)``; the nodes may be of many trees and layers.

    What is computed is staged in the cache slice by slice, so that a crash loses little; what is
    paid for is kept batch by batch, so that it loses nothing.

    Raises:
        ModelError, EndpointError: as the embedder does; what is finished is kept.
        BudgetError: the run's budget ends; what is finished is kept.
    """
    before = tools.ledger.spent(EMBEDDINGS)
    with tools.answers:
        _stage_left(nodes, tools, cache)
        known = cache.vectors({node.embedding_key for node in nodes})
        n_reused = len(known)
        missing = _missing(nodes, known)
        if missing and isinstance(tools.embedder, BatchEmbedder):
            known |= _embed_paid(missing, tools.embedder, tools, cache)
        else:
            for start in range(0, len(missing), SLICE_NODES):
                known |= _embed_slice(missing[start : start + SLICE_NODES], tools, cache)
        _stage_rest(nodes, missing, known, cache)
    return Embedded(
        vectors=_stack([known[node.embedding_key] for node in nodes], tools),
        n_reused=n_reused,
        n_computed=len(missing),
        n_truncated=_count_truncated(nodes, tools),
        usage=tools.ledger.spent(EMBEDDINGS) - before,
    )


def _stage_left(nodes: Sequence[Node], tools: Tools, cache: NodeCache) -> None:
    """Stage what a run that died had paid for, before anything is looked up."""
    left = tools.answers.vectors({node.embedding_key for node in nodes})
    _stage([node for node in nodes if node.embedding_key in left], left, tools, cache)


def _missing(nodes: Sequence[Node], known: Mapping[str, Vectors]) -> list[Node]:
    """One node of each text to embed, shortest first."""
    missing = {node.embedding_key: node for node in nodes if node.embedding_key not in known}
    return sorted(missing.values(), key=lambda node: len(node.embedding_text))


def _embed_slice(part: Sequence[Node], tools: Tools, cache: NodeCache) -> dict[str, Vectors]:
    found = _by_key(part, tools.embedder.embed([node.embedding_text for node in part]))
    _stage(part, found, tools, cache)
    return found


def _embed_paid(
    missing: Sequence[Node], embedder: BatchEmbedder, tools: Tools, cache: NodeCache
) -> dict[str, Vectors]:
    """Vectors of all nodes, batch by batch as they come; no batch waits for the end of a slice."""
    found: dict[str, Vectors] = {}
    fresh: list[Node] = []
    try:
        for start, vectors in embedder.embed_batches([node.embedding_text for node in missing]):
            nodes = missing[start : start + len(vectors)]
            batch = _by_key(nodes, vectors)
            tools.answers.keep_vectors(batch)
            found |= batch
            fresh += nodes
            if len(fresh) >= SLICE_NODES:
                ready, fresh = fresh, []
                _stage(ready, found, tools, cache)
    finally:
        _stage(fresh, found, tools, cache)
    return found


def _by_key(nodes: Sequence[Node], vectors: Vectors) -> dict[str, Vectors]:
    return dict(zip((node.embedding_key for node in nodes), vectors, strict=True))


def _stage(
    nodes: Sequence[Node], vectors: Mapping[str, Vectors], tools: Tools, cache: NodeCache
) -> None:
    if nodes:
        cache.stage(nodes, np.stack([vectors[node.embedding_key] for node in nodes]))
        tools.answers.forget(node.embedding_key for node in nodes)


def _stage_rest(
    nodes: Sequence[Node],
    staged: Sequence[Node],
    vectors: Mapping[str, Vectors],
    cache: NodeCache,
) -> None:
    """Stage the nodes that share a vector with others, so that the whole layer is there."""
    done = {node.id for node in staged}
    rest = [node for node in nodes if node.id not in done]
    if rest:
        cache.stage(rest, np.stack([vectors[node.embedding_key] for node in rest]))


def _stack(rows: Sequence[Vectors], tools: Tools) -> Vectors:
    if not rows:
        return np.zeros((0, tools.embedder.n_dims), dtype=np.float32)
    return np.stack(rows).astype(np.float32, copy=False)


def _count_truncated(nodes: Sequence[Node], tools: Tools) -> int:
    context = tools.settings.chunking.max_context_tokens
    room = tools.embedder.max_tokens - 2
    suspects = [n for n in nodes if n.n_tokens + (context if n.context else 0) > room]
    counts = tools.counter.count([node.embedding_text for node in suspects])
    return sum(count > room for count in counts)
