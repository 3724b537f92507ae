"""Baselines for comparisons that are not strategies of the retriever.

Strategies are made in ``comparison/systems.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raptor_core.chunking.base import Chunk
from raptor_core.chunking.chunker import SentenceChunker
from raptor_core.chunking.outline import SectionPaths, document_blocks
from raptor_core.documents.base import Document
from raptor_core.documents.grouping import document_tree_name
from raptor_core.nodes import Node
from raptor_core.retrieval import Query, Retrieval
from raptor_core.retrieval.base import fit_budget
from raptor_core.store.base import Hit, Where
from raptor_core.store.lexical import SparseVector, passage_vector, query_vector
from raptor_core.tree.components import Components
from raptor_core.tree.leaves import make_leaves
from raptor_core.vectors import Vectors
from raptor_lab.comparison.contexts import Context, QuestionBatch, System
from raptor_lab.comparison.index import Index

BASELINES = ("document", "paragraph-fusion", "title-abstract")


def make_baseline(name: str) -> System:
    """Make the baseline with a name in ``BASELINES``."""
    if name == "paragraph-fusion":
        return ParagraphFusion()
    return BeginningSystem(name, is_abstract=name == "title-abstract")


@dataclass(frozen=True, slots=True)
class BeginningSystem:
    """System that returns the beginning of a document's text, or of its title and abstract.

    If a question is about all documents, its context is empty.
    """

    name: str
    is_abstract: bool = False

    def make_contexts(
        self, index: Index, batch: QuestionBatch, budget_tokens: int
    ) -> list[Context]:
        """See ``System.make_contexts``."""
        if batch.where.trees is None:
            return [Context("", 0)] * len(batch.questions)
        names = {question.document for question in batch.questions}
        documents = [document for document in index.dataset.documents if document.id in names]
        cut = {
            d.id: _cut_to_budget(index, self._beginning_of_document(index, d), budget_tokens)
            for d in documents
        }
        return [cut.get(q.document or "", Context("", 0)) for q in batch.questions]

    def _beginning_of_document(self, index: Index, document: Document) -> str:
        if not self.is_abstract:
            return document.text
        return f"{document.title}\n\n{index.dataset.abstracts.get(document.id, '')}".strip()


def _cut_to_budget(index: Index, text: str, budget_tokens: int) -> Context:
    spans = list(index.components.counter.token_spans(text))
    if len(spans) > budget_tokens:
        text, spans = text[: spans[budget_tokens - 1][1]], spans[:budget_tokens]
    return Context(text, len(spans))


def find_matching_rows(nodes: Sequence[Node], where: Where) -> list[int]:
    """Return the rows of nodes that match a filter on trees, documents and layers."""
    return [
        row
        for row, node in enumerate(nodes)
        if (where.trees is None or node.tree in where.trees)
        and (where.documents is None or not {*where.documents}.isdisjoint(node.documents))
        and (where.layers is None or node.layer in where.layers)
    ]


def retrieve_best_nodes(
    question: str, scores: NDArray[Any], nodes: Sequence[Node], query: Query
) -> Retrieval:
    """Retrieve the best nodes that fit into the budget; ties keep their order."""
    order = np.argsort(-scores, kind="stable")
    hits = [Hit(nodes[at], float(scores[at])) for at in order]
    return fit_budget(question, query, hits, query.top_k)


@dataclass(frozen=True, eq=False)
class ParagraphFusion:
    """System that ranks paragraphs by reciprocal rank fusion of vectors and BM25.

    It uses neither chunks nor a tree. A paragraph's score is the sum of ``1 / (60 + rank)`` over
    both rankings (Cormack et al. 2009). It is embedded like a chunk, with headings before its text.
    """

    name: str = "paragraph-fusion"

    def make_contexts(
        self, index: Index, batch: QuestionBatch, budget_tokens: int
    ) -> list[Context]:
        """See ``System.make_contexts``."""
        nodes, vectors, terms = _read_paragraphs(index)
        query = Query(self.name, budget_tokens, where=batch.where)
        rows = find_matching_rows(nodes, query.where)
        allowed = [nodes[row] for row in rows]
        contexts = []
        for question, vector in zip(batch.questions, batch.vectors, strict=True):
            words = _bm25_scores(question.text, terms)
            scores = _reciprocal_ranks(vectors[rows] @ vector) + _reciprocal_ranks(words[rows])
            contexts.append(Context.of(retrieve_best_nodes(question.text, scores, allowed, query)))
        return contexts


class _ParagraphChunker(SentenceChunker):
    """Chunker that makes a chunk of each paragraph, however long."""

    method = "paragraphs"

    def chunk(self, document: Document) -> list[Chunk]:
        text, paths = document.text, SectionPaths(document)
        spans = [(block.start, block.end) for block in document_blocks(document)]
        counts = self._counter.count([text[a:b] for a, b in spans])
        return [
            Chunk(text[a:b], a, b, n, paths.path_at(a))
            for (a, b), n in zip(spans, counts, strict=True)
        ]


@lru_cache(maxsize=1)
def _read_paragraphs(index: Index) -> tuple[list[Node], Vectors, list[SparseVector | None]]:
    components = index.components
    chunker = _ParagraphChunker(components.settings.chunking, components.counter)
    parts = Components(
        components.settings,
        chunker=chunker,
        embedder=components.embedder,
        counter=components.counter,
    )
    grouping = components.settings.grouping
    nodes = [
        node
        for document in index.dataset.documents
        for node in make_leaves(document_tree_name(document, grouping), [document], parts)
    ]
    vectors = components.embedder.embed([node.embedding_text for node in nodes])
    return nodes, vectors, [passage_vector(node.text) for node in nodes]


def _bm25_scores(question: str, terms: Sequence[SparseVector | None]) -> NDArray[np.float64]:
    """Compute the BM25 score of each passage, shape ``(n_passages,)``, with the engines' IDF."""
    query = query_vector(question)
    weights = [dict(zip(v.indices, v.values, strict=True)) if v else {} for v in terms]
    scores = np.zeros(len(terms))
    for index, count in zip(query.indices, query.values, strict=True) if query else ():
        column = np.array([weight.get(index, 0.0) for weight in weights])
        n = np.count_nonzero(column)
        scores += count * column * np.log(1 + (len(terms) - n + 0.5) / (n + 0.5))
    return scores


def _reciprocal_ranks(scores: NDArray[Any]) -> NDArray[np.float64]:
    """Compute 1 / (60 + rank) of each score; ranks begin at 1, equal scores keep their order."""
    from scipy.stats import rankdata

    return np.asarray(1 / (60 + rankdata(-scores, method="ordinal")))
