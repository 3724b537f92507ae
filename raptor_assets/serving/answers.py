"""What the tools answer; clients get the schema of these values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from raptor_assets.tables_markdown import shorten
from raptor_core.documents.base import MetadataValue
from raptor_core.models.reading.reader import Answer as ReaderAnswer
from raptor_core.nodes import Node
from raptor_core.retrieval import Family, Retrieval, Trace
from raptor_core.store.base import Hit, Manifest

NAMED_DOCUMENTS = 20
"""Documents that are named at the most; ``n_documents`` counts all."""

BEGINNING_CHARS = 200


class Answer(BaseModel):
    """What a tool answers, or a part of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def taken(cls, given: object, **others: Any) -> Self:
        """With ``others``, and for the rest with what ``given`` has under the same names."""
        names = cls.model_fields.keys() - others.keys()
        return cls(**{name: getattr(given, name) for name in names}, **others)


class WholeNode(Answer):
    """A chunk (layer 0, with its exact characters in the document) or a summary of several.

    ``title`` is the document's, empty where it has none or a summary covers several.
    ``name`` and ``key_terms`` say what a summary is about; they are empty for a chunk.
    ``pages`` are a chunk's first and last page, where its document has any.
    """

    id: str
    tree: str
    title: str
    name: str
    key_terms: list[str]
    layer: int
    n_documents: int
    documents: list[str]
    section: list[str]
    source: str
    start: int | None
    end: int | None
    pages: list[int]
    n_tokens: int
    text: str


def _title(node: Node) -> str:
    return str(node.metadata.get("title", ""))


def _whole(node: Node) -> dict[str, Any]:
    """The fields of ``WholeNode`` that are not a node's own."""
    return {
        "title": _title(node),
        "n_documents": len(node.documents),
        "documents": node.documents[:NAMED_DOCUMENTS],
        "start": node.start if node.is_leaf else None,
        "end": node.end if node.is_leaf else None,
    }


class FoundNode(WholeNode):
    """A node that a search found; a higher score is better, within one search.

    ``parts`` are what its score is made of, by name, where the strategy tells them.
    """

    score: float
    parts: dict[str, float]

    @classmethod
    def of(cls, hit: Hit) -> FoundNode:
        """Of a hit."""
        parts = {name: round(part, 4) for name, part in hit.why.items()}
        others = _whole(hit.node)
        return cls.taken(hit.node, score=round(hit.score, 4), parts=parts, **others)


class Found(Answer):
    """What a search found, in the strategy's order; ``note`` says why where it is nothing."""

    strategy: str
    budget_tokens: int
    n_tokens: int
    nodes: list[FoundNode]
    note: str

    @classmethod
    def of(cls, retrieval: Retrieval) -> Found:
        """Of a retrieval."""
        nodes = [FoundNode.of(hit) for hit in retrieval.hits]
        n_tokens, note = retrieval.n_tokens, _note(retrieval)
        return cls.taken(retrieval.query, n_tokens=n_tokens, nodes=nodes, note=note)


def _note(retrieval: Retrieval) -> str:
    if retrieval.hits:
        return ""
    if retrieval.n_passed_over:
        return f"no node fits into {retrieval.query.budget_tokens} tokens; raise budget_tokens"
    return (
        "no node matches the question and its filters; leave a filter out, or see list_trees for "
        "the names of trees and documents"
    )


class Citation(Answer):
    """What ``[number]`` in an answer cites: a node, and where it stands, for people."""

    number: int
    node: str
    place: str
    documents: list[str]


class Answered(Answer):
    """An answer from what was found; empty where nothing was."""

    answer: str
    citations: list[Citation]
    found: Found

    @classmethod
    def of(cls, answer: ReaderAnswer, retrieval: Retrieval) -> Answered:
        """Of a reader's answer."""
        return cls(
            answer=answer.text,
            citations=[
                Citation.taken(
                    passage,
                    number=number,
                    node=passage.node_id,
                    documents=passage.documents[:NAMED_DOCUMENTS],
                )
                for number, passage in enumerate(answer.citations, 1)
            ],
            found=Found.of(retrieval),
        )


class NearNode(Answer):
    """A parent or a child, with the beginning of its text; read_node gives it whole.

    ``title`` and ``name`` are as of ``WholeNode``.
    """

    id: str
    title: str
    name: str
    layer: int
    n_tokens: int
    beginning: str

    @classmethod
    def of(cls, node: Node) -> NearNode:
        """Of a node."""
        beginning = shorten(node.text, BEGINNING_CHARS)
        return cls.taken(node, title=_title(node), beginning=beginning)


class ReadNode(WholeNode):
    """A node, the summaries over it, and what it summarizes."""

    metadata: Mapping[str, MetadataValue]
    parents: list[NearNode]
    children: list[NearNode]

    @classmethod
    def of(cls, family: Family) -> ReadNode:
        """Of a node and its neighbours."""
        return cls.taken(
            family.node,
            metadata=dict(family.node.metadata),
            parents=[NearNode.of(parent) for parent in family.parents],
            children=[NearNode.of(child) for child in family.children],
            **_whole(family.node),
        )


class Span(Answer):
    """Characters ``start`` to ``end`` (exclusive) of a document, and their text.

    ``pages`` are the first and the last page, where the document has any.
    """

    document: str
    source: str
    section: list[str]
    start: int
    end: int
    pages: list[int]
    text: str
    node: str


class Traced(Answer):
    """Spans under a node in document order, from ``offset`` on; ``n_spans`` counts all."""

    id: str
    tree: str
    layer: int
    n_spans: int
    offset: int
    spans: list[Span]

    @classmethod
    def of(cls, trace: Trace, offset: int, limit: int) -> Traced:
        """Of a trace."""
        shown = trace.spans[offset : offset + limit]
        spans = [Span.taken(span, node=span.node_id) for span in shown]
        return cls.taken(trace.node, n_spans=len(trace.spans), offset=offset, spans=spans)


class PublishedTree(Answer):
    """A tree; ``layer_sizes[0]`` is its number of chunks, the others count summaries.

    ``title`` is that of its only document, or what its only top node is called; else empty.
    """

    tree: str
    title: str
    layer_sizes: list[int]
    n_tokens: int
    n_documents: int
    documents: list[str]
    published_at: str

    @classmethod
    def of(cls, manifest: Manifest) -> PublishedTree:
        """Of a manifest."""
        documents = sorted(manifest.documents)
        n_documents, named = len(documents), documents[:NAMED_DOCUMENTS]
        return cls.taken(manifest, n_documents=n_documents, documents=named)


class PublishedTrees(Answer):
    """Trees by name, from ``offset`` on; ``n_trees`` counts all that match."""

    n_trees: int
    offset: int
    trees: list[PublishedTree]
