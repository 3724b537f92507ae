"""Specs of the assets and checks of the chain, their columns, and what a corpus makes of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg

from raptor_assets import keys, names
from raptor_assets.names import CorpusNames
from raptor_assets.versions import code_versions
from raptor_core.errors import SettingsError
from raptor_core.quality.checks import CheckInfo
from raptor_core.settings import Settings
from raptor_core.tables.schema import Schema
from raptor_core.tables.values import CLUSTERS, DOCUMENTS, FINDINGS, NODES, USAGES

TABLES = "tables_io_manager"
"""Key of the IO manager of tables."""
QDRANT = "qdrant_layers_io_manager"
"""Key of the IO manager of layers with their vectors."""

_IO_MANAGER = "dagster/io_manager_key"

TREES = Schema(
    ("tree", "string", "name of the published tree"),
    ("build_id", "string", "digest of all nodes"),
    ("layer_sizes", "json", "nodes by layer, leaves first"),
    ("n_nodes", "int"),
    ("n_tokens", "int"),
    ("ended", "string", "why the tree ended at its top layer"),
    ("published_at", "string", "ISO 8601, UTC"),
)

REPORTS = Schema(
    ("tree", "string", "name of the tree"),
    ("build_id", "string", "digest of all nodes"),
    ("published_at", "string", "when these nodes were first published; ISO 8601, UTC"),
    ("node_ids", "list[string]", "what the next build's change is measured from"),
    ("change", "json", "new nodes, and the number of those that are gone"),
    ("cost", "json", "figures of the build that made the tree, where they are known"),
    ("rebuilds", "json", "the last rebuilds, newest first: sizes, cost, words before and after"),
)

SCHEMAS = {
    "documents": DOCUMENTS,
    "chunks": NODES,
    "summaries": NODES,
    "clusters": CLUSTERS,
    "findings": FINDINGS,
    "tree": TREES,
    "tree_report": REPORTS,
}
"""By the last part of an asset's key; ``layer_k/embeddings`` has none, but nodes and vectors."""

TABLE_SCHEMAS = {**SCHEMAS, "usages": USAGES, "findings_by_hand": FINDINGS}
"""Schemas of all tables of a partition, those that are no assets among them."""


def column_schema(key: dg.AssetKey) -> dg.TableSchema:
    """What readers of an asset get."""
    columns = [
        dg.TableColumn(column.name, column.kind, description=column.description or None)
        for column in SCHEMAS.get(key.path[-1], NODES).columns
    ]
    if key.path[-1] not in SCHEMAS:
        columns.append(dg.TableColumn("vector", "list[float]", description="from Qdrant"))
    return dg.TableSchema(columns)


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


def build_asset_specs(
    settings: Settings, custom: Mapping[str, str], *, follows: bool = False
) -> list[dg.AssetSpec]:
    """Return the specs of the whole chain in the order in which the assets are made.

    ``custom`` holds the fingerprints of custom components, see ``custom_fingerprints``.
    """
    versions, kinds = code_versions(settings, custom), _kinds(settings)
    depends = keys.dependencies(settings.tree.max_layers, follows=follows)
    return [
        dg.AssetSpec(
            key,
            deps=depends[key],
            description=_description(key, settings),
            metadata={"dagster/column_schema": column_schema(key)},
            skippable=True,
            group_name=keys.group_name(key),
            code_version=versions[key],
            kinds=kinds[key.path[-1]],
        ).with_io_manager_key(QDRANT if key.path[-1] == "embeddings" else TABLES)
        for key in keys.chain_keys(settings.tree.max_layers)
    ]


def _kinds(settings: Settings) -> dict[str, set[str]]:
    """By the last part of an asset's key."""
    calls = settings.summarizer.kind == "openai" and not settings.components.summarizer
    return {
        "documents": {"parquet"},
        "chunks": {"parquet"},
        "embeddings": {"qdrant", "openai" if settings.embedder.kind == "openai" else "pytorch"},
        "clusters": {"parquet", "python"},
        "summaries": {"parquet", "openai" if calls else "python"},
        "findings": {"parquet", "openai" if settings.audit.judge == "llm" else "python"},
        "tree": {"qdrant", "parquet"},
        "tree_report": {"html"},
    }


