"""Calls that read a home, for both servers.

Their parameters are in ``parameters``, the values that they return in ``answers``; routes are in
``http``, tools in ``mcp``.
"""

from dataclasses import replace
from typing import Any

from raptor_assets.home.folder import Home
from raptor_assets.serving.answers import (
    AskResponse,
    BrowseResponse,
    OutlineResponse,
    PublishedTree,
    ReadNode,
    SearchResponse,
    TraceResponse,
    TreeList,
)
from raptor_assets.serving.parameters import (
    Limit,
    NameContains,
    NodeId,
    NodeSearchParameters,
    Offset,
    OutlineBudget,
    SearchParameters,
    Show,
    TreeName,
    WithinParameters,
)
from raptor_core.errors import RaptorError
from raptor_core.home import HomeRetriever
from raptor_core.home.corpus import PublishedCorpus
from raptor_core.models.reading.reader import Answer, Passage
from raptor_core.report.data import report_values
from raptor_core.retrieval import Query, Retrieval
from raptor_core.tree.custom_components import reader_of, require_reader


class HomeReader:
    """Reader of a home, which opens the store for each call; see ``HomeRetriever``."""

    def __init__(self, retriever: HomeRetriever) -> None:
        self._retriever = retriever

    def search(self, parameters: SearchParameters) -> SearchResponse:
        """Find the chunks and summaries that answer a question, within a budget of tokens."""
        return SearchResponse.of(self._search(parameters))

    def ask(self, parameters: SearchParameters) -> AskResponse:
        """Answer a question from the hits of a search; [k] in it cites citation k."""
        retrieval = self._search(parameters)
        if not retrieval.hits:
            return AskResponse.of(Answer("", ()), retrieval)
        passages = [Passage.from_node(hit.node) for hit in retrieval.hits]
        reader = reader_of(self._retriever.settings)
        return AskResponse.of(reader.read(parameters.question, passages), retrieval)

    def _query(self, parameters: WithinParameters) -> Query:
        return replace(self._retriever.query, where=parameters.where(), **parameters.options())

    def _search(self, parameters: WithinParameters) -> Retrieval:
        return self._retriever.search(parameters.question, self._query(parameters))

    def search_within(self, parameters: NodeSearchParameters) -> SearchResponse:
        """Find what answers a question in a node and the nodes under it."""
        query = self._query(parameters)
        question, node_id = parameters.question, parameters.node_id
        return SearchResponse.of(self._retriever.search_within(question, node_id, query))

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
        return ReadNode.of(self._retriever.family(node_id))

    def trace(self, node_id: NodeId, offset: Offset = 0, limit: Limit = 50) -> TraceResponse:
        """Give the exact spans of the documents that a chunk or a summary was made from."""
        return TraceResponse.of(self._retriever.trace(node_id), offset, limit)

    def find(self, words: str, limit: int) -> SearchResponse:
        """Find the nodes of any layer that match the words best, without a model."""
        hits = self._retriever.corpus_of(None).read(
            lambda store: store.search_text([words], limit)[0]
        )
        n_tokens = sum(hit.node.n_tokens for hit in hits)
        query = replace(self._retriever.query, strategy="lexical")
        return SearchResponse.of(Retrieval(words, query, tuple(hits), n_tokens, len(hits), 0))

    def corpus(self, partition: str | None = None) -> dict[str, Any]:
        """See ``window.corpus_values``; "no_reader" says what a missing reader needs."""
        from raptor_assets.serving.window import corpus_values

        corpus, home = self._home_of(None)
        settings = corpus.settings
        values = corpus.read(lambda store: corpus_values(home, settings, store, partition))
        try:
            require_reader(self._retriever.settings)
        except RaptorError as error:
            return {**values, "no_reader": str(error)}
        return {**values, "no_reader": ""}

    def report(self, tree: str) -> dict[str, Any]:
        """Return the values of a tree's page."""
        from raptor_assets.serving.window import read_report

        corpus, home = self._home_of(tree)
        report = corpus.read(
            lambda store: read_report(home, corpus.settings, store, tree, with_map=False)
        )
        return report_values(report)

    def map(self, tree: str | None) -> dict[str, Any]:
        """See ``window.map_values``."""
        from raptor_assets.serving.window import map_values

        corpus, home = self._home_of(tree)
        return corpus.read(lambda store: map_values(home, store, tree))

    def _home_of(self, tree: str | None) -> tuple[PublishedCorpus, Home]:
        corpus = self._retriever.corpus_of(tree)
        return corpus, Home(corpus.home.path)

    def list_trees(
        self, name_contains: NameContains = "", offset: Offset = 0, limit: Limit = 50
    ) -> TreeList:
        """List the published trees with their layers and documents, by name."""
        part, manifests = name_contains.casefold(), self._retriever.manifests()
        matches = [manifest for manifest in manifests if part in manifest.tree.casefold()]
        shown = [PublishedTree.of(manifest) for manifest in matches[offset : offset + limit]]
        return TreeList(n_trees=len(matches), offset=offset, trees=shown)
