"""Values that clients get, over HTTP and from tools of models.

Calls that return them are in ``answers``, their parameters in ``parameters``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from raptor_assets.shown.markdown import shorten
from raptor_core.models.reading.reader import Answer as ReaderAnswer
from raptor_core.models.reading.reader import Passage
from raptor_core.nodes import Node, group_nodes
from raptor_core.retrieval import Family, Retrieval, Trace
from raptor_core.settings import Settings, SourceSettings
from raptor_core.store.base import Hit, Manifest
from raptor_core.tokens import TokenCounter
from raptor_core.tree.corpus_tree import is_corpus_tree
from raptor_formats.base import MetadataValue

NAMED_DOCUMENTS = 20  # maximal number of documents in a list; ``n_documents`` counts all
NAMED_SPANS = 20  # maximal number of spans behind a cited summary
BEGINNING_CHARS = 200
NAME_CHARS = 80


class ApiModel(BaseModel):
    """Base of all values that clients get."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def from_attributes(cls, source: object, **fields: Any) -> Self:
        """Make a value of ``fields`` and, for the rest, the attributes of ``source``."""
        names = cls.model_fields.keys() - fields.keys()
        return cls(**{name: getattr(source, name) for name in names}, **fields)


LinkOf = Callable[[Node], str]
"""Function that returns the address of a node's document in its own place, or ""."""


def make_link_function(settings: Settings) -> LinkOf:
    """Return the addresses by ``source.link``; a node of the corpus tree has none."""
    link_to = settings.source.document_link
    return lambda node: "" if is_corpus_tree(node.tree) else link_to(node.documents, node.pages)


class FullNode(ApiModel):
    """Chunk (layer 0, with its exact characters in the document) or summary of several nodes.

    ``is_summary`` is false for words of a document; a chunk of the corpus tree copies a summary.
    ``title`` is the document's, empty where it has none or a summary covers several.
    ``name`` and ``key_terms`` describe a summary and are empty for a chunk.
    ``pages`` are a chunk's first and last page, where its document has any.
    ``chunk_id`` is the id of a chunk that the source supplies, else empty. ``link`` is the address
    of the document, empty where the home names none or a summary covers several.
    """

    title: str
    name: str
    key_terms: list[str]
    id: str
    tree: str
    layer: int
    is_summary: bool
    n_documents: int
    documents: list[str]
    section: list[str]
    source: str
    start: int | None
    end: int | None
    pages: list[int]
    chunk_id: str
    link: str
    n_tokens: int
    text: str


def _document_title(node: Node) -> str:
    return str(node.metadata.get("title", ""))


def _derived_fields(node: Node) -> dict[str, Any]:
    """Return the fields of ``FullNode`` that are no attributes of a node."""
    return {
        "title": _document_title(node),
        "n_documents": len(node.documents),
        "documents": node.documents[:NAMED_DOCUMENTS],
        "start": node.start if node.is_leaf else None,
        "end": node.end if node.is_leaf else None,
    }


class FoundNode(FullNode):
    """Hit of a search; ``parts`` are the terms of its score, if the strategy has several."""

    score: float
    parts: dict[str, float]

    @classmethod
    def of(cls, hit: Hit, link_of: LinkOf) -> FoundNode:
        """Convert a hit."""
        parts = {name: round(part, 4) for name, part in hit.why.items()}
        values = {"score": round(hit.score, 4), "parts": parts, "link": link_of(hit.node)}
        return cls.from_attributes(hit.node, **values, **_derived_fields(hit.node))


class SearchResponse(ApiModel):
    """Hits of a search in the strategy's order; ``note`` warns of them, or says why there are none.

    ``kind`` is "detail" or "general", as hybrid took the question, and ``reason`` says why. ``id``
    is what people vote on; empty where the server keeps no questions.
    """

    id: str
    strategy: str
    kind: str
    reason: str
    budget_tokens: int
    n_tokens: int
    nodes: list[FoundNode]
    note: str

    @classmethod
    def of(cls, retrieval: Retrieval, link_of: LinkOf) -> SearchResponse:
        """Convert a retrieval."""
        nodes = [FoundNode.of(hit, link_of) for hit in retrieval.hits]
        query = retrieval.query
        return cls.from_attributes(
            retrieval,
            strategy=query.strategy,
            budget_tokens=query.budget_tokens,
            nodes=nodes,
            note=retrieval.explanation,
        )


