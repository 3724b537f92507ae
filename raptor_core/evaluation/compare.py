"""Systems to retrieve, side by side on one data set, at equal token budgets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import mean
from typing import Any

import numpy as np

from raptor_core.errors import SettingsError
from raptor_core.evaluation.bootstrap import Difference, Interval, mean_interval, paired_difference
from raptor_core.evaluation.contexts import Asked, Measurer, System
from raptor_core.evaluation.datasets.base import Question
from raptor_core.evaluation.index import Index
from raptor_core.evaluation.measures import ContextMeasurer
from raptor_core.evaluation.systems import make_system


@dataclass(frozen=True, slots=True)
class Answered:
    """One question, one system, one budget.

    ``layers`` counts the context's nodes by layer; ``measures`` are those that apply; ``answer``
    is what a reader made of it.
    """

    question: Question
    system: str
    budget_tokens: int
    n_tokens: int
    layers: Mapping[int, int]
    measures: Mapping[str, float]
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A measure's mean over the questions that it applies to.

    ``difference`` is to the first system of the comparison; None for that one itself.
    """

    n_questions: int
    mean: Interval
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class Line:
    """One system at one budget: figures by measure, and the mean share of nodes by layer."""

    system: str
    budget_tokens: int
    mean_tokens: float
    figures: Mapping[str, Figure]
    layers: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Comparison:
    """All lines, budget by budget, and what they were computed from.

    ``meanings`` are the measures that may apply, in the order of tables, and what each means.
    """

    dataset: str
    pooled: bool
    meanings: Mapping[str, str]
    found: tuple[Answered, ...]
    lines: tuple[Line, ...]

    @classmethod
    def of(
        cls, dataset: str, pooled: bool, meanings: Mapping[str, str], found: Sequence[Answered]
    ) -> Comparison:
        """Make the lines; systems and budgets keep their order in ``found``."""
        budgets = dict.fromkeys(item.budget_tokens for item in found)
        systems = list(dict.fromkeys(item.system for item in found))
        lines = tuple(_lines(found, meanings, systems, list(budgets)))
        return cls(dataset, pooled, meanings, tuple(found), lines)

    def over(self, found: Sequence[Answered]) -> Comparison:
        """Return a comparison of the same data set and measures over other items."""
        return Comparison.of(self.dataset, self.pooled, self.meanings, found)

    @property
    def measures(self) -> list[str]:
        """Names of the measures that apply, in the order of ``meanings``."""
        applying = {name for line in self.lines for name in line.figures}
        return [name for name in self.meanings if name in applying]

    @property
    def budgets(self) -> list[int]:
        """Each once, in order."""
        return list(dict.fromkeys(line.budget_tokens for line in self.lines))

    def at(self, budget_tokens: int) -> dict[str, Line]:
        """The lines at one budget, by system, in order."""
        return {line.system: line for line in self.lines if line.budget_tokens == budget_tokens}

    def values(self) -> dict[str, Any]:
        """The lines as plain values, and the meaning of each measure."""
        return {
            "dataset": self.dataset,
            "pooled": self.pooled,
            "n_questions": len({item.question.id for item in self.found}),
            "measures": {name: self.meanings[name] for name in self.measures},
            "lines": [asdict(line) for line in self.lines],
        }


Progress = Callable[[str, int], None]
"""Called before each system and budget."""


