"""Comparison of retrieval systems on one data set, at equal token budgets.

The systems are in ``systems.py``, the measures in ``measures.py``, the tables in ``tables.py``.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import mean
from typing import Any

import numpy as np

from raptor_core.errors import SettingsError
from raptor_core.evaluation.bootstrap import Difference, Interval, mean_interval, paired_difference
from raptor_core.evaluation.golden_file import Question
from raptor_lab.comparison.contexts import Measurer, QuestionBatch, System
from raptor_lab.comparison.index import Index
from raptor_lab.comparison.measures import ContextMeasurer


@dataclass(frozen=True, slots=True)
class QuestionScore:
    """Scores of one question, by one system at one budget.

    ``n_nodes_by_layer`` counts the context's nodes, ``measures`` has only the measures that apply,
    ``answer`` is a model's answer from the context, if any, and ``context`` its text, if kept.
    """

    question: Question
    system: str
    budget_tokens: int
    n_tokens: int
    n_nodes_by_layer: Mapping[int, int]
    measures: Mapping[str, float]
    answer: str | None = None
    context: str = ""


@dataclass(frozen=True, slots=True)
class MeasuredMean:
    """Mean of a measure over the questions, and its difference from the first system, if any."""

    n_questions: int
    mean: Interval
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """Row of a comparison: a system at one budget, with the mean share of nodes by layer."""

    system: str
    budget_tokens: int
    mean_tokens: float
    figures: Mapping[str, MeasuredMean]
    layers: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Result of a comparison: its rows, the scores behind them, and what each measure means."""

    dataset: str
    pooled: bool
    measure_meanings: Mapping[str, str]
    scores: tuple[QuestionScore, ...]
    rows: tuple[ComparisonRow, ...]

    @classmethod
    def of(
        cls,
        dataset: str,
        pooled: bool,
        meanings: Mapping[str, str],
        scores: Sequence[QuestionScore],
    ) -> "Comparison":
        """Compute the rows from scores; systems and budgets keep the order they have there."""
        budgets = dict.fromkeys(item.budget_tokens for item in scores)
        systems = list(dict.fromkeys(item.system for item in scores))
        lines = tuple(_make_rows(scores, meanings, systems, list(budgets)))
        return cls(dataset, pooled, meanings, tuple(scores), lines)

    def recompute(self, scores: Sequence[QuestionScore]) -> "Comparison":
        """Compute the same comparison from other scores of its data set."""
        return Comparison.of(self.dataset, self.pooled, self.measure_meanings, scores)

    @property
    def measures(self) -> list[str]:
        """Names of the measures that apply, in the order of ``measure_meanings``."""
        applying = {name for line in self.rows for name in line.figures}
        return [name for name in self.measure_meanings if name in applying]

    @property
    def budgets(self) -> list[int]:
        """Token budgets, in order."""
        return list(dict.fromkeys(line.budget_tokens for line in self.rows))

    def rows_at_budget(self, budget_tokens: int) -> dict[str, ComparisonRow]:
        """Return the rows at one budget by system, in order."""
        return {line.system: line for line in self.rows if line.budget_tokens == budget_tokens}

    def to_json_values(self) -> dict[str, Any]:
        """Convert the rows to values for JSON, with the meaning of each measure."""
        return {
            "dataset": self.dataset,
            "pooled": self.pooled,
            "n_questions": len({item.question.id for item in self.scores}),
            "measures": {name: self.measure_meanings[name] for name in self.measures},
            "lines": [asdict(line) for line in self.rows],
        }


Progress = Callable[[str, int], None]
"""Function that is called before each system and budget, with both."""


def compare(
    index: Index,
    systems: Sequence[System],
    budgets: Sequence[int],
    *,
    pooled: bool = False,
    measurer: Measurer | None = None,
    progress: Progress | None = None,
    keep_contexts: bool = False,
) -> Comparison:
    """Retrieve a context for every question by every system at every budget, and measure it.

    The other systems are compared with the first. ``pooled`` asks every question about all
    documents instead of its own. Without a ``measurer``, contexts are measured without a reader.

    Raises:
        SettingsError: there is no system or no budget, or one of them is given twice.
    """
    names = [system.name for system in systems]
    for kind, values in (("strategy", names), ("budget", budgets)):
        if not values or len(set(values)) < len(values):
            raise SettingsError(f"expected each {kind} once, got {list(values) or 'none'}")
    measurer = measurer or ContextMeasurer.of(index.dataset, pooled=pooled)
    batches = list(_make_batches(index, pooled=pooled))
    scores: list[QuestionScore] = []
    for budget in budgets:
        for system in systems:
            if progress:
                progress(system.name, budget)
            found = _score_contexts(index, system, budget, batches, measurer)
            scores += found if keep_contexts else (replace(item, context="") for item in found)
    return Comparison.of(index.dataset.name, pooled, measurer.measure_meanings, scores)