class CitedSpan(ApiModel):
    """Characters ``start`` to ``end`` (exclusive) of a document."""

    document: str
    start: int
    end: int


class Citation(ApiModel):
    """Node that ``[number]`` in an answer cites, and its place in words for people.

    ``span`` is the first character in its document and the one after the last; null for a summary.
    ``behind`` are the spans that a summary was made from, ``n_behind`` counts them all.
    """

    number: int
    node: str
    place: str
    documents: list[str]
    span: list[int] | None
    pages: list[int]
    link: str
    is_summary: bool
    behind: list[CitedSpan]
    n_behind: int

    @classmethod
    def of(cls, number: int, passage: Passage, link: str) -> Citation:
        """Convert a cited passage."""
        documents, span = passage.documents[:NAMED_DOCUMENTS], passage.span
        shown = passage.source_spans[:NAMED_SPANS]
        behind = [CitedSpan(document=name, start=start, end=end) for name, start, end in shown]
        values = {"documents": list(documents), "span": span and list(span), "link": link}
        numbers = {"number": number, "n_behind": len(passage.source_spans)}
        return cls.from_attributes(
            passage, node=passage.node_id, behind=behind, **numbers, **values
        )


class AskResponse(ApiModel):
    """Answer from the hits of a search; empty where there are none."""

    answer: str
    citations: list[Citation]
    found: SearchResponse

    @classmethod
    def of(cls, answer: ReaderAnswer, retrieval: Retrieval, link_of: LinkOf) -> AskResponse:
        """Convert a reader's answer and the retrieval that it was read from."""
        citations = to_citations(answer, retrieval, link_of)
        found = SearchResponse.of(retrieval, link_of)
        return cls(answer=answer.text, citations=citations, found=found)


def to_citations(answer: ReaderAnswer, retrieval: Retrieval, link_of: LinkOf) -> list[Citation]:
    """Return what an answer cites, in the order of its numbers."""
    links = {hit.node.id: link_of(hit.node) for hit in retrieval.hits}
    numbered = enumerate(answer.citations, 1)
    return [Citation.of(n, passage, links.get(passage.node_id, "")) for n, passage in numbered]


class NearNode(ApiModel):
    """Parent or child with the beginning of its text; read_node gives all of it."""

    title: str
    name: str
    id: str
    layer: int
    n_tokens: int
    beginning: str

    @classmethod
    def of(cls, node: Node) -> NearNode:
        """Convert a node."""
        beginning = shorten(node.text, BEGINNING_CHARS)
        return cls.from_attributes(node, title=_document_title(node), beginning=beginning)


class ReadNode(FullNode):
    """Node with the summaries above it and the nodes that it summarizes."""

    metadata: Mapping[str, MetadataValue]
    parents: list[NearNode]
    children: list[NearNode]

    @classmethod
    def of(cls, family: Family, link_of: LinkOf) -> ReadNode:
        """Convert a node and its neighbours."""
        return cls.from_attributes(
            family.node,
            link=link_of(family.node),
            metadata=dict(family.node.metadata),
            parents=list(map(NearNode.of, family.parents)),
            children=list(map(NearNode.of, family.children)),
            **_derived_fields(family.node),
        )


class NamedNode(ApiModel):
    """Node without its text; a chunk's name is the beginning of its text.

    ``n_tokens`` are those of its text, and ``n_children`` counts the nodes that browse gives.
    """

    name: str
    id: str
    layer: int
    n_tokens: int
    n_children: int

    @classmethod
    def of(cls, node: Node, **fields: Any) -> Self:
        """Convert a node."""
        name = shorten(
            node.name or (node.copied_node_id and _document_title(node)) or node.text, NAME_CHARS
        )
        n_children = len(node.children) or int(bool(node.copied_node_id))
        return cls.from_attributes(node, name=name, n_children=n_children, **fields)


