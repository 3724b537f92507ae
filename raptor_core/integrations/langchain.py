"""A retriever of LangChain; the extra ``langchain``. Importing this module imports the vendor."""

from __future__ import annotations

from raptor_core.errors import MissingExtraError
from raptor_core.integrations.base import asked, bounded, hit_metadata
from raptor_core.retrieval import Query, Retrieval
from raptor_core.retrieval.retriever import AsyncSearch

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
    """Nodes of the published trees as LangChain's documents, in the strategy's order.

    ``page_content`` is the node's text, ``id`` its id, ``metadata`` what ``hit_metadata`` tells.

    Attributes:
        searcher: a ``Retriever``, or what searches a home.
        query: strategy, budget and filters; None is the searcher's own default.
        k: documents at the most, in place of the query's ``top_k``; ``invoke`` takes another.
    """

    model_config = ConfigDict(extra="forbid")

    searcher: SkipValidation[AsyncSearch]
    query: SkipValidation[Query | None] = None
    k: int | None = None

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002  # LangChain's signature
        k: int | None = None,
    ) -> list[Document]:
        most = self.k if k is None else k
        given = asked(self.searcher, self.query, most)
        return _documents(self.searcher.search(query, given), most)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002  # LangChain's signature
        k: int | None = None,
    ) -> list[Document]:
        most = self.k if k is None else k
        given = asked(self.searcher, self.query, most)
        return _documents(await self.searcher.asearch(query, given), most)


def _documents(found: Retrieval, most: int | None) -> list[Document]:
    return [
        Document(page_content=hit.node.text, id=hit.node.id, metadata=hit_metadata(hit))
        for hit in bounded(found, most)
    ]
