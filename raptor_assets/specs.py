"""Specs of the assets and checks of the chain, and what a corpus makes of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import dagster as dg

from raptor_assets import keys, names
from raptor_assets.columns import column_schema
from raptor_assets.names import CorpusNames
from raptor_assets.translator import RaptorAsset, RaptorTranslator
from raptor_assets.versions import code_versions
from raptor_core.errors import SettingsError
from raptor_core.quality.checks import CheckInfo
from raptor_core.settings import Settings

TABLES = "tables_io_manager"
"""Key of the IO manager of tables."""
QDRANT = "qdrant_layers_io_manager"
"""Key of the IO manager of layers with their vectors."""

_IO_MANAGER = "dagster/io_manager_key"


def build_source_spec() -> dg.AssetSpec:
    """Spec of what an asset of the team's own gave, which is taken over as soon as it is made."""
    return dg.AssetSpec(
        keys.SOURCE,
        description="The documents as the upstream asset gave them last. The sensor requests the "
        "partitions whose documents changed.",
        kinds={"json"},
        automation_condition=_eager_or_missing(),
    )


def _eager_or_missing() -> dg.AutomationCondition[Any]:
    """Dagster's ``eager``, and also what is missing already at its first evaluation, once."""
    condition = dg.AutomationCondition
    return condition.eager() | (
        condition.missing()
        & ~condition.any_deps_missing()
        & ~condition.any_deps_in_progress()
        & ~condition.in_progress()
        & ~condition.execution_failed()
    )


def build_asset_specs(settings: Settings, *, follows: bool = False) -> list[dg.AssetSpec]:
    """Specs of the whole chain in the order in which the assets are made."""
    specs = [
        _spec(
            keys.DOCUMENTS,
            "The partition's documents as they were read from the source.",
            {"parquet"},
        ),
        _spec(
            keys.CHUNKS,
            "The leaves: spans of the documents, cut at sentence ends, of at most "
            f"{settings.chunking.max_tokens} tokens.",
            {"parquet"},
        ),
        _embeddings(0, settings),
    ]
    for layer in range(1, settings.tree.max_layers + 1):
        specs += build_layer_specs(layer, settings)
    specs += [
        _spec(
            keys.TREE,
            "The published trees: what readers see in Qdrant. A structural check that fails keeps "
            "the trees that were published before.",
            {"qdrant", "parquet"},
        ),
        _spec(
            keys.REPORT,
            "One self-contained HTML page that shows the published trees: to explore down to the "
            "documents, to search, with findings marked, statistics and cost.",
            {"html"},
        ),
    ]
    versions = code_versions(settings)
    depends = keys.dependencies(settings.tree.max_layers, follows=follows)
    return [
        spec.replace_attributes(
            deps=depends[spec.key],
            skippable=True,
            group_name=keys.group_name(spec.key),
            code_version=versions[spec.key],
        ).merge_attributes(metadata={"dagster/column_schema": column_schema(spec.key)})
        for spec in specs
    ]


def corpus_specs(
    specs: Iterable[dg.AssetSpec],
    corpus: str = "",
    key_prefix: Sequence[str] = (),
    translator: RaptorTranslator | None = None,
) -> tuple[CorpusNames, dict[dg.AssetKey, dg.AssetSpec]]:
    """Specs as a corpus shows them, by the chain's own keys, and all names that it has in Dagster.

    Args:
        specs: by the chain's own keys.
        corpus: its name; each asset is then shown in a group of this name.
        key_prefix: of all keys.
        translator: has the last word on a spec.

    Raises:
        SettingsError: two assets have one key, or the translator changed what it may not.
    """
    translator = translator or RaptorTranslator()
    translated: dict[dg.AssetKey, dg.AssetSpec] = {}
    taken: dict[str, str] = {}
    for spec in specs:
        given = spec.replace_attributes(
            key=spec.key.with_prefix(key_prefix), group_name=corpus or spec.group_name
        )
        if io_manager := spec.metadata.get(_IO_MANAGER):
            given = given.with_io_manager_key(CorpusNames(corpus).of(str(io_manager)))
        asset = spec.key.to_user_string()
        told = translator.get_asset_spec(RaptorAsset(corpus, asset, given))
        _check_translated(asset, given, told)
        shown = told.key.to_user_string()
        if shown in taken:
            raise SettingsError(
                f"the translator gives {taken[shown]} and {asset} one key, {shown}; "
                "give each its own"
            )
        taken[shown] = asset
        translated[spec.key] = told
    assets = {asset: shown for shown, asset in taken.items()}
    named = CorpusNames(corpus, {} if all(a == s for a, s in assets.items()) else assets)
    return named, {
        key: spec.replace_attributes(
            deps=[dep._replace(asset_key=keys.shown(named, dep.asset_key)) for dep in spec.deps]
        )
        for key, spec in translated.items()
    }