class OutlineResponse(ApiModel):
    """Nodes from ``offset`` on, from the top layer down, in JSON of ``n_tokens`` tokens.

    ``title`` is as in ``PublishedTree``, and ``layer_tokens`` are those of the layers' texts.
    ``next_offset`` is null at the end.
    """

    title: str
    tree: str
    layer_sizes: list[int]
    layer_tokens: list[int]
    n_tokens: int
    offset: int
    next_offset: int | None
    nodes: list[NamedNode]

    @classmethod
    def of(
        cls, nodes: Sequence[Node], offset: int, budget_tokens: int, counter: TokenCounter
    ) -> OutlineResponse:
        """Show as many of a tree's nodes as the budget holds, at least one."""
        layers = list(group_nodes(nodes, lambda node: node.layer).values())
        from_top = [node for layer in reversed(layers) for node in layer]
        shown = list(map(NamedNode.of, from_top[offset : offset + budget_tokens]))
        spent = [0, *accumulate(counter.count([node.model_dump_json() for node in shown]))]
        n_shown = min(len(shown), max(1, bisect_right(spent, budget_tokens) - 1))
        end, top = offset + n_shown, layers[-1]
        return cls(
            title=_document_title(top[0]) or top[0].name if len(top) == 1 else "",
            tree=nodes[0].tree,
            layer_sizes=list(map(len, layers)),
            layer_tokens=[sum(node.n_tokens for node in layer) for layer in layers],
            n_tokens=spent[n_shown],
            offset=offset,
            next_offset=end if end < len(nodes) else None,
            nodes=shown[:n_shown],
        )


class BrowseResponse(NamedNode):
    """Node and its children from ``offset`` on; ``texts`` are theirs, or empty."""

    tree: str
    offset: int
    children: list[NamedNode]
    texts: list[str]

    @classmethod
    def of_family(cls, family: Family, offset: int, limit: int, *, texts: bool) -> BrowseResponse:
        """Convert a node and at most ``limit`` of its children."""
        shown = family.children[offset : offset + limit]
        values = {"offset": offset, "children": list(map(NamedNode.of, shown))}
        return cls.of(family.node, texts=[node.text for node in shown if texts], **values)


class Span(ApiModel):
    """Characters ``start`` to ``end`` (exclusive) of a document, with text, first and last page."""

    title: str
    document: str
    source: str
    section: list[str]
    start: int
    end: int
    pages: list[int]
    chunk_id: str
    link: str
    text: str
    node: str


class TraceResponse(ApiModel):
    """Spans under a node in document order, from ``offset`` on; ``n_spans`` counts all."""

    id: str
    tree: str
    layer: int
    n_spans: int
    offset: int
    spans: list[Span]

    @classmethod
    def of(cls, trace: Trace, offset: int, limit: int, source: SourceSettings) -> TraceResponse:
        """Convert at most ``limit`` spans of a trace."""
        shown = trace.spans[offset : offset + limit]
        links = [source.document_link([span.document], span.pages) for span in shown]
        pairs = zip(shown, links, strict=True)
        spans = [Span.from_attributes(span, node=span.node_id, link=link) for span, link in pairs]
        n_spans = len(trace.spans)
        return cls.from_attributes(trace.node, n_spans=n_spans, offset=offset, spans=spans)


class PublishedTree(ApiModel):
    """Tree; ``layer_sizes[0]`` is its number of chunks, further layers count summaries.

    ``title`` is that of its only document, or the name of its only top node; else empty. ``pin``
    says why the tree is held at an earlier build; else it is empty.
    """

    title: str
    tree: str
    layer_sizes: list[int]
    n_tokens: int
    n_documents: int
    documents: list[str]
    published_at: str
    pin: str

    @classmethod
    def of(cls, manifest: Manifest) -> PublishedTree:
        """Convert a manifest."""
        documents = sorted(manifest.documents)
        n_documents, named = len(documents), documents[:NAMED_DOCUMENTS]
        return cls.from_attributes(manifest, n_documents=n_documents, documents=named)


class TreeList(ApiModel):
    """Trees by name, from ``offset`` on; ``n_trees`` counts all that match."""

    n_trees: int
    offset: int
    trees: list[PublishedTree]
