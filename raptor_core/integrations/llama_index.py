"""LlamaIndex retriever; it needs the extra ``llama-index``.

Importing this module imports LlamaIndex.
"""

import asyncio
from collections.abc import Sequence

from raptor_core.errors import MissingExtraError
from raptor_core.integrations.base import Order, best_hits, hit_metadata, with_top_k
from raptor_core.retrieval import Query, Retrieval
from raptor_core.retrieval.retriever import BaseSearcher
from raptor_core.store.base import Hit

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ModuleNotFoundError as error:
    raise MissingExtraError("llama-index", "a LlamaIndex retriever") from error

SHOWN_TO_MODELS = ("documents", "section")
"""Metadata that LlamaIndex puts before the text in prompts; the rest is for programs."""


class RaptorRetriever(BaseRetriever):
    """LlamaIndex retriever that returns nodes of the published trees, the best first.

    A ``TextNode`` has the text and id of the node; ``metadata`` is the result of ``hit_metadata``.
    Its score is the relevance, from 0 to 1, so that LlamaIndex's cutoffs and fusion work.

    Args:
        searcher: a ``Retriever`` or ``HomeRetriever``.
        query: strategy, budget and filters; None for the default of the searcher.
        similarity_top_k: maximum number of nodes, which replaces ``top_k`` of the query.
        order: ``"document"`` returns the nodes in the order of the texts, which suits chat models.
        readers: users and groups for whom to search; None for trusted code, see ``for_readers``.

    Raises:
        SettingsError: ``similarity_top_k`` is less than 1.
    """

    def __init__(
        self,
        searcher: BaseSearcher,
        query: Query | None = None,
        similarity_top_k: int | None = None,
        order: Order = "score",
        readers: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        self._searcher = searcher.for_readers(readers)
        self._query = with_top_k(searcher, query, similarity_top_k)
        self._top_k = similarity_top_k
        self._order = order

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        retrieval = self._searcher.search(query_bundle.query_str, self._query)
        hits = best_hits(retrieval, self._top_k, self._order)
        return [
            NodeWithScore(node=_to_text_node(hit, score, retrieval), score=score)
            for hit, score in hits
        ]


def _to_text_node(hit: Hit, relevance: float, retrieval: Retrieval) -> TextNode:
    node, metadata = hit.node, hit_metadata(hit, relevance, retrieval)
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
