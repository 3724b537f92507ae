"""Specs of the assets and checks of the chain, their columns, their translation."""

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
from raptor_core.tables.values import CLUSTERS, DOCUMENTS, FINDINGS, NODES

TABLES = "tables_io_manager"  # key of the IO manager of tables
QDRANT = "qdrant_layers_io_manager"  # key of the IO manager of layers with their vectors
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
"""Schema by the last part of an asset's key; ``layer_k/embeddings`` has nodes and vectors."""


def column_schema(key: dg.AssetKey) -> dg.TableSchema:
    """Return the columns that readers of an asset get."""
    columns = [
        dg.TableColumn(column.name, column.kind, description=column.description or None)
        for column in SCHEMAS.get(key.path[-1], NODES).columns
    ]
    if key.path[-1] not in SCHEMAS:
        columns.append(dg.TableColumn("vector", "list[float]", description="from Qdrant"))
    return dg.TableSchema(columns)


_COLUMN_SOURCES = {
    "documents": {"text": "source.text"},
    "chunks": {
        "tree": "documents.tree",
        "text": "documents.text",
        "documents": "documents.id",
        "section": "documents.sections",
        "source": "documents.source",
        "metadata": "documents.metadata",
    },
    "embeddings": {
        **{name: f"chunks.{name} summaries.{name}" for name in NODES.names},
        "vector": "chunks.text chunks.context summaries.text",
    },
    "clusters": {"tree": "embeddings.tree", "node_ids": "embeddings.id embeddings.vector"},
    "summaries": {
        "tree": "embeddings.tree",
        "text": "embeddings.text",
        "documents": "embeddings.documents",
        "metadata": "embeddings.metadata",
        "children": "clusters.node_ids",
        "slot": "clusters.slot",
    },
    "findings": {"tree": "summaries.tree", "node_id": "summaries.id", "sentence": "summaries.text"},
    "tree": {
        "tree": "embeddings.tree documents.tree",
        "build_id": "embeddings.id documents.text",
        "n_tokens": "embeddings.n_tokens",
    },
    "tree_report": {name: f"tree.{name}" for name in ("tree", "build_id", "published_at")},
}
"""Upstream columns by column, by the last part of an asset's key."""


def column_lineage(
    key: dg.AssetKey, upstream: Iterable[dg.AssetKey], corpus: CorpusNames
) -> dg.TableColumnLineage:
    """Return the columns of ``upstream`` assets from which an asset's columns are made."""
    columns = [
        (column, source.split("."))
        for column, sources in _COLUMN_SOURCES[key.path[-1]].items()
        for source in sources.split()
    ]
    lineage: dict[str, list[dg.TableColumnDep]] = {}
    for parent in upstream:
        for column, (part, name) in columns:
            if part == parent.path[-1]:
                dep = dg.TableColumnDep(asset_key=keys.shown(corpus, parent), column_name=name)
                lineage.setdefault(column, []).append(dep)
    return dg.TableColumnLineage(deps_by_column=lineage)


def build_source_spec() -> dg.AssetSpec:
    """Return the spec of the documents of an upstream asset, which are copied at once."""
    return dg.AssetSpec(
        keys.of(names.SOURCE),
        description="The documents as the upstream asset gave them last. The sensor requests the "
        "partitions whose documents changed.",
        kinds={"json"},
        automation_condition=_eager_or_missing(),
    )