def compare(
    index: Index,
    systems: Sequence[System],
    budgets: Sequence[int],
    *,
    pooled: bool = False,
    measurer: Measurer | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Retrieve for every question, by every system, at every budget, and measure.

    The first system is what the others are compared with. ``pooled`` asks every question of all
    documents, without naming its own. ``measurer`` is None to measure contexts without a reader.

    Raises:
        SettingsError: there is no system or no budget, or one of them twice.
    """
    names = [system.name for system in systems]
    for what, given in (("strategy", names), ("budget", budgets)):
        if not given or len(set(given)) < len(given):
            raise SettingsError(f"expected each {what} once, got {list(given) or 'none'}")
    measurer = measurer or ContextMeasurer.of(index, pooled=pooled)
    parts = list(_asked(index, pooled=pooled))
    answered: list[Answered] = []
    for budget in budgets:
        for system in systems:
            if progress:
                progress(system.name, budget)
            answered += _found(index, system, budget, parts, measurer)
    return Comparison.of(index.dataset.name, pooled, measurer.meanings, answered)


def join(first: Comparison, answered: Sequence[Answered]) -> Comparison:
    """A comparison with further systems, measured on the same questions in their order.

    Raises:
        ValueError: a system is in both, or lacks a question or a budget.
    """
    known, systems = (dict.fromkeys(i.system for i in items) for items in (first.found, answered))
    asked = [item.question.id for item in first.found if item.system == first.found[0].system]
    for system in systems:
        if [item.question.id for item in answered if item.system == system] != asked:
            raise ValueError(
                f"{system!r} is not measured on the questions and budgets of the others"
            )
    if known.keys() & systems.keys():
        raise ValueError(f"expected each system once, got {[*known]} and {[*systems]}")
    return first.over((*first.found, *answered))


def suffixed(comparison: Comparison, suffix: str) -> Comparison:
    """The same comparison, each system's name with a comma and ``suffix`` after it."""
    renamed = [replace(item, system=f"{item.system}, {suffix}") for item in comparison.found]
    return comparison.over(renamed)


def part(comparison: Comparison, questions: Collection[str]) -> Comparison:
    """The same comparison over some of its questions, by id; without lines where it has none."""
    kept = [item for item in comparison.found if item.question.id in questions]
    return comparison.over(kept)


def by_kind(comparison: Comparison) -> dict[str, Comparison]:
    """The comparison over the questions of each kind; a question of two kinds is in both."""
    kinds: dict[str, set[str]] = {}
    for item in comparison.found:
        for kind in item.question.kinds:
            kinds.setdefault(kind, set()).add(item.question.id)
    return {kind: part(comparison, kinds[kind]) for kind in sorted(kinds)}


def _asked(index: Index, *, pooled: bool) -> Iterator[Asked]:
    """Questions by what they are asked of, all embedded at once."""
    questions = index.dataset.questions
    vectors = index.components.embedder.embed_queries([question.text for question in questions])
    rows: dict[str | None, list[int]] = {}
    for row, question in enumerate(questions):
        rows.setdefault(None if pooled else question.document, []).append(row)
    for places in rows.values():
        part = [questions[row] for row in places]
        yield Asked(part, vectors[np.array(places)], index.where(part[0], pooled=pooled))


def _found(
    index: Index, system: System, budget: int, parts: Sequence[Asked], measurer: Measurer
) -> Iterator[Answered]:
    questions = [question for asked in parts for question in asked.questions]
    contexts = [one for asked in parts for one in system.contexts(index, asked, budget)]
    measured = measurer.measure(questions, contexts)
    for question, context, worth in zip(questions, contexts, measured, strict=True):
        layers = Counter(node.layer for node in context.nodes)
        yield Answered(
            question, system.name, budget, context.n_tokens, layers, worth.values, worth.answer
        )


def _lines(
    answered: Sequence[Answered],
    measures: Iterable[str],
    systems: Sequence[str],
    budgets: Sequence[int],
) -> Iterator[Line]:
    by_line: dict[tuple[str, int], list[Answered]] = {}
    for item in answered:
        by_line.setdefault((item.system, item.budget_tokens), []).append(item)
    for budget in budgets:
        first = by_line[systems[0], budget]
        for system in systems:
            items = by_line[system, budget]
            yield Line(
                system=system,
                budget_tokens=budget,
                mean_tokens=mean(item.n_tokens for item in items),
                figures=figures(items, measures, None if system == systems[0] else first),
                layers=_layer_shares(items),
            )


def figures(
    items: Sequence[Answered], measures: Iterable[str], first: Sequence[Answered] | None
) -> dict[str, Figure]:
    """Compute the means of the measures, and their differences to ``first``.

    ``first`` holds the same questions in the same order.
    """
    by_name = {}
    for name in measures:
        rows = [at for at, item in enumerate(items) if name in item.measures]
        values = [items[at].measures[name] for at in rows]
        documents = [items[at].question.cluster for at in rows]
        difference = None
        if rows and first is not None:
            others = [first[at].measures[name] for at in rows]
            difference = paired_difference(values, others, documents)
        if rows:
            by_name[name] = Figure(len(rows), mean_interval(values, documents), difference)
    return by_name


def _layer_shares(items: Sequence[Answered]) -> dict[int, float]:
    """Mean over the contexts that have nodes."""
    with_nodes = [item.layers for item in items if item.layers]
    layers = sorted({layer for counts in with_nodes for layer in counts})
    return {
        layer: mean(counts.get(layer, 0) / sum(counts.values()) for counts in with_nodes)
        for layer in layers
    }


def compare_preset(first: Comparison, name: str, index: Index) -> Comparison:
    """The comparison with one more system, called ``name``: what the settings of an index ask by.

    Chunks, clusters and summaries may differ from those of ``first``; data set, questions, budgets,
    measures and the counter of tokens are the same, so that differences are paired.

    Raises:
        ValueError: ``first`` has a system of this name, or is of another data set.
    """
    system = make_system(index.components.settings.retrieval.strategy)
    comparison = compare(index, [system], first.budgets, pooled=first.pooled)
    return join(first, [replace(item, system=name) for item in comparison.found])
