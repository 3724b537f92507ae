"""The collapsed tree by its budget against traversal by the nodes of a layer (Figure 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raptor_core.evaluation.bootstrap import interval_text
from raptor_core.evaluation.paper.study import Study
from raptor_core.evaluation.paper.table import Table

_NOTE = (
    "Traversal takes the same number of nodes on each layer and has no budget. The paper draws "
    "the F1 of answers on 20 papers of QASPER; there the collapsed tree is above traversal at "
    "every length, and best at 2,000 tokens."
)


def curve_tables(studies: Sequence[Study]) -> list[Table]:
    """A table for each data set that something can be measured on."""
    return [
        Table(
            f"{study.name}: {study.measure.replace('_', ' ')} by length of the context",
            ("strategy", "at the most", "tokens of a context", study.measure.replace("_", " ")),
            tuple(_rows(study)),
            _NOTE,
        )
        for study in studies
        if study.measure
    ]


def _rows(study: Study) -> Iterator[tuple[str, ...]]:
    for line in study.curve:
        strategy, _, top_k = line.system.partition(":")
        bound = f"{top_k} nodes of a layer" if top_k else f"{line.budget_tokens:,} tokens"
        figure = line.figures[study.measure]
        yield strategy, bound, f"{line.mean_tokens:,.0f}", interval_text(figure.mean)
