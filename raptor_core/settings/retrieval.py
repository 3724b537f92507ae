"""Settings of retrieval."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from raptor_core.settings.base import Part

Strategy = Literal[
    "hybrid", "collapsed", "collapsed-lexical", "traversal", "beam", "flat", "lexical"
]
"""Names of ``raptor_core.retrieval.STRATEGIES``."""


class HybridSettings(Part):
    """Weights of the strategy "hybrid"; docs/retrieval.md has the formula.

    Dense and lexical scores are standardized over a question's candidates, so that 1 is a standard
    deviation.

    Attributes:
        lexical: weight of the lexical score; the dense one has the rest of 1.
        neighbours: of the better chunk right before or after it, then of those two away, and so on.
        paragraph: of the best chunk of a paragraph by itself, beside the mean of all of them.
        document: of the three best chunks of its document, where documents compete.
        diversity: what a passage loses, times log(1 + n), once n of its document are taken, where
            documents compete.
        reranker: of the second look, where ``retrieval.reranker`` asks for one.
        summaries: share of the budget that summaries may take when the question is as thematic
            as can be; 0 takes chunks only.
        candidates: nodes that each search of all documents finds.
        documents: documents that are then looked at whole.
    """

    lexical: float = Field(0.35, ge=0, le=1)
    neighbours: tuple[float, ...] = (0.7, 0.2)
    paragraph: float = Field(0.5, ge=0)
    document: float = Field(4.0, ge=0)
    diversity: float = Field(3.0, ge=0)
    reranker: float = Field(2.0, ge=0)
    summaries: float = Field(0.1, ge=0, le=1)
    candidates: int = Field(256, ge=1, le=10_000)
    documents: int = Field(4, ge=1, le=1000)


class RetrievalSettings(Part):
    """Defaults of a query.

    Attributes:
        strategy: "hybrid" scores chunks by vectors, words, neighbours and document, and packs
            whole paragraphs; "collapsed" searches all layers at once (by vectors,
            "collapsed-lexical" by BM25) and "traversal" walks down from the top, all as in the
            paper; "beam" walks down and returns chunks alone; "flat" (vectors) and "lexical"
            (BM25) search the chunks without the tree.
        budget_tokens: tokens of the context.
        top_k: nodes at the most, or per layer (traversal); 0 is what the budget holds, and 20 per
            layer.
        beam_width: summaries that "beam" keeps on each layer.
        max_per_document: chunks of one document at most, for "hybrid"; 0 is any number.
        reranker: a second look at the best that "hybrid" finds: "sentences" embeds the sentences of
            the best paragraphs with each question, which helps contexts of some 400 tokens;
            else a cross-encoder of sentence-transformers, such as
            "cross-encoder/ms-marco-MiniLM-L6-v2", or its folder; empty for none.
    """

    strategy: Strategy = "hybrid"
    budget_tokens: int = Field(2000, ge=1)
    top_k: int = Field(0, ge=0, le=1000)
    beam_width: int = Field(3, ge=1, le=1000)
    max_per_document: int = Field(0, ge=0)
    reranker: str = ""