def _description(key: dg.AssetKey, settings: Settings) -> str:
    layer, own = names.layer_of(key.to_user_string()), settings.components
    is_bundled = settings.embedder.kind == "bundled"
    model = own.embedder or ("all-MiniLM-L6-v2" if is_bundled else settings.embedder.model)
    descriptions = {
        "documents": "The partition's documents as they were read from the source.",
        "chunks": "The leaves: spans of the documents, cut at sentence ends, of at most "
        f"{settings.chunking.max_tokens} tokens.",
        "embeddings": f"Layer {layer} with its vectors (`{model}`), kept until they are published: "
        "readers see nothing of it before `tree` is published.",
        "clusters": f"Soft clusters over layer {layer - 1} (`{settings.clustering.method}`): each "
        f"becomes one summary of layer {layer}. Says where and why a tree ended.",
        "summaries": f"Summary nodes of layer {layer} "
        f"(`{own.summarizer or settings.summarizer.kind}`).",
        "findings": f"The audit (`{settings.audit.judge}`) of a sample of layer {layer}: sentence "
        "by sentence, whether the children support it.",
        "tree": "The published trees: what readers see in Qdrant. A structural check that fails "
        "keeps the trees that were published before.",
        "tree_report": "One self-contained HTML page that shows the published trees: to explore "
        "down to the documents, to search, with findings marked, statistics and cost.",
    }
    return descriptions[key.path[-1]]


@dataclass(frozen=True, slots=True)
class RaptorAsset:
    """An asset of a corpus, with the spec that it has unless a translator gives it another.

    ``name`` is the chain's own, such as "documents", "layer_1/summaries" or "tree".
    """

    corpus: str
    name: str
    spec: dg.AssetSpec

    @property
    def layer(self) -> int:
        """The layer that it belongs to; 0 for leaves, and for what belongs to no layer."""
        return names.layer_of(self.name)


class RaptorTranslator:
    """Gives each asset of a corpus its spec; subclass it, and change what the team wants."""

    def get_asset_spec(self, asset: RaptorAsset) -> dg.AssetSpec:
        """The spec of an asset.

        Key, group, description, owners, tags, kinds, metadata and automation condition may be
        others than those of ``asset.spec``; what builds depend on may not.
        """
        return asset.spec


def corpus_specs(
    specs: Iterable[dg.AssetSpec],
    corpus: str = "",
    key_of: Callable[[dg.AssetKey], dg.AssetKey] = lambda key: key,
    translator: RaptorTranslator | None = None,
) -> tuple[CorpusNames, dict[dg.AssetKey, dg.AssetSpec]]:
    """Specs as a corpus shows them, by the chain's own keys, and all names that it has in Dagster.

    Args:
        specs: by the chain's own keys.
        corpus: its name; each asset is then shown in a group of this name.
        key_of: gives the key in Dagster of one of the chain's own.
        translator: has the last word on a spec.

    Raises:
        SettingsError: two assets have one key, or the translator changed what it may not.
    """
    translator = translator or RaptorTranslator()
    translated: dict[dg.AssetKey, dg.AssetSpec] = {}
    taken: dict[str, str] = {}
    for spec in specs:
        given = spec.replace_attributes(key=key_of(spec.key), group_name=corpus or spec.group_name)
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


def build_check_specs(
    settings: Settings, corpus: CorpusNames | None = None
) -> list[dg.AssetCheckSpec]:
    """Specs of the checks, on every layer of summaries and on the published trees."""
    corpus = corpus or CorpusNames()
    partitions = keys.corpus_partitions(corpus.corpus)
    checks: list[tuple[str, CheckInfo, dg.PartitionsDefinition[str] | None]] = [
        *((asset, check, partitions) for asset, check in names.partition_checks(settings)),
        # Without partitions: they are of all published trees together.
        *((asset, check, None) for asset, check in names.golden_checks(settings)),
    ]
    with warnings.catch_warnings():
        # Partitioned checks are in preview; without them a check would say of all partitions
        # what it last found in one.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return [
            dg.AssetCheckSpec(
                check.name,
                asset=dg.AssetKey.from_user_string(corpus.shown(asset)),
                description=check.description,
                blocking=check.blocking,
                partitions_def=partitions_def,
            )
            for asset, check, partitions_def in checks
        ]
