"""Reranking of the best chunks, if the query names a reranker."""

import numpy as np

from raptor_core.errors import EndpointError
from raptor_core.models.reranking.base import score_before_deadline
from raptor_core.retrieval.base import Query
from raptor_core.retrieval.hybrid.scoring import RankedNodes
from raptor_core.store.base import Where
from raptor_core.store.store import VectorStore


def rerank_chunks(
    question: str, leaves: RankedNodes, query: Query, store: VectorStore
) -> tuple[RankedNodes, str]:
    """Sort the best chunks as the reranker does; return all chunks, and a note or "".

    The best chunks exchange their scores, so that the scale is kept and all others stay below. If
    the reranker fails or is late, the order is unchanged, and the note explains why.
    """
    settings, scores = query.reranker, leaves.scores
    if settings.kind == "none":
        return leaves, ""
    best = np.argsort(-scores, kind="stable")[: settings.candidates]
    nodes = {node.id: node for node in store.nodes(Where(ids=tuple(map(leaves.node_id, best))))}
    rows = np.array([row for row in best if leaves.node_id(row) in nodes], dtype=np.int64)
    texts = [nodes[leaves.node_id(row)].embedding_text for row in rows]
    try:
        relevance = np.asarray(score_before_deadline(settings, question, texts), dtype=np.float64)
    except EndpointError as error:
        return leaves, f"not reranked: {error}"
    reordered = np.zeros(len(scores))
    order = rows[np.argsort(-relevance, kind="stable")]
    reordered[order] = scores[rows] - scores[order]
    return leaves.add_part("rerank", reordered), ""
