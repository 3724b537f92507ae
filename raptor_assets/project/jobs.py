"""Jobs: build the chain, drop partitions."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import dagster as dg

from raptor_assets import keys
from raptor_assets.names import DROP, CorpusNames
from raptor_assets.process import process_tags
from raptor_assets.project.published import TreeIndex
from raptor_assets.project.resources import Resources
from raptor_assets.project.runs import turn
from raptor_assets.provenance import MATERIALIZED, version_tags
from raptor_assets.versions import DROPPED
from raptor_core.tree.cache import NodeCache

_DROP_OP = "drop"


class DropConfig(dg.Config):
    """Partitions to drop; with ``only_gone`` only those whose documents are gone when it runs."""

    partitions: list[str]
    only_gone: bool = False


def build_asset_job(
    name: str, assets: Iterable[dg.AssetKey | dg.AssetsDefinition], description: str
) -> Any:
    """Return a job over assets, in one process."""
    return dg.define_asset_job(
        name,
        selection=dg.AssetSelection.assets(*assets),
        executor_def=dg.in_process_executor,
        description=description,
    )


def build_drop_job(resources: Resources) -> dg.JobDefinition:
    """Return the job that removes partitions: vectors, tables, and the partition keys."""
    corpus = resources.names

    @dg.op(
        name=corpus.of(_DROP_OP),
        description="Remove trees from Qdrant, then tables, pages, partition keys; log a tombstone "
        "for every asset.",
        out=dg.Out(dg.Nothing),
    )
    def drop_partitions(
        context: dg.OpExecutionContext, config: DropConfig
    ) -> Iterator[dg.AssetMaterialization | dg.Output[None]]:
        context.instance.add_run_tags(context.run_id, process_tags(context))
        partitions = config.partitions
        with turn(resources.home, context):
            if config.only_gone:
                partitions = still_removed(context, resources, partitions)
            yield from drop_all(context, resources, partitions)
        yield dg.Output(None)

    @dg.job(
        name=corpus.of(DROP),
        description="Remove partitions whose documents are gone.",
        executor_def=dg.in_process_executor,
    )
    def drop_job() -> None:
        drop_partitions()

    return drop_job


def still_removed(
    context: dg.OpExecutionContext, resources: Resources, partitions: Sequence[str]
) -> list[str]:
    """Return the partitions that are still to be dropped: a run may have waited for its turn."""
    begun = context.instance.get_dynamic_partitions(resources.names.partitions)
    changes = resources.changes(begun, is_confirmed=True)  # else they would not have been chosen
    removed = [name for name in partitions if name in changes.removed]
    if spared := sorted({*partitions} - {*removed}):
        context.log.info(f"not dropped, since not gone any more: {', '.join(spared)}")
    return removed


def drop_all(
    context: dg.OpExecutionContext, resources: Resources, partitions: Sequence[str]
) -> Iterator[dg.AssetMaterialization]:
    """Drop partitions one by one, and yield their tombstones."""
    corpus, max_layers = resources.names, resources.settings.tree.max_layers
    shown = {keys.shown(corpus, key): None for key in keys.chain_keys(max_layers)}
    stored = TreeIndex(resources.store.trees, resources.settings.grouping)
    for partition in partitions:
        cache = resources.components(context.instance).cache
        n_nodes = _drop(partition, resources, cache, stored)
        resources.reports.delete(partition)
        yield from _tombstones(context.instance, partition, shown, n_nodes)
        context.instance.delete_dynamic_partition(corpus.partitions, partition)
        context.log.info(f"dropped partition {partition!r} with {n_nodes} nodes")
    for store in resources.store.open_each() if partitions else ():
        store.optimize()


def drop_config(
    partitions: list[str], corpus: CorpusNames, *, only_gone: bool = False
) -> dict[str, Any]:
    """Return the run configuration of the drop job."""
    config = {"partitions": partitions, "only_gone": only_gone}
    return {"ops": {corpus.of(_DROP_OP): {"config": config}}}


def _drop(partition: str, resources: Resources, cache: NodeCache, stored: TreeIndex) -> int:
    """Drop a partition's trees, then its tables, and return the number of nodes."""
    tables, place, grouping = resources.tables, resources.store, resources.settings.grouping
    trees, n_nodes = sorted(stored(partition)), 0
    for store in place.open_each():
        with store.publishing() as publishing:
            n_nodes += publishing.drop(trees)
    for tree in trees:
        resources.home.map_of(tree).unlink(missing_ok=True)
    cache.forget({*trees, *TreeIndex(cache.unfinished, grouping)(partition)})
    for path in reversed(keys.table_paths()):
        tables.delete(path, partition)
    return n_nodes


def _tombstones(
    instance: dg.DagsterInstance, partition: str, chain: Iterable[dg.AssetKey], n_nodes: int
) -> Iterator[dg.AssetMaterialization]:
    """Yield a last version for each asset, so that the same documents are new if they return."""
    for key in chain:
        if not instance.get_latest_storage_id_by_partition(key, MATERIALIZED, {partition}):
            continue
        yield dg.AssetMaterialization(
            asset_key=key,
            partition=partition,
            description="The partition was dropped.",
            metadata={"state": "dropped", "n_nodes": 0, "n_nodes_dropped": n_nodes},
            tags=version_tags(DROPPED),
        )
