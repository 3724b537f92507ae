"""From nodes to their vectors, each distinct text paid for once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from raptor_core.embedding.base import Vectors
from raptor_core.tree.cache import NodeCache
from raptor_core.tree.tools import Tools
from raptor_core.tree.values import Node

SLICE_NODES = 4096
"""Nodes that are embedded before they are staged: what a crash can lose."""


@dataclass(frozen=True, eq=False)
class Embedded:
    """Vectors of nodes, row for row, and what they took.

    ``n_reused`` texts were known to the cache, ``n_computed`` distinct ones were embedded,
    ``n_truncated`` nodes are longer than the model reads.
    """

    vectors: Vectors
    n_reused: int
    n_computed: int
    n_truncated: int


def embed_nodes(nodes: Sequence[Node], tools: Tools, cache: NodeCache) -> Embedded:
    """Vectors of shape ``(len(nodes), n_dims)``; the nodes may be of many trees and layers.

    What is computed is staged in the cache slice by slice, so that a crash loses little.

    Raises:
        ModelError, EndpointError: as the embedder does; finished slices are kept.
    """
    known = cache.vectors({node.embedding_key for node in nodes})
    n_reused = len(known)
    missing = list({n.embedding_key: n for n in nodes if n.embedding_key not in known}.values())
    missing.sort(key=lambda node: len(node.embedding_text))
    for start in range(0, len(missing), SLICE_NODES):
        part = missing[start : start + SLICE_NODES]
        vectors = tools.embedder.embed([node.embedding_text for node in part])
        cache.stage(part, vectors)
        known.update(zip((node.embedding_key for node in part), vectors, strict=True))
    _stage_rest(nodes, missing, known, cache)
    return Embedded(
        vectors=_stack([known[node.embedding_key] for node in nodes], tools),
        n_reused=n_reused,
        n_computed=len(missing),
        n_truncated=_count_truncated(nodes, tools),
    )


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
