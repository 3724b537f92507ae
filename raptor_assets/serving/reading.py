"""The ways to read a home, whoever asks: search, ask, read_node, trace, list_trees."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from raptor_assets.project.home import Home
from raptor_assets.serving.answers import (
    Answered,
    Found,
    PublishedTree,
    PublishedTrees,
    ReadNode,
    Traced,
)
from raptor_core.errors import MissingKeyError
from raptor_core.home import HomeRetriever
from raptor_core.home.corpus_tree import answer_by, layer_answer, refuse_narrowing
from raptor_core.home.store_retriever import StoreRetriever
from raptor_core.identity import MAX_ID_BYTES
from raptor_core.models.reading.reader import Answer, Passage, Reader
from raptor_core.report.data import report_values
from raptor_core.retrieval import Retrieval
from raptor_core.settings.retrieval import Strategy
from raptor_core.store.base import Hit, Where
from raptor_core.tree.corpus_tree import CORPUS_TREE_NAME

Item = TypeVar("Item")

MAX_QUESTION_CHARS = 10_000
"""An embedder reads far less of it."""

Name = Annotated[str, Field(max_length=MAX_ID_BYTES)]
Line = Annotated[str, Field(max_length=4096)]
Names = Annotated[list[Name] | None, Field(max_length=1000)]
Question = Annotated[
    str, Field(min_length=1, max_length=MAX_QUESTION_CHARS, description="A question, or words.")
]
TreesOnly = Annotated[Names, Field(description="Only these trees.")]
DocumentsOnly = Annotated[
    Names, Field(description="Only these documents, and summaries that cover one of them.")
]
LayersOnly = Annotated[
    list[Annotated[int, Field(ge=0, le=1000)]] | None,
    Field(max_length=1000, description="Only these layers; 0 holds the chunks."),
]
Value = (
    Line
    | bool
    | Annotated[int, Field(ge=-(2**53), le=2**53)]
    | Annotated[float, Field(allow_inf_nan=False)]
)
MetadataOnly = Annotated[
    dict[Line, Value] | None,
    Field(max_length=100, description="Only nodes whose metadata has all these values."),
]
ChosenStrategy = Annotated[
    Strategy | None, Field(description="How to search; by default as the home is set.")
]
Budget = Annotated[
    int | None,
    Field(ge=1, le=1_000_000, description="Tokens of all texts together; default as set."),
]
Scope = Annotated[
    Literal["trees", "corpus"] | None,
    Field(description='"corpus" begins at the corpus tree, for what is about everything.'),
]
NodeId = Annotated[
    str, Field(max_length=64, description="A node's id, as search and read_node give it.")
]
NameContains = Annotated[
    str,
    Field(max_length=MAX_ID_BYTES, description="Only trees whose name contains this, in any case."),
]
Offset = Annotated[int, Field(ge=0, le=2**31, description="How many to pass over, to read on.")]
Limit = Annotated[int, Field(ge=1, le=500, description="How many to give at the most.")]


class Asked(BaseModel):
    """What is asked of a search."""

    model_config = ConfigDict(extra="forbid")

    question: Question
    trees: TreesOnly = None
    documents: DocumentsOnly = None
    layers: LayersOnly = None
    metadata: MetadataOnly = None
    strategy: ChosenStrategy = None
    budget_tokens: Budget = None
    scope: Scope = None


class Reading:
    """Each call opens the home's store for as long as it reads; see ``HomeRetriever``."""

    def __init__(self, retriever: HomeRetriever) -> None:
        self._retriever = retriever

    def search(
        self,
        question: Question,
        trees: TreesOnly = None,
        documents: DocumentsOnly = None,
        layers: LayersOnly = None,
        metadata: MetadataOnly = None,
        strategy: ChosenStrategy = None,
        budget_tokens: Budget = None,
        scope: Scope = None,
    ) -> Found:
        """Find the chunks and summaries that answer a question, within a budget of tokens."""
        given = {"strategy": strategy, "budget_tokens": budget_tokens, "scope": scope}
        return Found.of(self._search(question, trees, documents, layers, metadata, **given))

    def ask(self, asked: Asked) -> Answered:
        """Answer a question from what a search finds, by the reader of the home's settings."""
        if asked.scope == "corpus":
            refuse_narrowing(asked.model_dump(exclude={"question", "budget_tokens", "scope"}))
            return self._ask_corpus(asked.question, asked.budget_tokens)
        retrieval = self._search(**dict(asked))
        if not retrieval.hits:
            return Answered.of(Answer("", ()), retrieval)
        passages = [Passage.from_node(hit.node) for hit in retrieval.hits]
        reader = Reader(self._retriever.settings.reader)
        return Answered.of(reader.read(asked.question, passages), retrieval)

    def _ask_corpus(self, question: str, budget_tokens: int | None) -> Answered:
        """Of the whole corpus; the overview itself where no reader can be asked."""
        retriever, query = self._retriever, self._retriever.query
        query = replace(query, budget_tokens=budget_tokens or query.budget_tokens)
        plan = retriever.plan_answer(query)
        read = plan.nodes
        try:
            answer = answer_by(plan, question, retriever.settings)
        except MissingKeyError:
            answer = layer_answer(retriever.nodes(CORPUS_TREE_NAME), query.budget_tokens)
            read = retriever.corpus_tree.nodes_of([passage.node_id for passage in answer.citations])
        hits = tuple(Hit(node, 0.0) for node in read)
        n_tokens = sum(node.n_tokens for node in read)
        retrieval = Retrieval(question, query, hits, n_tokens, len(hits), 0)
        return Answered.of(answer, retrieval)

    def _search(
        self,
        question: str,
        trees: Names,
        documents: Names,
        layers: LayersOnly,
        metadata: MetadataOnly,
        **given: Any,
    ) -> Retrieval:
        where = Where(_tuple(trees), _tuple(documents), _tuple(layers), metadata=metadata or {})
        chosen = {name: value for name, value in given.items() if value is not None}
        query = replace(self._retriever.query, where=where, **chosen)
        return self._retriever.search(question, query)

    def read_node(self, node_id: NodeId) -> ReadNode:
        """Read one node whole, with the summaries over it and what it summarizes."""
        return ReadNode.of(self._retriever.family(node_id))

    def trace(self, node_id: NodeId, offset: Offset = 0, limit: Limit = 50) -> Traced:
        """Give the exact spans of the documents that a chunk or a summary was made from."""
        return Traced.of(self._retriever.trace(node_id), offset, limit)

    def find(self, words: str, limit: int) -> Found:
        """The nodes of any layer that hold the words best; no model is asked."""
        hits = self._retriever.read(lambda store: store.search_text([words], limit)[0])
        n_tokens = sum(hit.node.n_tokens for hit in hits)
        query = replace(self._retriever.query, strategy="lexical")
        return Found.of(Retrieval(words, query, tuple(hits), n_tokens, len(hits), 0))

    def corpus(self) -> dict[str, Any]:
        """See ``window.corpus_values``."""
        from raptor_assets.serving.window import corpus_values

        retriever, home = self._of(None)
        return retriever.read(lambda store: corpus_values(home, retriever.settings, store))

    def report(self, tree: str) -> dict[str, Any]:
        """What the page shows of one tree."""
        from raptor_assets.serving.window import read_report

        retriever, home = self._of(tree)
        report = retriever.read(
            lambda store: read_report(home, retriever.settings, store, tree, with_map=False)
        )
        return report_values(report)

    def map(self, tree: str | None) -> dict[str, Any]:
        """See ``window.map_values``."""
        from raptor_assets.serving.window import map_values

        retriever, home = self._of(tree)
        return retriever.read(lambda store: map_values(home, store, tree))

    def _of(self, tree: str | None) -> tuple[StoreRetriever, Home]:
        """What reads a tree, and its home: another one of the corpus tree."""
        reader = self._retriever.reader_of(tree)
        return reader, Home(reader.home.path)

    def list_trees(
        self, name_contains: NameContains = "", offset: Offset = 0, limit: Limit = 50
    ) -> PublishedTrees:
        """List the published trees with their layers and documents, by name."""
        wanted = [
            manifest
            for manifest in self._retriever.manifests()
            if name_contains.casefold() in manifest.tree.casefold()
        ]
        shown = [PublishedTree.of(manifest) for manifest in wanted[offset : offset + limit]]
        return PublishedTrees(n_trees=len(wanted), offset=offset, trees=shown)


def _tuple(names: list[Item] | None) -> tuple[Item, ...] | None:
    """An empty list filters nothing: models write one where they mean none."""
    return tuple(names) if names else None
