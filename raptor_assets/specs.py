"""Specs of the assets and checks of the chain."""

from __future__ import annotations

import warnings

import dagster as dg

from raptor_assets import keys, names
from raptor_assets.columns import column_schema
from raptor_assets.versions import code_versions
from raptor_core.quality.verdicts import CheckInfo
from raptor_core.settings import Settings

OWNERS = ["team:raptor"]
TABLES = "tables_io_manager"
"""Key of the IO manager of tables."""
QDRANT = "qdrant_layers_io_manager"
"""Key of the IO manager of layers with their vectors."""


def build_asset_specs(settings: Settings) -> list[dg.AssetSpec]:
    """Specs of the whole chain in the order in which the assets are made."""
    specs = [_documents(), _chunks(settings), _embeddings(0, settings)]
    for layer in range(1, settings.tree.max_layers + 1):
        specs += build_layer_specs(layer, settings)
    specs += [_tree(), _report()]
    versions = code_versions(settings)
    depends = keys.dependencies(settings.tree.max_layers)
    return [
        spec.replace_attributes(
            deps=depends[spec.key],
            skippable=True,
            group_name=keys.group_name(spec.key),
            code_version=versions[spec.key],
            owners=OWNERS,
            partitions_def=keys.TREES,
        ).merge_attributes(metadata={"dagster/column_schema": column_schema(spec.key)})
        for spec in specs
    ]


def build_layer_specs(layer: int, settings: Settings) -> list[dg.AssetSpec]:
    """Specs of one layer of summaries: its clusters, its nodes, their vectors."""
    own = settings.components.summarizer
    maker = "openai" if settings.summarizer.kind == "openai" and not own else "python"
    return [
        dg.AssetSpec(
            keys.clusters(layer),
            description=f"Soft clusters over layer {layer - 1} (`{settings.clustering.method}`): "
            f"each becomes one summary of layer {layer}. Says where and why a tree ended.",
            kinds={"parquet", "python"},
        ).with_io_manager_key(TABLES),
        dg.AssetSpec(
            keys.summaries(layer),
            description=f"Summary nodes of layer {layer} (`{own or settings.summarizer.kind}`).",
            kinds={"parquet", maker},
        ).with_io_manager_key(TABLES),
        dg.AssetSpec(
            keys.findings(layer),
            description=f"The audit (`{settings.audit.judge}`) of a sample of layer {layer}: "
            "sentence by sentence, whether the children support it.",
            kinds={"parquet", "openai" if settings.audit.judge == "llm" else "python"},
        ).with_io_manager_key(TABLES),
        _embeddings(layer, settings),
    ]


def build_check_specs(settings: Settings) -> list[dg.AssetCheckSpec]:
    """Specs of the checks, on every layer of summaries and on the published trees."""
    with warnings.catch_warnings():
        # Partitioned checks are in preview; without them a check would say of all partitions
        # what it last found in one.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        specs = [_check_spec(asset, check) for asset, check in names.partition_checks(settings)]
    # Without partitions: it is of all published trees together.
    together = names.golden_checks(settings)
    return [*specs, *(_check_spec(*pair, partitions=None) for pair in together)]


def _check_spec(
    asset: str, check: CheckInfo, partitions: dg.PartitionsDefinition[str] | None = keys.TREES
) -> dg.AssetCheckSpec:
    return dg.AssetCheckSpec(
        check.name,
        asset=dg.AssetKey.from_user_string(asset),
        description=check.description,
        blocking=check.blocking,
        partitions_def=partitions,
    )


def _documents() -> dg.AssetSpec:
    return dg.AssetSpec(
        keys.DOCUMENTS,
        description="The partition's documents as they were read from the source.",
        kinds={"parquet"},
    ).with_io_manager_key(TABLES)


def _chunks(settings: Settings) -> dg.AssetSpec:
    return dg.AssetSpec(
        keys.CHUNKS,
        description="The leaves: spans of the documents, cut at sentence ends, of at most "
        f"{settings.chunking.max_tokens} tokens.",
        kinds={"parquet"},
    ).with_io_manager_key(TABLES)


def _embeddings(layer: int, settings: Settings) -> dg.AssetSpec:
    kind = settings.embedder.kind
    own = settings.components.embedder
    model = own or ("all-MiniLM-L6-v2" if kind == "bundled" else settings.embedder.model)
    return dg.AssetSpec(
        keys.embeddings(layer),
        description=f"Layer {layer} with its vectors (`{model}`), kept until they are published: "
        "readers see nothing of it before `tree` is published.",
        kinds={"qdrant", "openai" if kind == "openai" else "pytorch"},
    ).with_io_manager_key(QDRANT)


def _tree() -> dg.AssetSpec:
    return dg.AssetSpec(
        keys.TREE,
        description="The published trees: what readers see in Qdrant. A structural check that "
        "fails keeps the trees that were published before.",
        kinds={"qdrant", "parquet"},
    ).with_io_manager_key(TABLES)


def _report() -> dg.AssetSpec:
    return dg.AssetSpec(
        keys.REPORT,
        description="One self-contained HTML page that shows the published trees: to explore down "
        "to the documents, to search, with findings marked, statistics and cost.",
        kinds={"html"},
    ).with_io_manager_key(TABLES)
