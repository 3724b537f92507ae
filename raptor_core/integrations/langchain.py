"""LangChain retriever; it needs the extra ``langchain``.

Importing this module imports LangChain.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from raptor_core.errors import MissingExtraError
from raptor_core.integrations.base import Order, best_hits, hit_metadata, with_top_k
from raptor_core.retrieval import Query, Retrieval
from raptor_core.retrieval.retriever import BaseSearcher

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict, SkipValidation
except ModuleNotFoundError as error:
    raise MissingExtraError("langchain", "a LangChain retriever") from error


class RaptorRetriever(BaseRetriever):
    """LangChain retriever that returns nodes of the published trees, the best first.

    A document has the text of a node as ``page_content``, its id as ``id``, and the result of
    ``hit_metadata`` as ``metadata``.

    Attributes:
        searcher: a ``Retriever`` or ``HomeRetriever``.
        query: strategy, budget and filters; None for the default of the searcher.
        order: ``"document"`` returns the nodes in the order of the texts, which suits chat models.
        readers: users and groups for whom to search; None for trusted code, see ``for_readers``.
        k: maximum number of documents, which replaces ``top_k`` of the query. ``invoke`` may
            override it, and accepts the ``history`` of a follow-up question.
    """

    model_config = ConfigDict(extra="forbid")

    searcher: SkipValidation[BaseSearcher]
    query: SkipValidation[Query | None] = None
    order: Order = "score"
    readers: Sequence[str] | None = None
    k: int | None = None

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002  # LangChain's signature
        k: int | None = None,
        history: Sequence[str] = (),
    ) -> list[Document]:
        top_k = self.k if k is None else k
        bounded_query = with_top_k(self.searcher, self.query, top_k)
        retrieval = self.searcher.search(
            query, bounded_query, history=history, readers=self.readers
        )
        return _to_documents(retrieval, top_k, self.order)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        manager = run_manager.get_sync()
        search = partial(self._get_relevant_documents, run_manager=manager, **options)
        return await asyncio.to_thread(search, query)


def _to_documents(retrieval: Retrieval, top_k: int | None, order: Order) -> list[Document]:
    return [
        Document(
            page_content=hit.node.text,
            id=hit.node.id,
            metadata=hit_metadata(hit, relevance, retrieval),
        )
        for hit, relevance in best_hits(retrieval, top_k, order)
    ]
