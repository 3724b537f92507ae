"""Searching without blocking the event loop."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence

from raptor_core.retrieval.base import Query, Retrieval
from raptor_core.retrieval.trace import Trace


class AsyncSearch(ABC):
    """Gives what searches and traces the same with ``await``: in a thread, as it would alone."""

    @property
    @abstractmethod
    def query(self) -> Query:
        """The query that is used where none is given."""

    @abstractmethod
    def search_many(self, questions: Sequence[str], query: Query | None = None) -> list[Retrieval]:
        """Retrieve for each question."""

    @abstractmethod
    def trace(self, node_id: str) -> Trace:
        """The exact spans of the documents under a node."""

    def search(self, question: str, query: Query | None = None) -> Retrieval:
        """Retrieve for one question; see ``search_many``."""
        return self.search_many([question], query)[0]

    async def asearch(self, question: str, query: Query | None = None) -> Retrieval:
        """As ``search``, without blocking the event loop."""
        return await asyncio.to_thread(self.search, question, query)

    async def asearch_many(
        self, questions: Sequence[str], query: Query | None = None
    ) -> list[Retrieval]:
        """As ``search_many``, without blocking the event loop: one batch is quicker than many."""
        return await asyncio.to_thread(self.search_many, questions, query)

    async def atrace(self, node_id: str) -> Trace:
        """As ``trace``, without blocking the event loop."""
        return await asyncio.to_thread(self.trace, node_id)
