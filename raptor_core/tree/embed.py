"""From nodes to their vectors, each distinct text paid for once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from raptor_core.models.embedding.base import BatchEmbedder
from raptor_core.models.money.usage import EMBEDDINGS, Usage
from raptor_core.nodes import Node
from raptor_core.store.payload import node_digest
from raptor_core.tree.cache import Known
from raptor_core.tree.components import Components
from raptor_core.vectors import Vectors

SLICE_NODES = 4096
"""Nodes that are embedded before they are kept: what a crash can lose of a local model's."""


@dataclass(frozen=True, eq=False)
class Embedded:
    """Vectors of nodes, row for row, and what they took.

    ``reused`` are the embedding keys of texts that were known. ``usage`` is of an endpoint.
    """

    vectors: Vectors
    reused: frozenset[str]
    usage: Usage


def embed_nodes(
    nodes: Sequence[Node],
    components: Components,
    known: Known,
    told: Callable[[int, int], None] = lambda _n_done, _n_texts: None,
) -> Embedded:
    """Vectors of shape ``(len(nodes), n_dims)``; the nodes may be of many trees and layers.

    What ``known`` does not tell, and no earlier run left in the components' cache, is computed, and
    kept there slice by slice, so that a crash loses little; what is paid for is kept batch by
    batch, so that it loses nothing.

    ``told`` hears after each of them how many texts are done, and of how many.

    Raises:
        StoreError: a node cannot be stored without loss; it is named.
        ModelError, EndpointError: as the embedder does; what is finished is kept.
        BudgetError: the run's budget ends; what is finished is kept.
    """
    before = components.ledger.spent(EMBEDDINGS)
    vectors = known.vectors({node.embedding_key for node in nodes})
    with components.cache:
        rest = [node for node in nodes if node.embedding_key not in vectors]
        for node in rest:
            node_digest(node)  # which refuses what no store takes
        components.cache.want((node.tree, node.embedding_key) for node in rest)
        vectors |= components.cache.vectors({node.embedding_key for node in rest})
        reused = frozenset(vectors)
        distinct = {node.embedding_key: node for node in rest if node.embedding_key not in vectors}
        missing = sorted(distinct.values(), key=lambda node: len(node.embedding_text))
        for batch in _embedded(missing, components):
            components.cache.keep_vectors(batch)
            vectors |= batch
            told(len(vectors) - len(reused), len(missing))
    rows = [vectors[node.embedding_key] for node in nodes]
    stacked = np.stack(rows) if rows else components.embedder.embed(())
    return Embedded(
        vectors=stacked.astype(np.float32, copy=False),
        reused=reused,
        usage=components.ledger.spent(EMBEDDINGS) - before,
    )


def _embedded(missing: Sequence[Node], components: Components) -> Iterator[dict[str, Vectors]]:
    """Vectors by embedding key: what is paid for as it comes, else slice by slice."""
    texts = [node.embedding_text for node in missing]
    keys = [node.embedding_key for node in missing]
    if texts and isinstance(components.embedder, BatchEmbedder):
        for start, vectors in components.embedder.embed_batches(texts):
            yield dict(zip(keys[start : start + len(vectors)], vectors, strict=True))
        return
    for start in range(0, len(texts), SLICE_NODES):
        part = slice(start, start + SLICE_NODES)
        yield dict(zip(keys[part], components.embedder.embed(texts[part]), strict=True))
