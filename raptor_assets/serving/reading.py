"""Calls that read a home, for both servers, with the bounds and descriptions of their parameters.

The values that they return are in ``answers``; routes are in ``http``, tools in ``mcp``.
"""

from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from raptor_assets.project.home import Home
from raptor_assets.serving.answers import (
    AskResponse,
    BrowseResponse,
    CompareResponse,
    OutlineResponse,
    PublishedTree,
    ReadNode,
    SearchResponse,
    TraceResponse,
    TreeList,
)
from raptor_core.errors import MissingKeyError, RaptorError
from raptor_core.home import HomeRetriever
from raptor_core.home.corpus_tree import answer_by, refuse_narrowing, summary_answer
from raptor_core.home.store_retriever import StoreRetriever
from raptor_core.identity import MAX_ID_BYTES
from raptor_core.models.reading.reader import Answer, Passage
from raptor_core.report.data import report_values
from raptor_core.retrieval import Retrieval
from raptor_core.retrieval.base import Kind
from raptor_core.settings.retrieval import Strategy
from raptor_core.store.base import Hit, Where
from raptor_core.tree.corpus_tree import CORPUS_TREE_NAME
from raptor_core.tree.custom_components import reader_of, require_reader

Item = TypeVar("Item")

MAX_QUESTION_CHARS = 10_000  # bound of a question; an embedder reads far less of it
Name = Annotated[str, Field(max_length=MAX_ID_BYTES)]


def _refuse_truth_value(value: object) -> object:
    """Return a value that may be an integer; pydantic would take true for 1."""
    if isinstance(value, bool):
        raise ValueError("expected an integer, got a truth value")  # noqa: TRY004 - pydantic's
    return value


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
    list[Annotated[int, Field(ge=0, le=1000), BeforeValidator(_refuse_truth_value)]] | None,
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
    Strategy | None, Field(description="How to search; by default the home's setting.")
]
Tokens = Annotated[int, Field(ge=1, le=1_000_000), BeforeValidator(_refuse_truth_value)]
Budget = Annotated[
    Tokens | None,
    Field(description="Tokens of all texts together; by default the home's setting."),
]
ChosenKind = Annotated[
    Kind | None,
    Field(
        description='Whether the question asks for a "detail" or is "general", such as for a '
        'summary; "auto", the default, decides by its words.'
    ),
]
Scope = Annotated[
    Literal["trees", "corpus"] | None,
    Field(description='"corpus" starts at the corpus tree, for questions about everything.'),
]
NodeId = Annotated[
    str, Field(max_length=64, description="A node's id, as search and read_node give it.")
]
NameContains = Annotated[
    str,
    Field(max_length=MAX_ID_BYTES, description="Only trees whose name contains this, in any case."),
]
Offset = Annotated[int, Field(ge=0, le=2**31, description="Number of items to skip.")]
Limit = Annotated[int, Field(ge=1, le=500, description="Maximal number of items.")]
TreeName = Annotated[Name, Field(description="A tree's name, as list_trees gives it.")]
OneTree = Annotated[Name | None, Field(description="Only this tree; by default all trees.")]
OutlineBudget = Annotated[Tokens, Field(description="Tokens of all nodes together, as JSON.")]
Show = Annotated[
    Literal["names", "texts"], Field(description='"texts" adds the whole text of each child.')
]


class WithinParameters(BaseModel):
    """Question and options of a search under a node."""

    model_config = ConfigDict(extra="forbid")

    question: Question
    strategy: ChosenStrategy = None
    kind: ChosenKind = None
    budget_tokens: Budget = None


class SearchParameters(WithinParameters):
    """Question, filters and options of a search."""

    trees: TreesOnly = None
    documents: DocumentsOnly = None
    layers: LayersOnly = None
    metadata: MetadataOnly = None
    scope: Scope = None


class CompareParameters(WithinParameters):
    """Question, two trees or strategies, and options; the second default to the first."""

    tree: OneTree = None
    second_tree: OneTree = None
    second_strategy: ChosenStrategy = None


