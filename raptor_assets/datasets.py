"""Evaluations as assets, one for each data set that the settings name.

They are no part of the chain: they build trees over a data set's documents in the cache of
evaluations, and a separate job makes them.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import dagster as dg

from raptor_assets import keys
from raptor_assets.evaluations import check_result, past_values
from raptor_assets.process import process_tags, run_spending_tags
from raptor_assets.project.resources import Resources
from raptor_assets.tables_markdown import table_markdown
from raptor_core.evaluation.compare import Comparison, compare
from raptor_core.evaluation.index import Index, open_index
from raptor_core.evaluation.strategy_check import BASELINE, DEFAULT_STRATEGY, evaluate_strategy
from raptor_core.evaluation.systems import make_system
from raptor_core.evaluation.tables import comparison_tables
from raptor_core.identity import fingerprint
from raptor_core.settings import Settings
from raptor_core.tree.publish import build_settings_fingerprint

GROUP = "evaluation"


def build_dataset_specs(settings: Settings, custom: Mapping[str, str]) -> list[dg.AssetSpec]:
    """Return the specs of all data sets; ``custom`` holds fingerprints of custom components."""
    return [
        dg.AssetSpec(
            keys.evaluation(name),
            description=f"Strategies side by side on the data set {name}, at equal token budgets, "
            "on trees over its own documents; nothing that is published is read.",
            group_name=GROUP,
            kinds={"python"},
            code_version=_version(settings, custom),
        )
        for name in settings.evaluation.datasets
    ]


def build_dataset_assets(
    specs: Mapping[dg.AssetKey, dg.AssetSpec], resources: Resources
) -> list[dg.AssetsDefinition]:
    """Return the assets of all data sets; ``specs`` are by the chain's keys."""
    names = resources.settings.evaluation.datasets
    return [_asset(name, specs[keys.evaluation(name)], resources) for name in names]


def _asset(name: str, spec: dg.AssetSpec, resources: Resources) -> dg.AssetsDefinition:
    settings = resources.settings
    check = dg.AssetCheckKey(spec.key, DEFAULT_STRATEGY.name)

    @dg.multi_asset(
        name=resources.names.of(f"evaluation__{name}"),
        specs=[spec],
        check_specs=[
            dg.AssetCheckSpec(check.name, asset=spec.key, description=DEFAULT_STRATEGY.description)
        ],
    )
    def measured(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[Any]]:
        components, run = resources.components(), context.run.run_id
        if tags := process_tags(context):
            context.instance.add_run_tags(run, tags)
        components.ledger.begin()
        folder = resources.home.evaluation
        try:
            with open_index(resources.dataset(name), components, folder) as index:
                comparison = _compare(index, settings)
                metadata = _metadata(index, comparison)
        finally:
            if tags := run_spending_tags(components.ledger):
                context.instance.add_run_tags(run, tags)
        last = settings.checks.history_builds
        past = partial(past_values, context.instance, check, last=last)
        verdict = evaluate_strategy(comparison, settings.retrieval.strategy, settings.checks, past)
        yield dg.MaterializeResult(metadata=metadata, check_results=[check_result(verdict)])

    return measured


def _version(settings: Settings, custom: Mapping[str, str]) -> str:
    """Return the fingerprint of every setting that the figures depend on, without the files."""
    values = {
        "measured": settings.evaluation.model_dump(mode="json", exclude={"datasets"}),
        "retrieval": settings.retrieval.model_dump(mode="json"),
        "hybrid": settings.hybrid.model_dump(mode="json"),
        "grouping": settings.grouping.by,
        "build": build_settings_fingerprint(settings, custom),
    }
    return fingerprint("evaluation", values)


def _compare(index: Index, settings: Settings) -> Comparison:
    options = settings.evaluation
    names = dict.fromkeys((BASELINE, settings.retrieval.strategy, *options.strategies))
    systems = [make_system(name) for name in names]
    return compare(index, systems, options.budgets_tokens, pooled=options.pooled)


def _metadata(index: Index, comparison: Comparison) -> dict[str, Any]:
    """Return every mean under a stable name, which the UI plots, and tables of all of them."""
    numbers = {
        f"{measure}/{line.system}/{line.budget_tokens}": round(figure.mean.value, 4)
        for line in comparison.lines
        for measure, figure in line.figures.items()
        if figure.mean.value is not None
    }
    tables = "\n\n".join(map(table_markdown, comparison_tables(comparison)))
    return {
        "comparison": dg.MetadataValue.md(tables),
        "n_questions": len(index.dataset.questions),
        "n_trees": len(index.manifests),
        "n_nodes": index.n_nodes,
        **numbers,
    }
