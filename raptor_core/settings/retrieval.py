"""Settings of retrieval."""

from typing import ClassVar, Literal

from pydantic import Field

from raptor_core.settings.base import EndpointPart, Part, setting

Strategy = Literal["hybrid", "collapsed", "collapsed-lexical", "traversal", "flat", "lexical"]
"""Name of a strategy; see ``raptor_core.retrieval.STRATEGIES``."""


class RerankerSettings(EndpointPart):
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


class RetrievalSettings(Part):
    """Defaults of a query."""

    strategy: Strategy = setting("hybrid", is_common=True)
    """"hybrid" scores chunks by vectors, words, neighbours and document, and packs whole
    paragraphs. "collapsed" (vectors) and "collapsed-lexical" (BM25) search all layers at once,
    "traversal" walks down from the top, as in the paper. "flat" (vectors) and "lexical" (BM25)
    search the chunks without the tree.
    """
    budget_tokens: int = setting(2000, ge=1, le=1_000_000, is_common=True)
    """Maximum tokens of the context."""
    top_k: int = Field(0, ge=0, le=1000)
    """Maximum number of nodes, in a traversal for each layer. 0 is limited by the budget only, and
    is 20 in a traversal.
    """
    max_per_document: int = Field(0, ge=0, le=10_000)
    """Maximum number of chunks of one document in "hybrid"; 0 is no limit."""
    reranker: RerankerSettings = RerankerSettings()
    """Reranker, as a table ``[retrieval.reranker]``."""
