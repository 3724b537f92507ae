"""Settings of retrieval."""

from typing import ClassVar, Literal

from pydantic import Field

from raptor_core.settings.base import EndpointPart, Part, setting

Strategy = Literal["hybrid", "collapsed", "collapsed-lexical", "traversal", "flat", "lexical"]
"""Name of a strategy; see ``raptor_core.retrieval.STRATEGIES``."""


class RerankerSettings(EndpointPart):
    """Reranker, a model that orders the best chunks of a question about a detail anew."""

    purpose: ClassVar[str] = "reranker"

    kind: Literal["none", "cohere", "tei", "class"] = "none"
    """"cohere" (an endpoint in the shape of Cohere's API, as Jina, vLLM and others have it), "tei"
    (text-embeddings-inference), or "class" (a class by its import path, ``factory``).
    """
    model: str = "BAAI/bge-reranker-v2-m3"
    """Name of the model at the endpoint, or of a hub; "tei" has only one."""
    base_url: str = "https://api.cohere.com/v2"
    """Address of the endpoint, to which ``/rerank`` is added."""
    api_key_env: str = "COHERE_API_KEY"
    """Environment variable that holds the key."""
    factory: str = Field(
        "raptor_core.models.reranking.cross_encoder:CrossEncoderReranker",
        pattern=r"^[\w.]+:[\w.]+$",
    )
    """Class or function of "class", called with these settings; by default a cross-encoder of
    sentence-transformers.
    """
    candidates: int = Field(50, ge=1, le=1000)
    """Best chunks that the reranker orders anew."""
    deadline_seconds: float = Field(3.0, gt=0)
    """Seconds after which a search goes on without the reranker."""
    timeout_seconds: float = Field(10.0, gt=0)
    """Longest silence of the endpoint, in seconds."""
    max_retries: int = Field(0, ge=0, le=20)
    """Attempts after the first."""


class RetrievalSettings(Part):
    """Defaults of a query."""

    strategy: Strategy = setting("hybrid", is_common=True)
    """"hybrid" scores chunks by vectors, words, neighbours and document, and packs whole
    paragraphs; "collapsed" searches all layers at once (by vectors, "collapsed-lexical" by BM25)
    and "traversal" walks down from the top, all as in the paper; "flat" (vectors) and "lexical"
    (BM25) search the chunks without the tree.
    """
    budget_tokens: int = setting(2000, ge=1, le=1_000_000, is_common=True)
    """Most tokens of the context."""
    top_k: int = Field(0, ge=0, le=1000)
    """Most nodes, of each layer in a traversal; 0 is what the budget holds, and 20 for each layer
    of a traversal.
    """
    max_per_document: int = Field(0, ge=0, le=10_000)
    """Most chunks of one document in "hybrid"; 0 is any number."""
    reranker: RerankerSettings = RerankerSettings()
    """Reranker, a ``[retrieval.reranker]``."""
