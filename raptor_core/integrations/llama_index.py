"""LlamaIndex retriever; it needs the extra ``llama-index``.

Importing this module imports LlamaIndex.
"""

from __future__ import annotations

from raptor_core.errors import MissingExtraError
from raptor_core.integrations.base import best_hits, hit_metadata, with_top_k
from raptor_core.retrieval import Query, Retrieval
from raptor_core.retrieval.retriever import AsyncSearch
from raptor_core.store.base import Hit

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ModuleNotFoundError as error:
    raise MissingExtraError("llama-index", "a LlamaIndex retriever") from error

SHOWN_TO_MODELS = ("documents", "section")
"""Metadata that LlamaIndex puts above the text for models; programs read the rest."""


class RaptorRetriever(BaseRetriever):
    """LlamaIndex retriever that returns nodes of the published trees, in the strategy's order.

    A ``TextNode`` has the text and id of the node; ``metadata`` is the result of ``hit_metadata``.

    Args:
        searcher: a ``Retriever`` or ``HomeRetriever``.
        query: strategy, budget and filters; None for the default of the searcher.
        similarity_top_k: maximum number of nodes, replaces ``top_k`` of the query.

    Raises:
        SettingsError: ``similarity_top_k`` is less than 1.
    """

    def __init__(
        self,
        searcher: AsyncSearch,
        query: Query | None = None,
        similarity_top_k: int | None = None,
    ) -> None:
        super().__init__()
        self._searcher = searcher
        self._query = with_top_k(searcher, query, similarity_top_k)
        self._top_k = similarity_top_k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        retrieval = self._searcher.search(query_bundle.query_str, self._query)
        return _nodes(retrieval, self._top_k)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        retrieval = await self._searcher.asearch(query_bundle.query_str, self._query)
        return _nodes(retrieval, self._top_k)


def _nodes(retrieval: Retrieval, top_k: int | None) -> list[NodeWithScore]:
    hits = best_hits(retrieval, top_k)
    return [NodeWithScore(node=_node(hit, retrieval), score=hit.score) for hit in hits]


def _node(hit: Hit, retrieval: Retrieval) -> TextNode:
    node, metadata = hit.node, hit_metadata(hit, retrieval)
    hidden = [key for key in metadata if key not in SHOWN_TO_MODELS]
    return TextNode(
        id_=node.id,
        text=node.text,
        start_char_idx=node.start if node.is_leaf else None,
        end_char_idx=node.end if node.is_leaf else None,
        metadata=metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=hidden,
    )