def _eager_or_missing() -> dg.AutomationCondition[Any]:
    """Return Dagster's ``eager``, extended to assets that are missing at its first evaluation."""
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
    """Return the specs of the chain in its order; ``custom`` holds fingerprints of components."""
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
    layer, custom = names.layer_of(key.to_user_string()), settings.components
    is_bundled = settings.embedder.kind == "bundled"
    model = custom.embedder or ("all-MiniLM-L6-v2" if is_bundled else settings.embedder.model)
    descriptions = {
        "documents": "The partition's documents as they were read from the source.",
        "chunks": "The leaves: spans of the documents, cut at sentence ends, of at most "
        f"{settings.chunking.max_tokens} tokens.",
        "embeddings": f"Layer {layer} with its vectors (`{model}`), kept until they are published: "
        "readers see nothing of it before `tree` is published.",
        "clusters": f"Soft clusters over layer {layer - 1} (`{settings.clustering.method}`): each "
        f"becomes one summary of layer {layer}. Says where and why a tree ended.",
        "summaries": f"Summary nodes of layer {layer} "
        f"(`{custom.summarizer or settings.summarizer.kind}`).",
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
    """Asset of a corpus and its default spec; ``name`` is the chain's, as layer_1/summaries."""

    corpus: str
    name: str
    spec: dg.AssetSpec

    @property
    def layer(self) -> int:
        """Layer of the asset; 0 for leaves and for assets without a layer."""
        return names.layer_of(self.name)


class RaptorTranslator:
    """Translator that gives each asset of a corpus its spec, to be subclassed by a team."""

    def get_asset_spec(self, asset: RaptorAsset) -> dg.AssetSpec:
        """Return the spec of an asset.

        It may change key, group, description, owners, tags, kinds and metadata of ``asset.spec``,
        and the automation condition of ``source``, nothing else.
        """
        return asset.spec


def corpus_specs(
    specs: Iterable[dg.AssetSpec],
    corpus: str = "",
    key_of: Callable[[dg.AssetKey], dg.AssetKey] = lambda key: key,
    translator: RaptorTranslator | None = None,
) -> tuple[CorpusNames, dict[dg.AssetKey, dg.AssetSpec]]:
    """Translate specs for a corpus.

    Args:
        specs: specs with the chain's keys.
        corpus: name of the corpus, and of the group of its assets.
        key_of: returns the key in Dagster of one of the chain's keys.
        translator: makes the last changes to a spec.

    Returns:
        The names of the corpus in Dagster, and its specs by the chain's keys.

    Raises:
        SettingsError: two assets have one key, or the translator changed a fixed attribute.
    """
    translator = translator or RaptorTranslator()
    translated: dict[dg.AssetKey, dg.AssetSpec] = {}
    asset_by_key: dict[str, str] = {}
    for spec in specs:
        default = spec.replace_attributes(
            key=key_of(spec.key), group_name=corpus or spec.group_name
        )
        if io_manager := spec.metadata.get(_IO_MANAGER):
            default = default.with_io_manager_key(CorpusNames(corpus).of(str(io_manager)))
        asset = spec.key.to_user_string()
        result = translator.get_asset_spec(RaptorAsset(corpus, asset, default))
        _check_translated(asset, default, result)
        _check_automation(asset, default, result, CorpusNames(corpus))
        shown = result.key.to_user_string()
        if shown in asset_by_key:
            raise SettingsError(
                f"the translator gives {asset_by_key[shown]} and {asset} one key, {shown}; "
                "give each a different one"
            )
        asset_by_key[shown] = asset
        translated[spec.key] = result
    assets = {asset: shown for shown, asset in asset_by_key.items()}
    named = CorpusNames(corpus, {} if all(a == s for a, s in assets.items()) else assets)
    return named, {
        key: spec.replace_attributes(
            deps=[dep._replace(asset_key=keys.shown(named, dep.asset_key)) for dep in spec.deps]
        )
        for key, spec in translated.items()
    }


def _check_translated(asset: str, default: dg.AssetSpec, translated: dg.AssetSpec) -> None:
    fixed = ("deps", "skippable", "code_version", "partitions_def")
    changed = [name for name in fixed if getattr(default, name) != getattr(translated, name)]
    if default.metadata.get(_IO_MANAGER) != translated.metadata.get(_IO_MANAGER):
        changed.append("io_manager_key")
    if changed:
        raise SettingsError(
            f"the translator changes {changed[0]} of {asset}, which builds depend on; change key, "
            "group, description, owners, tags, kinds or metadata"
        )


def _check_automation(
    asset: str, default: dg.AssetSpec, translated: dg.AssetSpec, corpus: CorpusNames
) -> None:
    """Refuse a condition on an asset of the chain, which would start failed builds without end."""
    condition = translated.automation_condition
    if asset in names.chain(names.MAX_LAYERS) and condition != default.automation_condition:
        raise SettingsError(
            f"the translator gives {asset} an automation condition, by which Dagster would start a "
            f"failed build again and again, and pay for it. Set none: the sensor "
            f"{corpus.of('source_sensor')} (source.watch) or a schedule of the job "
            f"{corpus.of(names.SYNC)} starts builds once for each change. Conditions belong on "
            "assets downstream, such as eager on an asset that depends on tree"
        )


def build_check_specs(
    settings: Settings, corpus: CorpusNames | None = None
) -> list[dg.AssetCheckSpec]:
    """Return the specs of the checks, on every layer of summaries and on the published trees."""
    corpus = corpus or CorpusNames()
    partitions = keys.corpus_partitions(corpus.corpus)
    checks: list[tuple[str, CheckInfo, dg.PartitionsDefinition[str] | None]] = [
        *((asset, check, partitions) for asset, check in names.partition_checks(settings)),
        # Without partitions, since they concern all published trees together.
        *((asset, check, None) for asset, check in names.golden_checks(settings)),
    ]
    with warnings.catch_warnings():
        # Partitioned checks are in preview; without them one partition's result counts for all.
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