def _check_translated(asset: str, given: dg.AssetSpec, told: dg.AssetSpec) -> None:
    fixed = ("deps", "skippable", "code_version", "partitions_def")
    changed = [name for name in fixed if getattr(given, name) != getattr(told, name)]
    if given.metadata.get(_IO_MANAGER) != told.metadata.get(_IO_MANAGER):
        changed.append("io_manager_key")
    if changed:
        raise SettingsError(
            f"the translator changes {changed[0]} of {asset}, which builds depend on; change key, "
            "group, description, owners, tags, kinds, metadata or automation condition"
        )


def build_layer_specs(layer: int, settings: Settings) -> list[dg.AssetSpec]:
    """Specs of one layer of summaries: its clusters, its nodes, their vectors."""
    own, judge = settings.components.summarizer, settings.audit.judge
    maker = "openai" if settings.summarizer.kind == "openai" and not own else "python"
    return [
        _spec(
            keys.clusters(layer),
            f"Soft clusters over layer {layer - 1} (`{settings.clustering.method}`): each becomes "
            f"one summary of layer {layer}. Says where and why a tree ended.",
            {"parquet", "python"},
        ),
        _spec(
            keys.summaries(layer),
            f"Summary nodes of layer {layer} (`{own or settings.summarizer.kind}`).",
            {"parquet", maker},
        ),
        _spec(
            keys.findings(layer),
            f"The audit (`{judge}`) of a sample of layer {layer}: sentence by sentence, whether "
            "the children support it.",
            {"parquet", "openai" if judge == "llm" else "python"},
        ),
        _embeddings(layer, settings),
    ]


def _spec(
    key: dg.AssetKey, description: str, kinds: set[str], io_manager: str = TABLES
) -> dg.AssetSpec:
    spec = dg.AssetSpec(key, description=description, kinds=kinds)
    return spec.with_io_manager_key(io_manager)


def _embeddings(layer: int, settings: Settings) -> dg.AssetSpec:
    kind, own = settings.embedder.kind, settings.components.embedder
    model = own or ("all-MiniLM-L6-v2" if kind == "bundled" else settings.embedder.model)
    return _spec(
        keys.embeddings(layer),
        f"Layer {layer} with its vectors (`{model}`), kept until they are published: readers see "
        "nothing of it before `tree` is published.",
        {"qdrant", "openai" if kind == "openai" else "pytorch"},
        QDRANT,
    )


def build_check_specs(
    settings: Settings, corpus: CorpusNames | None = None
) -> list[dg.AssetCheckSpec]:
    """Specs of the checks, on every layer of summaries and on the published trees."""
    corpus = corpus or CorpusNames()
    partitions = keys.corpus_partitions(corpus.corpus)
    with warnings.catch_warnings():
        # Partitioned checks are in preview; without them a check would say of all partitions
        # what it last found in one.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        specs = [
            _check_spec(corpus.shown(asset), check, partitions)
            for asset, check in names.partition_checks(settings)
        ]
    # Without partitions: it is of all published trees together.
    together = names.golden_checks(settings)
    return [*specs, *(_check_spec(corpus.shown(asset), check) for asset, check in together)]


def _check_spec(
    asset: str, check: CheckInfo, partitions: dg.PartitionsDefinition[str] | None = None
) -> dg.AssetCheckSpec:
    return dg.AssetCheckSpec(
        check.name,
        asset=dg.AssetKey.from_user_string(asset),
        description=check.description,
        blocking=check.blocking,
        partitions_def=partitions,
    )
