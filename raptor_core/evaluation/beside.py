"""Another preset beside a comparison: its own strategy over trees of its own."""

from __future__ import annotations

from dataclasses import replace

from raptor_core.evaluation.compare import Comparison, Progress, compare, join
from raptor_core.evaluation.forest import Forest
from raptor_core.evaluation.ways import make_way


def compare_beside(
    first: Comparison, name: str, forest: Forest, progress: Progress | None = None
) -> Comparison:
    """The comparison with one more way, called ``name``: what the settings of a forest ask by.

    Chunks, clusters and summaries may differ from those of ``first``; questions, budgets and
    measures are the same, so that differences are paired.

    Args:
        first: a comparison on the same data set.
        name: of the way.
        forest: trees by other settings, whose tokens are counted as those of ``first``.
        progress: told of each budget.

    Raises:
        ValueError: ``first`` has a way of this name, or is of another data set.
    """
    budgets = list(dict.fromkeys(line.budget_tokens for line in first.lines))
    way = make_way(forest.tools.settings.retrieval.strategy)
    found = compare(forest, [way], budgets, pooled=first.pooled, progress=progress)
    return join(first, [replace(item, way=name) for item in found.found])
