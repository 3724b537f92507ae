"""Evaluations as assets, one for each data set that the settings name.

They stand beside the chain: trees over a data set's own documents, in the cache of evaluations,
and nothing of what is published. No build makes them; they have a job of their own.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import dagster as dg

from raptor_assets import keys
from raptor_assets.check_history import past_values
from raptor_assets.evaluations import check_result
from raptor_assets.process import process_tags, run_spending_tags
from raptor_assets.specs import OWNERS
from raptor_assets.tables_markdown import Markdown, markdown_table
from raptor_core.evaluation.compare import Comparison, Line, compare
from raptor_core.evaluation.datasets import Dataset
from raptor_core.evaluation.forest import Forest, open_forest
from raptor_core.evaluation.standing import BASELINE, DEFAULT_STRATEGY, evaluate_standing
from raptor_core.evaluation.told import told_interval
from raptor_core.evaluation.ways import make_way
from raptor_core.identity import fingerprint
from raptor_core.money import Ledger
from raptor_core.settings import Settings
from raptor_core.tree.publish import build_settings_fingerprint

GROUP = "evaluation"
RESOURCES = {"tools", "datasets"}


class Datasets(Protocol):
    """The resource of the data sets."""

    @property
    def cache(self) -> Path:
        """Folder that keeps the trees over them."""

    def load(self, name: str) -> Dataset:
        """The data set that the settings call so."""


def build_dataset_assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """The assets of all data sets of the settings."""
    return [_asset(name, settings) for name in settings.evaluation.datasets]


def _asset(name: str, settings: Settings) -> dg.AssetsDefinition:
    @dg.asset(
        key=keys.evaluation(name),
        description=f"Strategies side by side on the data set {name}, at equal token budgets, on "
        "trees over its own documents; nothing that is published is read.",
        group_name=GROUP,
        kinds={"python"},
        owners=OWNERS,
        code_version=_version(settings),
        check_specs=[_check_spec(name)],
        required_resource_keys=RESOURCES,
    )
    def measured(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[Any]]:
        datasets: Datasets = context.resources.datasets
        tools = context.resources.tools.tools()
        with (
            _recorded(context, tools.ledger, settings),
            open_forest(datasets.load(name), tools, datasets.cache) as forest,
        ):
            found = _compare(forest, settings)
            metadata = _metadata(forest, found)
        check = dg.AssetCheckKey(keys.evaluation(name), DEFAULT_STRATEGY.name)
        last = settings.checks.history_builds
        past = partial(past_values, context.instance, check, last=last)
        verdict = evaluate_standing(found, settings.retrieval.strategy, settings.checks, past)
        yield dg.MaterializeResult(metadata=metadata, check_results=[check_result(verdict)])

    return measured


@contextmanager
def _recorded(
    context: dg.AssetExecutionContext, ledger: Ledger, settings: Settings
) -> Iterator[None]:
    """Tag the run with its process, and in the end with what it was paid for."""
    run = context.run.run_id
    context.instance.add_run_tags(run, process_tags())
    ledger.begin()
    try:
        yield
    finally:
        if tags := run_spending_tags(ledger, settings):
            context.instance.add_run_tags(run, tags)


def _check_spec(name: str) -> dg.AssetCheckSpec:
    check = DEFAULT_STRATEGY
    return dg.AssetCheckSpec(check.name, asset=keys.evaluation(name), description=check.description)


def _version(settings: Settings) -> str:
    """Fingerprint of every setting that the figures depend on; the files are none of them."""
    measured = settings.evaluation.model_dump(mode="json", exclude={"datasets"})
    retrieval = settings.retrieval.model_dump(mode="json")
    hybrid = settings.hybrid.model_dump(mode="json")
    asked = {"measured": measured, "retrieval": retrieval, "hybrid": hybrid}
    build = build_settings_fingerprint(settings)
    return fingerprint("evaluation", {**asked, "grouping": settings.grouping.by, "build": build})


def _compare(forest: Forest, settings: Settings) -> Comparison:
    given = settings.evaluation
    names = dict.fromkeys((BASELINE, settings.retrieval.strategy, *given.strategies))
    ways = [make_way(name) for name in names]
    return compare(forest, ways, given.budgets_tokens, pooled=given.pooled)


def _metadata(forest: Forest, found: Comparison) -> dict[str, Any]:
    """Every mean under a name that stays, so that the UI plots it; and tables of all of them."""
    numbers = {
        f"{measure}/{line.way}/{line.budget_tokens}": round(figure.mean.value, 4)
        for line in found.lines
        for measure, figure in line.figures.items()
        if figure.mean.value is not None
    }
    tables = "\n\n".join(_table(measure, found.lines) for measure in found.measures)
    return {
        "comparison": dg.MetadataValue.md(tables),
        "n_questions": len(forest.dataset.questions),
        "n_trees": len(forest.manifests),
        "n_nodes": forest.n_nodes,
        **numbers,
    }


def _table(measure: str, lines: Sequence[Line]) -> str:
    head = ("strategy", "budget", "tokens", "questions", "mean", f"against {BASELINE}", "p")
    rows = [_row(line, measure) for line in lines if measure in line.figures]
    return f"**{measure.replace('_', ' ')}**\n\n{markdown_table(head, rows)}"


def _row(line: Line, measure: str) -> tuple[str, ...]:
    figure = line.figures[measure]
    difference = figure.difference
    return (
        line.way,
        f"{line.budget_tokens:,}",
        f"{line.mean_tokens:,.0f}",
        str(figure.n_questions),
        Markdown(told_interval(figure.mean)),
        Markdown("" if difference is None else told_interval(difference.interval, "+")),
        "" if difference is None else f"{difference.p:.3f}",
    )
