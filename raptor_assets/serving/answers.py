"""Functions that read a home for the caller of a request, used by HTTP and by tools of models.

Their return values are in ``values``, their parameters in ``parameters``, HTTP routes in ``http``,
tools in ``mcp``.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from raptor_assets.home.question_log import QuestionLog
from raptor_assets.serving.identity import CALLER, current_readers
from raptor_assets.serving.parameters import (
    Limit,
    NameContains,
    NodeId,
    Offset,
    OutlineBudget,
    SearchParameters,
    Show,
    SubtreeSearchParameters,
    TreeName,
)
from raptor_assets.serving.values import (
    BrowseResponse,
    OutlineResponse,
    PublishedTree,
    ReadNode,
    SearchResponse,
    TraceResponse,
    TreeList,
    make_link_function,
)
from raptor_core.errors import StoreError, UnknownTreeError
from raptor_core.home import HomeRetriever
from raptor_core.home.published import has_corpus_tree
from raptor_core.models.reading.reader import Answer as ReaderAnswer
from raptor_core.models.reading.reader import Passage, stream_answer
from raptor_core.retrieval import Query, Retrieval
from raptor_core.retrieval.base import Scope
from raptor_core.retrieval.questions import complete_follow_up
from raptor_core.tree.corpus_tree import corpus_tree_settings
from raptor_core.tree.custom_components import make_answering_model, require_reader


def add_source_spans(answer: ReaderAnswer, retriever: HomeRetriever) -> ReaderAnswer:
    """Add to the cited summaries of an answer the spans that they were made from."""
    return replace(
        answer, citations=tuple(_add_spans_of_passage(p, retriever) for p in answer.citations)
    )


def _add_spans_of_passage(passage: Passage, retriever: HomeRetriever) -> Passage:
    if not passage.is_summary:
        return passage
    try:
        return replace(passage, source_spans=retriever.trace(passage.node_id).joined_spans)
    except UnknownTreeError:  # removed since the search
        return passage


def _caller_name() -> str:
    """Return the name of the caller of this request, "" for a server without names."""
    caller = CALLER.get()
    return "" if caller is None else caller.name


class HomeService:
    """Reads a home for the caller of each request; see ``HomeRetriever``."""

    def __init__(self, retriever: HomeRetriever) -> None:
        self._home = retriever

        self.settings = retriever.settings
        self.link_of = make_link_function(retriever.settings)
        keeps, folder = self.settings.serving.questions, retriever.corpus_of(None).home.path
        self._log = QuestionLog(folder, self.settings) if keeps else None

    @property
    def _retriever(self) -> HomeRetriever:
        return self._home.for_readers(current_readers())

    def search(self, parameters: SearchParameters) -> SearchResponse:
        """Find the chunks and summaries that answer a question, within a budget of tokens."""
        query = parameters.to_query(self.settings)
        return SearchResponse.of(self.search_with_query(parameters.question, query), self.link_of)

    def search_with_query(self, question: str, query: Query) -> Retrieval:
        """Search with any query."""
        return self._search_and_log(lambda: self._retriever.search(question, query))

    def _search_and_log(self, search: Callable[[], Retrieval]) -> Retrieval:
        """Return the result of a search; where questions are kept, it has an id."""
        started = time.monotonic()
        found = search()
        if self._log is None:
            return found
        above, seconds = found.query.scope == "corpus", time.monotonic() - started
        settings = corpus_tree_settings(self.settings) if above else self.settings
        values = found.question, _caller_name(), len(found.hits), found.explanation, seconds
        try:
            return replace(found, id=self._log.add_question(settings.store.corpus, *values))
        except StoreError:  # the answer does not depend on it
            logging.getLogger(__name__).exception("a question was not kept")
            return found

    def record_vote(self, answer: str, vote: int) -> None:
        """Record the caller's vote on an answer: 1 is good, -1 is bad.

        Raises:
            UnknownTreeError: no kept answer to this caller has the id.
        """
        if self._log is None or not self._log.record_vote(answer, _caller_name(), vote):
            raise UnknownTreeError(f"no kept answer to this caller has the id {answer!r:.80}")

    def search_for_answer(self, question: str, query: Query) -> Retrieval:
        """Search for the passages to answer from; raise an error if no model can answer."""
        retrieval = self.search_with_query(question, query)
        if retrieval.hits:
            require_reader(self.settings)
        return retrieval

    def answer_from(
        self,
        retrieval: Retrieval,
        is_shown: bool,
        show: Callable[[str], None],
        stop: threading.Event,
    ) -> ReaderAnswer:
        """Answer the question of a search from its hits.

        If ``is_shown``, pass the answer on piece by piece while it is written.
        """
        if not retrieval.hits:
            return ReaderAnswer("", ())
        passages = [Passage.from_node(hit.node) for hit in retrieval.hits]
        question = complete_follow_up(retrieval.question, retrieval.query.history)
        reader = make_answering_model(self.settings)
        answer = stream_answer(reader, question, passages, show if is_shown else None, stop)
        if self._log is not None:
            self._log.record_end_of_answer(retrieval.id)
        return add_source_spans(answer, self._retriever)

    def search_within(self, parameters: SubtreeSearchParameters) -> SearchResponse:
        """Find what answers a question in a node and the nodes under it."""
        query = parameters.to_query(self.settings)
        question, node_id = parameters.question, parameters.node_id
        retrieval = self._search_and_log(
            lambda: self._retriever.search_within(question, node_id, query)
        )
        return SearchResponse.of(retrieval, self.link_of)

    def scopes_by_corpus(self) -> dict[str, Scope]:
        """Return the corpora that can be searched, each with its scope."""
        trees = self._home.corpus_of(None)
        corpora: dict[str, Scope] = {self.settings.store.corpus: "trees"}
        if has_corpus_tree(trees.home, trees.settings):
            above = corpus_tree_settings(self.settings)
            corpora[above.store.corpus] = "corpus"
        return corpora

    def outline(
        self, tree: TreeName, offset: Offset = 0, budget_tokens: OutlineBudget = 1000
    ) -> OutlineResponse:
        """List the names of a tree's nodes from the top layer down, with their tokens."""
        nodes, counter = self._retriever.nodes(tree), self._retriever.components.counter
        return OutlineResponse.of(nodes, offset, budget_tokens, counter)

    def browse(
        self, node_id: NodeId, show: Show = "names", offset: Offset = 0, limit: Limit = 50
    ) -> BrowseResponse:
        """List the nodes that a node summarizes, by name, or with their texts."""
        family = self._retriever.family(node_id)
        return BrowseResponse.of_family(family, offset, limit, texts=show == "texts")

    def read_node(self, node_id: NodeId) -> ReadNode:
        """Read a node's full text, the summaries above it, and the nodes that it summarizes."""
        return ReadNode.of(self._retriever.family(node_id), self.link_of)

    def trace(self, node_id: NodeId, offset: Offset = 0, limit: Limit = 50) -> TraceResponse:
        """Give the exact spans of the documents that a chunk or a summary was made from."""
        trace = self._retriever.trace(node_id)
        return TraceResponse.of(trace, offset, limit, self.settings.source)

    def find_by_words(self, words: str, limit: int) -> SearchResponse:
        """Find the nodes of any layer that match the words best, without a model."""
        hits = self._retriever.call_with_home(
            None, lambda _home, _settings, store: store.search_text([words], limit)[0]
        )
        n_tokens = sum(hit.node.n_tokens for hit in hits)
        query = replace(self._retriever.query, strategy="lexical")
        retrieval = Retrieval(words, query, tuple(hits), n_tokens, len(hits), 0)
        return SearchResponse.of(retrieval, self.link_of)

    def list_trees(
        self, name_contains: NameContains = "", offset: Offset = 0, limit: Limit = 50
    ) -> TreeList:
        """List the published trees with their layers and documents, by name."""
        part, manifests = name_contains.casefold(), self._retriever.manifests()
        matches = [manifest for manifest in manifests if part in manifest.tree.casefold()]
        shown = [PublishedTree.of(manifest) for manifest in matches[offset : offset + limit]]
        return TreeList(n_trees=len(matches), offset=offset, trees=shown)
