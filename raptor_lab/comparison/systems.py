"""Systems of a comparison: every retrieval strategy, on all layers or on some.

Systems that are not strategies are in ``raptor_lab.baselines``, measures in ``measures.py``.
"""

import re
from dataclasses import dataclass, replace

from raptor_core.errors import SettingsError
from raptor_core.retrieval import STRATEGIES, Query
from raptor_core.retrieval.base import sort_by_document
from raptor_core.store.base import Where
from raptor_lab.baselines import BASELINES, make_baseline
from raptor_lab.comparison.contexts import Context, QuestionBatch, System
from raptor_lab.comparison.index import Index
from raptor_lab.dpr import DPR, ENCODERS, DprSystem

ROOT = "root"
"""System that searches only the top layer of each tree."""
IN_ORDER = "flat-in-order"
"""System that puts the chunks of ``flat`` in document order."""

_NAME = re.compile(
    r"(?P<strategy>[^@:]+)(?:@(?P<low>\d+)(?:-(?P<high>\d+))?)?(?::(?P<top_k>[1-9]\d*))?"
)


@dataclass(frozen=True, slots=True)
class StrategySystem:
    """System that uses a strategy of the retriever, with the weights of the index's settings.

    ``collapsed`` and ``traversal`` have their form in the paper.

    Attributes:
        layers: layers to search, ascending; None for all. A traversal starts at the highest.
        top_k: maximum nodes, for a traversal on each layer; None for as many as fill the budget.
    """

    name: str
    strategy: str
    layers: tuple[int, ...] | None = None
    top_k: int | None = None

    def make_contexts(
        self, index: Index, batch: QuestionBatch, budget_tokens: int
    ) -> list[Context]:
        """See ``System.make_contexts``."""
        query = self._make_query(index, batch.where, budget_tokens)
        texts = [question.text for question in batch.questions]
        return list(map(Context.of, index.retriever.search_vectors(texts, batch.vectors, query)))

    def _make_query(self, index: Index, where: Where, budget_tokens: int) -> Query:
        query = replace(
            Query.from_settings(index.components.settings),
            strategy=self.strategy,
            budget_tokens=budget_tokens,
            top_k=self.top_k,
            where=where,
            summary_share=1.0,
        )
        if self.strategy == "traversal":  # its ``top_k`` is for each layer
            return self._set_nodes_per_layer(index, query)
        return replace(query, where=replace(where, layers=self.layers))

    def _set_nodes_per_layer(self, index: Index, query: Query) -> Query:
        """Give each layer the same number of nodes: ``top_k``, or as many as fill the budget."""
        if self.name == ROOT:
            return replace(query, top_k=index.n_nodes, n_layers=1)
        n_layers = len(self.layers) if self.layers else index.n_layers
        fill = max(1, round(query.budget_tokens / (index.mean_tokens * n_layers)))
        walk = replace(query, top_k=self.top_k or fill)
        if self.layers is None:
            return walk
        return replace(walk, start_layer=self.layers[-1], n_layers=n_layers)


@dataclass(frozen=True, slots=True)
class DocumentOrderSystem:
    """System that puts the best chunks by vectors in document order instead of best first."""

    name: str = IN_ORDER

    def make_contexts(
        self, index: Index, batch: QuestionBatch, budget_tokens: int
    ) -> list[Context]:
        """See ``System.make_contexts``."""
        query = Query("flat", budget_tokens, where=batch.where)
        texts = [question.text for question in batch.questions]
        found = index.retriever.search_vectors(texts, batch.vectors, query)
        return [
            Context.of(replace(each, hits=tuple(sort_by_document(each.hits)))) for each in found
        ]


def make_system(name: str, encoders: tuple[str, str] = ENCODERS) -> System:
    """Make a system by name: a baseline, or a strategy, optionally with layers and top k.

    ``encoders`` are the models of questions and passages for the systems in ``DPR``.

    Raises:
        SettingsError: no system has this name.
    """
    if name == ROOT:
        return StrategySystem(ROOT, "traversal")
    if name in BASELINES:
        return make_baseline(name)
    if name in DPR:
        return DprSystem(name, *encoders)
    if name == IN_ORDER:
        return DocumentOrderSystem()
    parts = _NAME.fullmatch(name)
    strategy = parts["strategy"] if parts else name
    if not parts or strategy not in STRATEGIES:
        systems = ", ".join((ROOT, IN_ORDER, *BASELINES, *DPR))
        raise SettingsError(
            f"no strategy is called {name!r}; there are: {', '.join(STRATEGIES)}, each with or "
            f"without layers and nodes at the most, such as collapsed@0, collapsed@1-2 or "
            f"traversal:5; and {systems}"
        )
    top_k = int(parts["top_k"]) if parts["top_k"] else None
    if parts["low"] is None:
        return StrategySystem(name, strategy, None, top_k)
    low, high = int(parts["low"]), int(parts["high"] or parts["low"])
    if low > high:
        raise SettingsError(f"{name!r} contains no layer: write the lowest first, @{high}-{low}")
    return StrategySystem(name, strategy, tuple(range(low, high + 1)), top_k)
