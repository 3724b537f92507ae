"""What a query asks and what it gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from raptor_core.settings import RetrievalSettings
from raptor_core.store.base import Hit, VectorStore, Where
from raptor_core.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Query:
    """How to retrieve; the question itself goes beside it.

    Attributes:
        strategy: "collapsed" searches all layers at once, "traversal" walks down the tree.
        budget_tokens: tokens of the context; a node that does not fit is passed over.
        top_k: nodes at the most (collapsed), or per layer (traversal).
        where: filter on trees, documents, layers and metadata.
        start_layer: traversal only, the layer to start at; None is each tree's top.
        n_layers: traversal only, how many layers to walk; None is down to the leaves.
    """

    strategy: str = "collapsed"
    budget_tokens: int = 2000
    top_k: int = 20
    where: Where = field(default_factory=Where)
    start_layer: int | None = None
    n_layers: int | None = None

    @classmethod
    def from_settings(cls, settings: RetrievalSettings) -> Query:
        """The query that the settings describe."""
        return cls(settings.strategy, settings.budget_tokens, settings.top_k)


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Retrieved nodes in the strategy's order, and what they take.

    ``n_tokens`` never exceeds ``query.budget_tokens``. ``n_candidates`` nodes were considered,
    ``n_passed_over`` of them did not fit the budget.
    """

    question: str
    query: Query
    hits: tuple[Hit, ...]
    n_tokens: int
    n_candidates: int
    n_passed_over: int

    @property
    def context(self) -> str:
        """The texts of the hits in order, a blank line between."""
        return "\n\n".join(hit.node.text for hit in self.hits)


class Strategy(Protocol):
    """Chooses candidate nodes for questions; the budget is applied to them afterwards."""

    def candidates(self, vectors: Vectors, query: Query, store: VectorStore) -> list[list[Hit]]:
        """Candidates for each row of ``vectors``, shape ``(n_questions, n_dims)``, best first."""


def fit_budget(question: str, query: Query, candidates: Sequence[Hit], most: int) -> Retrieval:
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