class HomeReader:
    """Reader of a home, which opens the store for each call; see ``HomeRetriever``."""

    def __init__(self, retriever: HomeRetriever) -> None:
        self._retriever = retriever

    def search(  # noqa: PLR0917  # its signature is the tool's description
        self,
        question: Question,
        trees: TreesOnly = None,
        documents: DocumentsOnly = None,
        layers: LayersOnly = None,
        metadata: MetadataOnly = None,
        strategy: ChosenStrategy = None,
        kind: ChosenKind = None,
        budget_tokens: Budget = None,
        scope: Scope = None,
    ) -> SearchResponse:
        """Find the chunks and summaries that answer a question, within a budget of tokens."""
        filters: dict[str, Any] = {"trees": trees, "documents": documents, "layers": layers}
        options = {"strategy": strategy, "kind": kind, "budget_tokens": budget_tokens}
        filters |= {"metadata": metadata, "scope": scope}
        return SearchResponse.of(self._search(question, None, **filters, **options))

    def ask(self, parameters: SearchParameters) -> AskResponse:
        """Answer a question from the hits of a search; [k] in it cites citation k."""
        question = parameters.question
        if parameters.scope == "corpus":
            accepted = {"question", "budget_tokens", "scope", "layers", "kind"}
            refuse_narrowing(parameters.model_dump(exclude=accepted))
            return self._ask_corpus(parameters)
        retrieval = self._search(**dict(parameters))
        if not retrieval.hits:
            return AskResponse.of(Answer("", ()), retrieval)
        passages = [Passage.from_node(hit.node) for hit in retrieval.hits]
        reader = reader_of(self._retriever.settings)
        return AskResponse.of(reader.read(question, passages), retrieval)

    def _ask_corpus(self, parameters: SearchParameters) -> AskResponse:
        """Answer from the corpus tree; without a reader, quote the context."""
        retriever, question, query = self._retriever, parameters.question, self._retriever.query
        query = replace(
            query,
            budget_tokens=parameters.budget_tokens or query.budget_tokens,
            kind=parameters.kind or query.kind,
            where=Where(layers=_tuple(parameters.layers)),
        )
        plan = retriever.plan_answer(question, query)
        read = plan.nodes
        try:
            answer = answer_by(plan, question, retriever.settings)
        except MissingKeyError:
            nodes = retriever.nodes(CORPUS_TREE_NAME)
            answer, read = summary_answer(plan, nodes, query.budget_tokens)
        hits = tuple(Hit(node, 0.0) for node in read)
        n_tokens = sum(node.n_tokens for node in read)
        reason = "; ".join(filter(None, (f"read {plan.reads}", plan.caution)))
        retrieval = Retrieval(question, query, hits, n_tokens, len(hits), 0, reason=reason)
        return AskResponse.of(answer, retrieval)

    def _search(self, question: str, node_id: str | None = None, **parameters: Any) -> Retrieval:
        """Search by the parameters that are not None, under a node if its id is not None."""
        names = ("trees", "documents", "layers")
        filters = {name: _tuple(parameters.pop(name, None)) for name in names}
        where = Where(**filters, metadata=parameters.pop("metadata", None) or {})
        options = {name: value for name, value in parameters.items() if value is not None}
        query = replace(self._retriever.query, where=where, **options)
        if node_id is None:
            return self._retriever.search(question, query)
        return self._retriever.search_within(question, node_id, query)

    def search_within(
        self,
        question: Question,
        node_id: NodeId,
        strategy: ChosenStrategy = None,
        kind: ChosenKind = None,
        budget_tokens: Budget = None,
    ) -> SearchResponse:
        """Find what answers a question under a node; of the corpus tree, in the trees under it."""
        options = {"strategy": strategy, "kind": kind, "budget_tokens": budget_tokens}
        return SearchResponse.of(self._search(question, node_id, **options))

    def compare(
        self,
        question: Question,
        tree: OneTree = None,
        second_tree: OneTree = None,
        strategy: ChosenStrategy = None,
        second_strategy: ChosenStrategy = None,
        kind: ChosenKind = None,
        budget_tokens: Budget = None,
    ) -> CompareResponse:
        """Compare two trees, or two strategies: what a search of each gives within the budget."""
        options = {"kind": kind, "budget_tokens": budget_tokens}
        sides = ((tree, strategy), (second_tree or tree, second_strategy or strategy))
        first, second = (
            SearchResponse.of(
                self._search(question, None, trees=name and [name], strategy=chosen, **options)
            )
            for name, chosen in sides
        )
        ids = {node.id for node in second.nodes}
        shared = [node.id for node in first.nodes if node.id in ids]
        return CompareResponse(first=first, second=second, shared_nodes=shared)

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
        hits = self._retriever.read(lambda store: store.search_text([words], limit)[0])
        n_tokens = sum(hit.node.n_tokens for hit in hits)
        query = replace(self._retriever.query, strategy="lexical")
        return SearchResponse.of(Retrieval(words, query, tuple(hits), n_tokens, len(hits), 0))

    def corpus(self, partition: str | None = None) -> dict[str, Any]:
        """See ``window.corpus_values``; "no_reader" says what a missing reader needs."""
        from raptor_assets.serving.window import corpus_values

        retriever, home = self._home_of(None)
        settings = retriever.settings
        values = retriever.read(lambda store: corpus_values(home, settings, store, partition))
        try:
            require_reader(self._retriever.settings)
        except RaptorError as error:
            return {**values, "no_reader": str(error)}
        return {**values, "no_reader": ""}

    def report(self, tree: str) -> dict[str, Any]:
        """Return the values of a tree's page."""
        from raptor_assets.serving.window import read_report

        retriever, home = self._home_of(tree)
        report = retriever.read(
            lambda store: read_report(home, retriever.settings, store, tree, with_map=False)
        )
        return report_values(report)

    def map(self, tree: str | None) -> dict[str, Any]:
        """See ``window.map_values``."""
        from raptor_assets.serving.window import map_values

        retriever, home = self._home_of(tree)
        return retriever.read(lambda store: map_values(home, store, tree))

    def _home_of(self, tree: str | None) -> tuple[StoreRetriever, Home]:
        reader = self._retriever.reader_of(tree)
        return reader, Home(reader.home.path)

    def list_trees(
        self, name_contains: NameContains = "", offset: Offset = 0, limit: Limit = 50
    ) -> TreeList:
        """List the published trees with their layers and documents, by name."""
        part, manifests = name_contains.casefold(), self._retriever.manifests()
        matches = [manifest for manifest in manifests if part in manifest.tree.casefold()]
        shown = [PublishedTree.of(manifest) for manifest in matches[offset : offset + limit]]
        return TreeList(n_trees=len(matches), offset=offset, trees=shown)


def _tuple(names: list[Item] | None) -> tuple[Item, ...] | None:
    """Return None for an empty list too: language models send one where they mean no filter."""
    return tuple(names) if names else None
