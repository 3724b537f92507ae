"""Specs of the assets and checks of the chain, and their columns."""

import warnings
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import dagster as dg

from raptor_assets.assets import names
from raptor_assets.assets.names import ChainAsset, CorpusNames
from raptor_assets.assets.schemas import SCHEMAS
from raptor_assets.assets.versions import code_versions
from raptor_core.settings import Settings
from raptor_core.tables.values import NODES

TABLES = "tables_io_manager"  # key of the IO manager of tables
QDRANT = "qdrant_layers_io_manager"  # key of the IO manager of layers with their vectors

WHOLE = ("documents", names.TREE)  # kinds of assets that belong to no layer


def column_schema(kind: str) -> dg.TableSchema:
    """Return the columns of the tables of this kind of asset."""
    columns = [
        dg.TableColumn(column.name, column.kind, description=column.description or None)
        for column in SCHEMAS.get(kind, NODES).columns
    ]
    if kind not in SCHEMAS:
        columns.append(dg.TableColumn("vector", "list[float]", description="from Qdrant"))
    return dg.TableSchema(columns)


def build_source_spec(corpus: CorpusNames, settings: Settings) -> dg.AssetSpec:
    """Return the spec of the asset that copies an upstream asset's documents immediately."""
    hours = settings.source.max_age_hours
    window = dg.FreshnessPolicy.time_window(timedelta(hours=hours)) if hours else None
    return dg.AssetSpec(
        corpus.source.key,
        description="The documents as the upstream asset gave them last. The sensor requests the "
        "partitions whose documents changed.",
        kinds={"json"},
        group_name=corpus.corpus or None,
        automation_condition=_eager_or_missing(),
        freshness_policy=window,
        tags=corpus.tags(names.SOURCE),
        owners=settings.runs.owners,
    )


def _eager_or_missing() -> dg.AutomationCondition[Any]:
    """Return Dagster's ``eager``, also for assets that are missing at its first evaluation."""
    condition = dg.AutomationCondition
    return condition.eager() | (
        condition.missing()
        & ~condition.any_deps_missing()
        & ~condition.any_deps_in_progress()
        & ~condition.in_progress()
        & ~condition.execution_failed()
    )


def build_asset_specs(
    settings: Settings,
    custom: Mapping[str, str],
    corpus: CorpusNames,
    n_summary_layers: int = names.MAX_LAYERS,
) -> list[dg.AssetSpec]:
    """Return the specs of the chain in its order, for trees of ``n_summary_layers``.

    ``custom`` holds the fingerprints of components.
    """
    versions, kinds = code_versions(settings, custom), _dagster_kinds(settings)
    max_layers = settings.tree.max_layers
    chain = [asset for asset in corpus.chain(max_layers) if asset.min_top_layer <= n_summary_layers]
    parents = corpus.parents_by_asset(max_layers)
    return [
        dg.AssetSpec(
            asset.key,
            deps=[
                parent.key for parent in parents[asset] if parent.min_top_layer <= n_summary_layers
            ],
            description=_description(asset, settings),
            metadata={"dagster/column_schema": column_schema(asset.kind)},
            skippable=True,
            group_name=corpus.corpus or _group_name(asset),
            code_version=versions[asset.kind],
            kinds=kinds[asset.kind],
            tags=corpus.tags(asset.kind, None if asset.kind in WHOLE else asset.layer),
            owners=settings.runs.owners,
        ).with_io_manager_key(corpus.full_name(QDRANT if asset.kind == "embeddings" else TABLES))
        for asset in chain
    ]


def _group_name(asset: ChainAsset) -> str:
    groups = {"documents": "source", "chunks": "layer_0", "tree": "published"}
    return groups.get(asset.kind, asset.table_path[0])


def _dagster_kinds(settings: Settings) -> dict[str, set[str]]:
    calls = settings.summarizer.kind == "openai" and not settings.components.summarizer
    return {
        "documents": {"parquet"},
        "chunks": {"parquet"},
        "embeddings": {"qdrant", "openai" if settings.embedder.kind == "openai" else "pytorch"},
        "clusters": {"parquet", "python"},
        "summaries": {"parquet", "openai" if calls else "python"},
        "findings": {"parquet", "openai" if settings.audit.judge == "llm" else "python"},
        "tree": {"qdrant", "parquet"},
    }


def _description(asset: ChainAsset, settings: Settings) -> str:
    layer, custom = asset.layer, settings.components
    is_bundled = settings.embedder.kind == "bundled"
    model = custom.embedder or ("all-MiniLM-L6-v2" if is_bundled else settings.embedder.model)
    method = custom.clusterer or settings.clustering.method
    descriptions = {
        "documents": "The partition's documents as they were read from the source.",
        "chunks": "The leaves: spans of the documents, of at most "
        f"{settings.chunking.max_tokens} tokens.",
        "embeddings": f"Layer {layer} with its vectors (`{model}`), kept until they are published: "
        "readers see nothing of it before `tree` is published.",
        "clusters": f"Soft clusters over layer {layer - 1} (`{method}`): each "
        f"becomes one summary of layer {layer}. Says where and why a tree ended.",
        "summaries": f"Summary nodes of layer {layer} "
        f"(`{custom.summarizer or settings.summarizer.kind}`).",
        "findings": f"The audit (`{settings.audit.judge}`) of a sample of layer {layer}: sentence "
        "by sentence, whether the children support it.",
        "tree": "The published trees: what readers see in Qdrant. A structural check that fails "
        "keeps the trees that were published before.",
    }
    return descriptions[asset.kind]


def build_check_specs(
    settings: Settings, corpus: CorpusNames, n_summary_layers: int = names.MAX_LAYERS
) -> list[dg.AssetCheckSpec]:
    """Return the specs of the checks; see ``build_asset_specs``."""
    partitions = names.corpus_partitions(corpus.corpus)
    checks = names.partition_checks(settings, corpus)
    # Without partitions, since they concern all published trees together.
    of_all = names.checks_of_all_trees(settings, corpus)
    with warnings.catch_warnings():
        # Partitioned checks are in preview; without them one partition's result counts for all.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return [
            dg.AssetCheckSpec(
                check.name,
                asset=asset.key,
                description=check.description,
                blocking=check.is_blocking,
                partitions_def=partitions if number < len(checks) else None,
            )
            for number, (asset, check) in enumerate((*checks, *of_all))
            if asset.min_top_layer <= n_summary_layers
        ]
