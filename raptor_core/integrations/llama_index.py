"""A retriever of LlamaIndex; the extra ``llama-index``. Importing it imports the vendor."""

from __future__ import annotations

from raptor_core.errors import MissingExtraError
from raptor_core.integrations.base import asked, bounded, hit_metadata
from raptor_core.retrieval import Query, Retrieval
from raptor_core.retrieval.retriever import AsyncSearch
from raptor_core.store.base import Hit

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ModuleNotFoundError as error:
    raise MissingExtraError("llama-index", "a LlamaIndex retriever") from error

SHOWN_TO_MODELS = ("documents", "section")
"""Metadata that LlamaIndex writes before a node's text; the rest is for programs."""


class RaptorRetriever(BaseRetriever):
    """Nodes of the published trees as LlamaIndex's nodes, in the strategy's order.

    A ``TextNode`` has the node's text and id, and as ``metadata`` what ``hit_metadata`` tells.

    Args:
        searcher: a ``Retriever``, or what searches a home.
        query: strategy, budget and filters; None is the searcher's own default.
        similarity_top_k: nodes at the most, in place of the query's ``top_k``.

    Raises:
        SettingsError: ``similarity_top_k`` is not 1 or more.
    """

    def __init__(
        self,
        searcher: AsyncSearch,
        query: Query | None = None,
        similarity_top_k: int | None = None,
    ) -> None:
        super().__init__()
        self._searcher = searcher
        self._query = asked(searcher, query, similarity_top_k)
        self._top_k = similarity_top_k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._searcher.search(query_bundle.query_str, self._query)
        return _nodes(found, self._top_k)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = await self._searcher.asearch(query_bundle.query_str, self._query)
        return _nodes(found, self._top_k)


def _nodes(found: Retrieval, most: int | None) -> list[NodeWithScore]:
    return [NodeWithScore(node=_node(hit), score=hit.score) for hit in bounded(found, most)]


def _node(hit: Hit) -> TextNode:
    node, metadata = hit.node, hit_metadata(hit)
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
