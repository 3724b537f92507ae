"""Another preset beside a comparison: its own strategy over trees of its own."""

from __future__ import annotations

from dataclasses import replace

from raptor_core.evaluation.compare import Comparison, Progress, compare, join
from raptor_core.evaluation.index import Index
from raptor_core.evaluation.systems import make_system


def compare_preset(
    first: Comparison, name: str, index: Index, progress: Progress | None = None
) -> Comparison:
    """The comparison with one more system, called ``name``: what the settings of a index ask by.

    Chunks, clusters and summaries may differ from those of ``first``; questions, budgets and
    measures are the same, so that differences are paired.

    Args:
        first: a comparison on the same data set.
        name: of the system.
        index: trees by other settings, whose tokens are counted as those of ``first``.
        progress: told of each budget.

    Raises:
        ValueError: ``first`` has a system of this name, or is of another data set.
    """
    budgets = list(dict.fromkeys(line.budget_tokens for line in first.lines))
    system = make_system(index.components.settings.retrieval.strategy)
    comparison = compare(index, [system], budgets, pooled=first.pooled, progress=progress)
    return join(first, [replace(item, system=name) for item in comparison.found])
