"""Subsets of layers (Tables 8 and 14 to 17), and where nodes come from (Tables 18 to 21)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raptor_core.evaluation.bootstrap import interval_text
from raptor_core.evaluation.compare import Comparison, Line, part
from raptor_core.evaluation.paper.published import LAYERS, SHARES
from raptor_core.evaluation.paper.study import Study, layers_name
from raptor_core.evaluation.paper.table import Table

SPREAD = ("collapsed", "collapsed-lexical", "collapsed-dpr", "traversal", "hybrid")
"""Strategies that take nodes of several layers."""

N_SINGLE = 5
"""Documents that have tables of their own, as in the paper."""


def layer_tables(studies: Sequence[Study]) -> list[Table]:
    """For each data set and budget start layer by number of layers; then the paper's.

    At the largest budget there are those of single documents, too.
    """
    measured = [study for study in studies if study.measure]
    tables = [table for study in measured for table in _of_all(study)]
    return [*tables, *(table for study in measured for table in _of_single(study)), *LAYERS]


def share_tables(studies: Sequence[Study]) -> list[Table]:
    """For each data set the shares of nodes by layer; then the paper's."""
    return [*map(_shares, studies), *SHARES]


def _of_all(study: Study) -> Iterator[Table]:
    for budget in dict.fromkeys(line.budget_tokens for line in study.layers.lines):
        title = f"{study.name}: {study.measure.replace('_', ' ')} at {budget:,} tokens"
        yield _subsets(study, study.layers, budget, title)


def _of_single(study: Study) -> Iterator[Table]:
    """The documents with the most questions that can be measured; none where there is but one."""
    budget = max(line.budget_tokens for line in study.layers.lines)
    asked: dict[str, set[str]] = {}
    for item in study.layers.found:
        if item.question.document and study.measure in item.measures:
            asked.setdefault(item.question.document, set()).add(item.question.id)
    most = sorted(asked.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    for document, questions in most[:N_SINGLE] if len(asked) > 1 else ():
        name = study.titles.get(document, document)
        title = f"{study.name}, {name}: {len(questions)} questions at {budget:,} tokens"
        yield _subsets(study, part(study.layers, questions), budget, title)


def _subsets(study: Study, layers: Comparison, budget: int, title: str) -> Table:
    lines = {line.system: line for line in layers.lines if line.budget_tokens == budget}
    alone = len({item.question.cluster for item in layers.found}) == 1  # has no interval
    starts = range(study.n_layers)
    rows = tuple(
        (str(queried), *(_cell(study, lines, start, queried, alone=alone) for start in starts))
        for queried in range(1, study.n_layers + 1)
    )
    return Table(
        title=title,
        head=("layers queried", *(f"start layer {start}" for start in starts)),
        rows=rows,
        note="A search over the layers from the start layer down, as of the collapsed tree.",
    )


def _cell(study: Study, lines: dict[str, Line], start: int, queried: int, *, alone: bool) -> str:
    line = lines.get(layers_name(start, queried)) if queried <= start + 1 else None
    figure = line.figures.get(study.measure) if line else None
    if figure is None:
        return ""
    return f"{figure.mean.value:.3f}" if alone else interval_text(figure.mean)


def _shares(study: Study) -> Table:
    layers = range(study.n_layers)
    lines = [line for line in study.retrievers.lines if line.system in SPREAD and line.layers]
    rows = tuple(
        (
            line.system,
            f"{line.budget_tokens:,}",
            *(_percent(line.layers.get(layer, 0.0)) for layer in layers),
            _percent(1 - line.layers.get(0, 0.0)),
        )
        for line in lines
    )
    return Table(
        title=f"{study.name}: nodes of a context by layer, in percent",
        head=("strategy", "tokens", *(f"layer {layer}" for layer in layers), "no leaves"),
        rows=rows,
        note="Mean over the questions. The paper finds 18 to 57 % that are no leaves.",
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
