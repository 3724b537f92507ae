"""Ways from a question to a context: every strategy, on all layers or on some, and baselines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from raptor_core.errors import SettingsError
from raptor_core.evaluation.datasets.base import Question
from raptor_core.evaluation.forest import Forest
from raptor_core.nodes import Node
from raptor_core.retrieval import STRATEGIES, Query, Retrieval
from raptor_core.store.base import Where
from raptor_core.vectors import Vectors

FEWEST_TOKENS = 10
"""Nodes are taken to have at least this many tokens on average, so that a budget can be filled."""

WALKS = frozenset({"traversal"})
"""Strategies whose ``top_k`` is per layer, so that a large one would never leave the top."""

_NAME = re.compile(r"(?P<strategy>[^@]+)(?:@(?P<low>\d+)(?:-(?P<high>\d+))?)?")


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions that are asked of the same documents.

    Attributes:
        questions: at least one.
        vectors: of their texts, shape ``(len(questions), n_dims)``.
        where: what they are asked of.
    """

    questions: Sequence[Question]
    vectors: Vectors
    where: Where


@dataclass(frozen=True, slots=True)
class Context:
    """What a reader would be given.

    ``nodes`` are those that it was put together from, in order; a baseline may have none.
    """

    text: str
    n_tokens: int
    nodes: tuple[Node, ...] = ()

    @classmethod
    def of(cls, retrieval: Retrieval) -> Context:
        """The context that was retrieved."""
        nodes = tuple(hit.node for hit in retrieval.hits)
        return cls(retrieval.context, retrieval.n_tokens, nodes)


class Way(Protocol):
    """One system of a comparison."""

    @property
    def name(self) -> str:
        """As it is written on the command line."""

    def contexts(self, forest: Forest, asked: Asked, budget_tokens: int) -> list[Context]:
        """A context for each question, none over the budget."""


@dataclass(frozen=True, slots=True)
class StrategyWay:
    """A strategy of the retriever.

    Attributes:
        name: as it is written.
        strategy: its name in ``STRATEGIES``.
        layers: only these, lowest and highest; None for all. A traversal starts at the highest.
    """

    name: str
    strategy: str
    layers: tuple[int, int] | None = None

    def contexts(self, forest: Forest, asked: Asked, budget_tokens: int) -> list[Context]:
        """See ``Way.contexts``."""
        query = self._query(forest, asked.where, budget_tokens)
        texts = [question.text for question in asked.questions]
        found = forest.retriever.search_vectors(texts, asked.vectors, query)
        return list(map(Context.of, found))

    def _query(self, forest: Forest, where: Where, budget_tokens: int) -> Query:
        query = Query(self.strategy, budget_tokens, where=where)
        if self.strategy in WALKS:
            return self._walk(forest, query)
        layers = None if self.layers is None else tuple(range(self.layers[0], self.layers[1] + 1))
        top_k = max(20, budget_tokens // FEWEST_TOKENS)
        return replace(query, top_k=top_k, where=replace(where, layers=layers))

    def _walk(self, forest: Forest, query: Query) -> Query:
        """As many nodes per layer as fill the budget, the same number in each."""
        n_nodes = sum(sum(manifest.layer_sizes) for manifest in forest.manifests)
        n_tokens = sum(manifest.n_tokens for manifest in forest.manifests) / n_nodes
        highest = max(len(manifest.layer_sizes) for manifest in forest.manifests)
        n_layers = highest if self.layers is None else self.layers[1] - self.layers[0] + 1
        top_k = max(1, round(query.budget_tokens / (n_tokens * n_layers)))
        if self.layers is None:
            return replace(query, top_k=top_k)
        return replace(query, top_k=top_k, start_layer=self.layers[1], n_layers=n_layers)


def make_way(name: str) -> Way:
    """The way of a name: STRATEGY, STRATEGY@LAYER or STRATEGY@LOWEST-HIGHEST.

    Raises:
        SettingsError: nothing is called so.
    """
    found = _NAME.fullmatch(name)
    strategy = found["strategy"] if found else name
    if not found or strategy not in STRATEGIES:
        raise SettingsError(
            f"no strategy is called {name!r}; there are: {', '.join(STRATEGIES)}, each with or "
            "without layers, such as collapsed@0 or collapsed@1-2"
        )
    if found["low"] is None:
        return StrategyWay(name, strategy)
    low, high = int(found["low"]), int(found["high"] or found["low"])
    if low > high:
        raise SettingsError(f"{name!r} names no layer: write the lowest first, @{high}-{low}")
    return StrategyWay(name, strategy, (low, high))