def join_systems(first: Comparison, second: Comparison, suffix: str) -> Comparison:
    """Return ``first`` with the systems of ``second``, each named with a comma and ``suffix``.

    Both must have the same questions and budgets.
    """
    renamed = [replace(item, system=f"{item.system}, {suffix}") for item in second.scores]
    return first.recompute((*first.scores, *renamed))


def restrict_to_questions(comparison: Comparison, questions: Collection[str]) -> Comparison:
    """Restrict a comparison to the questions with these ids; the result may have no rows."""
    return comparison.recompute(
        [item for item in comparison.scores if item.question.id in questions]
    )


def split_by_kind(comparison: Comparison) -> dict[str, Comparison]:
    """Split a comparison by kind of question; a question of two kinds is in both."""
    kinds: dict[str, set[str]] = {}
    for item in comparison.scores:
        for kind in item.question.kinds:
            kinds.setdefault(kind, set()).add(item.question.id)
    return {kind: restrict_to_questions(comparison, kinds[kind]) for kind in sorted(kinds)}


def _make_batches(index: Index, *, pooled: bool) -> Iterator[QuestionBatch]:
    """Embed all questions at once, and group them by the documents that they are about."""
    questions = index.dataset.questions
    vectors = index.components.embedder.embed_queries([question.text for question in questions])
    rows: dict[str | None, list[int]] = {}
    for row, question in enumerate(questions):
        rows.setdefault(None if pooled else question.document, []).append(row)
    for places in rows.values():
        part = [questions[row] for row in places]
        yield QuestionBatch(
            part, vectors[np.array(places)], index.filter_of(part[0], pooled=pooled)
        )


def _score_contexts(
    index: Index, system: System, budget: int, batches: Sequence[QuestionBatch], measurer: Measurer
) -> Iterator[QuestionScore]:
    questions = [question for batch in batches for question in batch.questions]
    contexts = [text for batch in batches for text in system.make_contexts(index, batch, budget)]
    measured = measurer.measure(questions, contexts)
    for question, context, worth in zip(questions, contexts, measured, strict=True):
        layers = Counter(node.layer for node in context.nodes)
        figures = (context.n_tokens, layers, worth.values, worth.answer, context.text)
        yield QuestionScore(question, system.name, budget, *figures)


def _make_rows(
    scores: Sequence[QuestionScore],
    measures: Iterable[str],
    systems: Sequence[str],
    budgets: Sequence[int],
) -> Iterator[ComparisonRow]:
    by_row: dict[tuple[str, int], list[QuestionScore]] = {}
    for item in scores:
        by_row.setdefault((item.system, item.budget_tokens), []).append(item)
    for budget in budgets:
        first = by_row[systems[0], budget]
        for system in systems:
            items = by_row[system, budget]
            yield ComparisonRow(
                system=system,
                budget_tokens=budget,
                mean_tokens=mean(item.n_tokens for item in items),
                figures=compute_figures(items, measures, None if system == systems[0] else first),
                layers=_layer_shares(items),
            )


def compute_figures(
    items: Sequence[QuestionScore], measures: Iterable[str], first: Sequence[QuestionScore] | None
) -> dict[str, MeasuredMean]:
    """Compute the mean of each measure, and its paired difference from ``first``."""
    by_name = {}
    for name in measures:
        rows = [at for at, item in enumerate(items) if name in item.measures]
        values = [items[at].measures[name] for at in rows]
        documents = [items[at].question.bootstrap_unit for at in rows]
        difference = None
        if rows and first is not None:
            baseline = [first[at].measures[name] for at in rows]
            difference = paired_difference(values, baseline, documents)
        if rows:
            by_name[name] = MeasuredMean(len(rows), mean_interval(values, documents), difference)
    return by_name


def _layer_shares(items: Sequence[QuestionScore]) -> dict[int, float]:
    """Compute the mean share of nodes by layer, over the contexts that have nodes."""
    with_nodes = [item.n_nodes_by_layer for item in items if item.n_nodes_by_layer]
    layers = sorted({layer for counts in with_nodes for layer in counts})
    return {
        layer: mean(counts.get(layer, 0) / sum(counts.values()) for counts in with_nodes)
        for layer in layers
    }
