"""Embedding of nodes, which reuses vectors that exist and embeds each distinct text once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from raptor_core.errors import AnswerError
from raptor_core.models.embedding.base import BatchEmbedder
from raptor_core.models.money.usage import EMBEDDINGS, Usage
from raptor_core.nodes import Node
from raptor_core.store.payload import to_storable_text
from raptor_core.tree.cache import KnownContent
from raptor_core.tree.components import Components
from raptor_core.vectors import Vectors

SLICE_NODES = 4096
"""Number of nodes that a local model embeds between writes to the cache; a crash loses no more."""


@dataclass(frozen=True, eq=False)
class EmbeddedNodes:
    """The vectors of nodes.

    Attributes:
        vectors: vectors of the nodes, shape ``(n_nodes, n_dims)``, float32.
        reused_keys: embedding keys whose vectors existed already.
    """

    vectors: Vectors
    reused_keys: frozenset[str]
    usage: Usage


def embed_nodes(
    nodes: Sequence[Node],
    components: Components,
    known: KnownContent,
    progress: Callable[[int, int], None] = lambda _n_done, _n_texts: None,
) -> EmbeddedNodes:
    """Embed nodes of any trees and layers; reuse vectors that exist.

    The components' cache keeps new vectors at once, after each slice of a local model and each
    batch of an endpoint, which costs money. Then ``progress`` is called with the number of texts
    that are embedded so far, and of all.

    Raises:
        StoreError: a node cannot be stored without loss; the message names it.
        ModelError, EndpointError: the embedder failed; the cache keeps finished vectors.
        BudgetError: the run's budget is used up; the cache keeps finished vectors.
    """
    spent = components.ledger.spent(EMBEDDINGS)
    vectors = known.vectors({node.embedding_key for node in nodes})
    rest = [node for node in nodes if node.embedding_key not in vectors]
    for node in rest:
        to_storable_text(node)
    components.cache.record_needed_keys((node.tree, node.embedding_key) for node in rest)
    vectors |= components.cache.vectors({node.embedding_key for node in rest})
    reused = frozenset(vectors)
    distinct = {node.embedding_key: node for node in rest if node.embedding_key not in vectors}
    missing = sorted(distinct.values(), key=lambda node: len(node.embedding_text))
    for batch in _embed_missing(missing, components):
        components.cache.keep_vectors(batch)
        vectors |= batch
        progress(len(vectors) - len(reused), len(missing))
    rows = [vectors[node.embedding_key] for node in nodes]
    stacked = np.stack(rows) if rows else components.embedder.embed(())
    return EmbeddedNodes(
        vectors=stacked.astype(np.float32, copy=False),
        reused_keys=reused,
        usage=components.ledger.spent(EMBEDDINGS) - spent,
    )


def _embed_missing(missing: Sequence[Node], components: Components) -> Iterator[dict[str, Vectors]]:
    """Yield vectors by embedding key; an error about a text names its node."""
    try:
        yield from _embed_in_batches(missing, components)
    except AnswerError as error:
        at = next((n for n in missing if error.text.endswith(n.embedding_text)), None)
        if at is None or not error.text:
            raise
        place = f"characters {at.start} to {at.end} of {at.documents[0]!r}" if at.is_leaf else at.id
        named = f"{error}; the text is {place}, of tree {at.tree!r}, layer {at.layer}"
        raise AnswerError(named, error.kind, is_permanent=True) from error


def _embed_in_batches(
    missing: Sequence[Node], components: Components
) -> Iterator[dict[str, Vectors]]:
    """Yield vectors by embedding key, batch by batch or slice by slice."""
    texts = [node.embedding_text for node in missing]
    keys = [node.embedding_key for node in missing]
    if texts and isinstance(components.embedder, BatchEmbedder):
        for start, vectors in components.embedder.embed_batches(texts):
            yield dict(zip(keys[start : start + len(vectors)], vectors, strict=True))
        return
    for start in range(0, len(texts), SLICE_NODES):
        part = slice(start, start + SLICE_NODES)
        yield dict(zip(keys[part], components.embedder.embed(texts[part]), strict=True))
