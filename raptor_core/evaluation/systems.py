"""Systems from a question to a context: every strategy, on all layers or on some; and by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from raptor_core.errors import SettingsError
from raptor_core.evaluation.baselines import Beginning, Dpr, ParagraphFusion
from raptor_core.evaluation.contexts import Asked, Context, System
from raptor_core.evaluation.index import Index
from raptor_core.retrieval import STRATEGIES, Query
from raptor_core.store.base import Where

DPR = ("dpr", "collapsed-dpr")
"""Systems of two encoders."""

ROOT = "root"
"""The system that searches the top layer of each tree alone."""

_NAME = re.compile(
    r"(?P<strategy>[^@:]+)(?:@(?P<low>\d+)(?:-(?P<high>\d+))?)?(?::(?P<top_k>[1-9]\d*))?"
)


@dataclass(frozen=True, slots=True)
class StrategySystem:
    """A strategy of the retriever, with the weights and the beam of the index's settings.

    Attributes:
        name: as it is written.
        strategy: its name in ``STRATEGIES``.
        layers: only these, from the lowest up; None for all. A traversal starts at the highest.
        top_k: nodes at the most, in a traversal on each layer; None is what fills the budget.
    """

    name: str
    strategy: str
    layers: tuple[int, ...] | None = None
    top_k: int | None = None

    def contexts(self, index: Index, asked: Asked, budget_tokens: int) -> list[Context]:
        """See ``System.contexts``."""
        query = self._query(index, asked.where, budget_tokens)
        texts = [question.text for question in asked.questions]
        retrieved = index.retriever.search_vectors(texts, asked.vectors, query)
        return list(map(Context.of, retrieved))

    def _query(self, index: Index, where: Where, budget_tokens: int) -> Query:
        query = replace(
            Query.from_settings(index.components.settings),
            strategy=self.strategy,
            budget_tokens=budget_tokens,
            top_k=self.top_k,
            where=where,
        )
        if self.strategy == "traversal":  # its ``top_k`` is of each layer
            return self._walk(index, query)
        return replace(query, where=replace(where, layers=self.layers))

    def _walk(self, index: Index, query: Query) -> Query:
        """The same number of nodes in each layer: ``top_k``, or as many as fill the budget."""
        if self.name == ROOT:
            return replace(query, top_k=index.n_nodes, n_layers=1)
        n_layers = len(self.layers) if self.layers else index.n_layers
        fill = max(1, round(query.budget_tokens / (index.mean_tokens * n_layers)))
        walk = replace(query, top_k=self.top_k or fill)
        if self.layers is None:
            return walk
        return replace(walk, start_layer=self.layers[-1], n_layers=n_layers)


BASELINES: Mapping[str, System] = {
    system.name: system
    for system in (
        StrategySystem(ROOT, "traversal"),
        Beginning("title-abstract", is_abstract=True),
        Beginning("document"),
        ParagraphFusion(),
    )
}
"""Systems that are no strategy, by name; those of ``DPR`` are others, which need models."""


def make_system(name: str, dpr: Dpr | None = None) -> System:
    """The system of a name: a baseline, or a strategy with or without layers and nodes at the most.

    Raises:
        SettingsError: nothing is called so, or its models are not named.
    """
    if name in BASELINES:
        return BASELINES[name]
    if name in DPR:
        if dpr is None:
            raise SettingsError(
                f"{name} has two encoders; name a question encoder and a passage encoder with "
                "--dpr QUESTION_MODEL PASSAGE_MODEL"
            )
        return replace(dpr, name=name)
    parts = _NAME.fullmatch(name)
    strategy = parts["strategy"] if parts else name
    if not parts or strategy not in STRATEGIES:
        others = ", ".join((*BASELINES, *DPR))
        raise SettingsError(
            f"no strategy is called {name!r}; there are: {', '.join(STRATEGIES)}, each with or "
            f"without layers and nodes at the most, such as collapsed@0, collapsed@1-2 or "
            f"traversal:5; and {others}"
        )
    top_k = int(parts["top_k"]) if parts["top_k"] else None
    if parts["low"] is None:
        return StrategySystem(name, strategy, None, top_k)
    low, high = int(parts["low"]), int(parts["high"] or parts["low"])
    if low > high:
        raise SettingsError(f"{name!r} names no layer: write the lowest first, @{high}-{low}")
    return StrategySystem(name, strategy, tuple(range(low, high + 1)), top_k)
