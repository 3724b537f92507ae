"""What a query asks and what it gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, Protocol

from raptor_core.models.embedding.base import Embedder
from raptor_core.nodes import Node
from raptor_core.settings import HybridSettings, Settings
from raptor_core.store.base import Hit, Where
from raptor_core.store.protocols import Searcher
from raptor_core.vectors import Vectors

LAYER_TOP_K = 20
"""Nodes that a walk keeps of each layer where ``top_k`` is not given."""

SHORT_NODE_TOKENS = 32
"""A node has seldom fewer: so many candidates as there would be of them are asked for at first."""

SPARE = 2
"""Candidates for each node asked for, so that one that does not fit can be replaced."""

DEEPEST = 1000
"""Candidates among which none fits, after which a search for one that does ends."""


@dataclass(frozen=True, slots=True)
class Query:
    """How to retrieve; the question itself goes beside it.

    Attributes:
        strategy: a name in ``STRATEGIES``.
        budget_tokens: tokens of the context; a node that does not fit is passed over.
        top_k: nodes at the most, or per layer (traversal); None is what the budget holds, and 20
            per layer.
        where: filter on trees, documents, layers and metadata.
        start_layer: traversal and beam, the layer to start at; None is each tree's top.
        n_layers: traversal only, how many layers to walk; None is down to the leaves.
        threshold: traversal only, take on each layer the nodes of at least this cosine, and not
            the best ``top_k``; None takes those.
        beam_width: beam only, summaries that are kept on each layer.
        max_per_document: hybrid only, chunks of one document at most; None is any number.
        reranker: hybrid only, name of a cross-encoder, or "sentences"; empty for none.
        hybrid: hybrid only, the weights of its signals.
        scope: of a home, "corpus" looks first in the corpus tree, for the trees to search.
    """

    strategy: str = "hybrid"
    budget_tokens: int = 2000
    top_k: int | None = None
    where: Where = field(default_factory=Where)
    start_layer: int | None = None
    n_layers: int | None = None
    threshold: float | None = None
    beam_width: int = 3
    max_per_document: int | None = None
    reranker: str = ""
    hybrid: HybridSettings = field(default_factory=HybridSettings)
    scope: Literal["trees", "corpus"] = "trees"

    @property
    def limit(self) -> int:
        """``top_k``, or 20 per layer."""
        return self.top_k or LAYER_TOP_K

    @classmethod
    def from_settings(cls, settings: Settings) -> Query:
        """The query that the settings describe."""
        given = settings.retrieval
        return cls(
            strategy=given.strategy,
            budget_tokens=given.budget_tokens,
            top_k=given.top_k or None,
            beam_width=given.beam_width,
            max_per_document=given.max_per_document or None,
            reranker=given.reranker,
            hybrid=settings.hybrid,
        )


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions and their vectors, row for row, shape ``(len(texts), n_dims)``.

    ``embedder`` made them; None where the strategy needs no more of it.
    """

    texts: tuple[str, ...]
    vectors: Vectors
    embedder: Embedder | None = None

    def one(self, row: int) -> Questions:
        """One of them."""
        return Questions(self.texts[row : row + 1], self.vectors[row : row + 1], self.embedder)


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Retrieved nodes in the strategy's order, and what they take.

    ``n_tokens`` never exceeds ``query.budget_tokens``. ``n_candidates`` nodes were considered,
    ``n_passed_over`` of them did not fit the budget. ``n_paragraphs`` whole paragraphs are in it;
    what it holds besides are summaries, and chunks where paragraphs were not asked for, not known,
    or over the budget.
    """

    question: str
    query: Query
    hits: tuple[Hit, ...]
    n_tokens: int
    n_candidates: int
    n_passed_over: int
    n_paragraphs: int = 0

    def __repr__(self) -> str:
        spent = f"{self.n_tokens} of {self.query.budget_tokens} tokens"
        return f"<Retrieval {self.question!r}: {len(self.hits)} hits, {spent}>"

    @property
    def context(self) -> str:
        """The texts of the hits in order, a blank line between, or a line's end in a paragraph."""
        nodes = [hit.node for hit in self.hits]
        gaps = ["", *("\n" if goes_on(*pair) else "\n\n" for pair in pairwise(nodes))]
        return "".join(gap + node.text for gap, node in zip(gaps, nodes, strict=False))

    @property
    def ranked(self) -> list[Hit]:
        """The hits by score, best first; those of equal score in their order."""
        return sorted(self.hits, key=lambda hit: -hit.score)


def goes_on(node: Node, following: Node) -> bool:
    """Whether a chunk begins in the paragraph in which the one before it in the text ends."""
    if not node.paragraphs or not following.paragraphs or node.documents != following.documents:
        return False
    at = following.position - node.position
    return at == 1 and node.paragraphs[-1][0] == following.paragraphs[0][0]


class Strategy(Protocol):
    """A way from questions to the nodes of their contexts."""

    def retrieve(self, questions: Questions, query: Query, store: Searcher) -> list[Retrieval]:
        """One retrieval for each question, in order."""


def fit_budget(
    question: str, query: Query, candidates: Sequence[Hit], most: int | None = None
) -> Retrieval:
    """Take candidates in order while they fit the token budget, at most ``most`` of them."""
    taken: list[Hit] = []
    spent = passed_over = 0
    for hit in candidates:
        if len(taken) == most:
            break
        if spent + hit.node.n_tokens > query.budget_tokens:
            passed_over += 1
            continue
        taken.append(hit)
        spent += hit.node.n_tokens
    return Retrieval(question, query, tuple(taken), spent, len(candidates), passed_over)


def fit_budgets(
    questions: Questions,
    query: Query,
    candidates: Sequence[Sequence[Hit]],
    most: int | None = None,
) -> list[Retrieval]:
    """``fit_budget`` for each question."""
    pairs = zip(questions.texts, candidates, strict=True)
    return [fit_budget(question, query, hits, most) for question, hits in pairs]


def fill_budgets(
    questions: Questions, query: Query, search: Callable[[int], Sequence[Sequence[Hit]]]
) -> list[Retrieval]:
    """What ``search`` finds: ``top_k`` nodes at the most, or as many as fill the budget.

    Args:
        search: gives candidates for each question, best first, at most as many as it is given.
    """
    most = max(LAYER_TOP_K, query.budget_tokens // SHORT_NODE_TOKENS)
    if query.top_k:
        most = query.top_k * SPARE
    ended: dict[int, Retrieval] = {}
    while len(ended) < len(questions.texts):
        found = fit_budgets(questions, query, search(most), query.top_k)
        # One that ended stays as it is: what is asked beside it changes nothing.
        now = ((row, one) for row, one in enumerate(found) if _is_ended(one, most))
        ended = {**dict(now), **ended}
        most *= 4
    return [ended[row] for row in range(len(questions.texts))]


def _is_ended(found: Retrieval, most: int) -> bool:
    """Whether to search for more than ``most`` candidates is of no use.

    What was passed over shows that the budget ended a context, not the search; unless nothing is
    in it, because the nearest nodes are all too long for a small budget.
    """
    if found.n_candidates < most:
        return True
    if not found.hits:
        return most >= DEEPEST
    return bool(found.query.top_k or found.n_passed_over)
