"""Evaluations as assets, one for each data set that the settings name.

They stand beside the chain: trees over a data set's own documents, in the cache of evaluations,
and nothing of what is published. No build makes them; they have a job of their own.
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
    """Return the specs of the assets of all data sets of the settings.

    ``custom`` holds the fingerprints of custom components, see ``custom_fingerprints``.
    """
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
    """The assets of all data sets of the settings; ``specs`` by the keys that are their own."""
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
            if tags := run_spending_tags(components.ledger, settings):
                context.instance.add_run_tags(run, tags)
        last = settings.checks.history_builds
        past = partial(past_values, context.instance, check, last=last)
        verdict = evaluate_strategy(comparison, settings.retrieval.strategy, settings.checks, past)
        yield dg.MaterializeResult(metadata=metadata, check_results=[check_result(verdict)])

    return measured


def _version(settings: Settings, custom: Mapping[str, str]) -> str:
    """Fingerprint of every setting that the figures depend on; the files are none of them."""
    measured = settings.evaluation.model_dump(mode="json", exclude={"datasets"})
    retrieval = settings.retrieval.model_dump(mode="json")
    hybrid = settings.hybrid.model_dump(mode="json")
    asked = {"measured": measured, "retrieval": retrieval, "hybrid": hybrid}
    build = build_settings_fingerprint(settings, custom)
    return fingerprint("evaluation", {**asked, "grouping": settings.grouping.by, "build": build})


def _compare(index: Index, settings: Settings) -> Comparison:
    given = settings.evaluation
    names = dict.fromkeys((BASELINE, settings.retrieval.strategy, *given.strategies))
    systems = [make_system(name) for name in names]
    return compare(index, systems, given.budgets_tokens, pooled=given.pooled)


def _metadata(index: Index, comparison: Comparison) -> dict[str, Any]:
    """Every mean under a name that stays, so that the UI plots it; and tables of all of them."""
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
