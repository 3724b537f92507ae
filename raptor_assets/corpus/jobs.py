"""Jobs: build the chain, drop partitions."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import dagster as dg

from raptor_assets.assets import names
from raptor_assets.assets.names import DROP, CorpusNames
from raptor_assets.chain.runs import process_tags, turn
from raptor_assets.corpus.changes import changes_of
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.published import TreeIndex
from raptor_assets.home.readers import narrow_readers
from raptor_assets.home.versions import forget_gone
from raptor_core.tree.cache import NodeCache

_DROP_OP = "drop"


class DropConfig(dg.Config):
    """Partitions to drop.

    With ``only_gone`` only those whose documents are gone when it runs; it also takes away rights
    that the source no longer declares.
    """

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


def build_drop_job(access: CorpusAccess) -> dg.JobDefinition:
    """Return the job that removes partitions: vectors, tables, and the partition keys."""
    corpus = access.names

    @dg.op(
        name=corpus.of(_DROP_OP),
        description="Remove trees from Qdrant, then tables, pages and partition keys.",
        out=dg.Out(dg.Nothing),
    )
    def drop_partitions(context: dg.OpExecutionContext, config: DropConfig) -> None:
        context.instance.add_run_tags(context.run_id, process_tags(context))
        partitions = config.partitions
        holds: Collection[str] = ()
        with turn(access.home, context):
            if config.only_gone:
                narrow_readers(access)
                partitions, holds = still_removed(context, access, partitions)
            drop_all(context, access, partitions, holds)

    @dg.job(
        name=corpus.of(DROP),
        description="Remove partitions whose documents are gone.",
        executor_def=dg.in_process_executor,
    )
    def drop_job() -> None:
        drop_partitions()

    return drop_job


def still_removed(
    context: dg.OpExecutionContext, access: CorpusAccess, partitions: Sequence[str]
) -> tuple[list[str], Collection[str]]:
    """Return the partitions that are still to be dropped, and the trees that are held.

    A run may have waited for its turn. What held trees have of documents that are gone goes, too.
    """
    begun = context.instance.get_dynamic_partitions(access.names.partitions)
    changes = changes_of(access, begun, is_confirmed=True)  # else they would not have been chosen
    forget_gone(access, changes.to_forget)
    removed = [name for name in partitions if name in changes.removed]
    if spared := sorted({*partitions} - {*removed}):
        context.log.info(f"not dropped, since not gone any more: {', '.join(spared)}")
    return removed, changes.holds


def drop_all(
    context: dg.OpExecutionContext,
    access: CorpusAccess,
    partitions: Sequence[str],
    holds: Collection[str] = (),
) -> None:
    """Drop partitions one by one, but held trees: trees, tables, pages, and the partition keys."""
    stored = TreeIndex(lambda: set(access.store.trees()) - set(holds), access.settings.grouping)
    for partition in partitions:
        cache = access.components(context.instance).cache
        n_nodes = _drop(partition, access, cache, stored)
        access.reports.delete(partition)
        context.instance.delete_dynamic_partition(access.names.partitions, partition)
        context.log.info(f"dropped partition {partition!r} with {n_nodes} nodes")
    if partitions and access.store.exists():
        with access.store.open_existing() as store:
            store.optimize()


def drop_config(
    partitions: list[str], corpus: CorpusNames, *, only_gone: bool = False
) -> dict[str, Any]:
    """Return the run configuration of the drop job."""
    config = {"partitions": partitions, "only_gone": only_gone}
    return {"ops": {corpus.of(_DROP_OP): {"config": config}}}


def _drop(partition: str, access: CorpusAccess, cache: NodeCache, stored: TreeIndex) -> int:
    """Drop a partition's trees, then its tables, and return the number of nodes."""
    tables, grouping = access.tables, access.settings.grouping
    trees, n_nodes = sorted(stored(partition)), 0
    if trees:
        with access.store.open_existing() as store, store.publishing() as publishing:
            n_nodes = publishing.drop(trees)
    for tree in trees:
        access.home.map_of(tree).unlink(missing_ok=True)
        access.kept.delete(tree)
    cache.forget({*trees, *TreeIndex(cache.unfinished, grouping)(partition)})
    for path in reversed(names.table_paths()):
        tables.delete(path, partition)
    return n_nodes
