"""Settings of retrieval."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field

from raptor_core.settings.base import EndpointSettings, SettingsSection, setting

Strategy = Literal["hybrid", "collapsed", "collapsed-lexical", "traversal", "flat", "lexical"]
"""Name of a strategy; see ``raptor_core.retrieval.STRATEGIES``."""


class RerankerSettings(EndpointSettings):
    """Reranker, a model that sorts the best chunks again for questions about details."""

    purpose: ClassVar[str] = "reranker"

    kind: Literal["none", "cohere", "tei", "class"] = "none"
    """"cohere" (an endpoint with Cohere's API, which Jina, vLLM and others offer, too), "tei"
    (text-embeddings-inference), or "class" (the class ``factory``).
    """
    model: str = "BAAI/bge-reranker-v2-m3"
    """Name of the model at the endpoint or on the Hugging Face hub; "tei" ignores it."""
    base_url: str = "https://api.cohere.com/v2"
    """Address of the endpoint, to which ``/rerank`` is added."""
    api_key_env: str = "COHERE_API_KEY"
    """Environment variable with the key."""
    factory: str = Field(
        "raptor_core.models.reranking.cross_encoder:CrossEncoderReranker",
        pattern=r"^[\w.]+:[\w.]+$",
    )
    """Import path for "class", called with these settings; by default a cross-encoder of
    sentence-transformers.
    """
    candidates: int = Field(50, ge=1, le=1000)
    """Number of the best chunks that the reranker sorts."""
    deadline_seconds: float = Field(3.0, gt=0)
    """Seconds after which a search continues without the reranker."""
    timeout_seconds: float = Field(10.0, gt=0)
    """Seconds after which a call fails if the endpoint sends nothing."""
    max_retries: int = Field(0, ge=0, le=20)
    """Attempts after the first."""


class RetrievalSettings(SettingsSection):
    """Defaults of a query."""

    strategy: Strategy = setting("hybrid", is_common=True)
    """"hybrid" scores chunks by vectors, words, neighbours and document, and packs whole
    paragraphs. "collapsed" (vectors) and "collapsed-lexical" (BM25) search all layers at once,
    "traversal" descends from the top layer, as in the paper. "flat" (vectors) and "lexical" (BM25)
    search the chunks without the tree.
    """
    budget_tokens: int = setting(2000, ge=1, le=1_000_000, is_common=True)
    """Maximum tokens of the context."""
    top_k: int = Field(0, ge=0, le=1000)
    """Maximum number of nodes; in a traversal, for each layer. With 0, only the budget limits the
    number, and a traversal selects 20 nodes in each layer.
    """
    max_per_document: int = Field(0, ge=0, le=10_000)
    """Maximum number of chunks of one document in "hybrid"; 0 means no limit."""
    summary_share: float = Field(0.25, ge=0, le=1)
    """Maximum share of the budget for summaries in "collapsed" and "traversal", if the question is
    about a detail. With 1, searches work as in the paper.
    """
    reranker: RerankerSettings = RerankerSettings()
    """Reranker, as a table ``[retrieval.reranker]``."""


@dataclass(frozen=True, slots=True)
class HybridSettings:
    """Weights of the strategy "hybrid", set in Python only; docs/retrieval.md has the formula.

    Dense and lexical scores are standardized over a question's candidates, so that 1 is a standard
    deviation. Some weights apply only if several documents are searched, as noted.

    Attributes:
        lexical: weight of the lexical score; that of the dense score is 1 minus it.
        neighbours: weights of the better neighbouring chunk at distance 1, 2 and so on.
        document: weight of the document's three best chunks (several documents).
        diversity: deduction from a passage, times log(1 + n), if n passages of its document are
            already chosen (several documents).
        hop: weight of the rare names that a chunk shares with the best chunk, for the second hop
            (several short documents); 0 switches it off.
        named: bonus for chunks of a document that the question names, and deduction from documents
            of the same series but of another year (several long documents); 0 switches it off.
        candidates: number of nodes that each search of all documents returns.
        documents: number of best documents of which all chunks are scored.
    """

    lexical: float = 0.35
    neighbours: tuple[float, ...] = (0.7, 0.2)
    document: float = 4.0
    diversity: float = 3.0
    hop: float = 0.5
    named: float = 6.0
    candidates: int = 256
    documents: int = 4
