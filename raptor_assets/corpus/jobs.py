"""Jobs of a corpus: build the chain, drop partitions."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from raptor_assets.assets import names
from raptor_assets.assets.names import DROP, POOL
from raptor_assets.chain.run_log import Event
from raptor_assets.chain.runs import hold_run_lock, process_tags
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.publication import open_publication
from raptor_assets.home.published import TreeIndex
from raptor_core.errors import RaptorError

Body = Callable[[dg.OpExecutionContext, Any], Iterable[Event]]
"""Work of a job: events of what the run with this configuration does."""


class DropConfig(dg.Config):
    """Partitions to drop."""

    partitions: list[str]


def build_asset_job(
    corpus: names.CorpusNames,
    name: str,
    assets: Iterable[dg.AssetKey | dg.AssetsDefinition],
    description: str,
) -> Any:
    """Return a job over assets, in one process."""
    return dg.define_asset_job(
        corpus.full_name(name),
        tags=corpus.tags(name),
        selection=dg.AssetSelection.assets(*assets),
        executor_def=dg.in_process_executor,
        description=description,
    )


def build_corpus_job(
    access: CorpusAccess, name: str, description: str, config: type[dg.Config], body: Body
) -> dg.JobDefinition:
    """Return a job of one step over a corpus; it waits while another run works in the home.

    A RaptorError fails the run with its message, and the run is not retried.
    """
    corpus = access.names

    def run(context: dg.OpExecutionContext, config: Any) -> Iterator[Event | dg.Output[None]]:
        try:
            context.instance.add_run_tags(context.run_id, process_tags(context))
            with hold_run_lock(access.home, context):
                yield from body(context, config)
        except RaptorError as error:
            raise dg.Failure(description=str(error), allow_retries=False) from error
        yield dg.Output(None)

    run.__annotations__["config"] = config
    step = dg.op(
        name=step_name(corpus, name),
        description=description,
        out=dg.Out(dg.Nothing),
        pool=corpus.full_name(POOL),
    )(run)

    @dg.job(
        name=corpus.full_name(name),
        description=description,
        executor_def=dg.in_process_executor,
        tags=corpus.tags(name),
    )
    def job() -> None:
        step()

    return job


def step_name(corpus: names.CorpusNames, job: str) -> str:
    """Return the name of the only step of a job of ``build_corpus_job``."""
    return corpus.full_name(f"{job}_step")


def to_run_config(corpus: names.CorpusNames, job: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the run configuration that gives a job of ``build_corpus_job`` these fields."""
    return {"ops": {step_name(corpus, job): {"config": dict(config)}}}


def build_drop_job(access: CorpusAccess) -> dg.JobDefinition:
    """Return the job that removes partitions: vectors, tables, and the partition keys."""

    def drop(context: dg.OpExecutionContext, config: DropConfig) -> Iterable[Event]:
        drop_partitions(context, access, config.partitions)
        return ()

    description = "Remove partitions: their trees in Qdrant, then tables, pages and partition keys."
    return build_corpus_job(access, DROP, description, DropConfig, drop)


def drop_partitions(
    context: dg.OpExecutionContext, access: CorpusAccess, partitions: Sequence[str]
) -> None:
    """Drop partitions: all trees, published or not, then one by one tables and partition keys."""
    grouping, cache = access.settings.grouping, access.components(context.instance).cache
    stored, unfinished = (
        TreeIndex(access.store.list_trees, grouping),
        TreeIndex(cache.unfinished_trees, grouping),
    )
    trees = {
        name: sorted(
            {*stored(name), *unfinished(name), *access.waiting_builds.read_manifests(name)}
        )
        for name in partitions
    }
    n_nodes = 0
    if any(trees.values()) and access.store.exists():
        with access.store.open_existing() as store, open_publication(access, store) as publication:
            n_nodes = publication.drop([tree for of in trees.values() for tree in of])
    for partition, of_partition in trees.items():
        for tree in of_partition:
            access.home.map_path(tree).unlink(missing_ok=True)
        access.waiting_builds.delete(partition)
        cache.forget_trees(of_partition)
        for path in reversed(names.table_paths()):
            access.tables.delete(path, partition)
        context.instance.delete_dynamic_partition(access.names.partitions_name, partition)
        context.log.info(f"dropped partition {partition!r}")
    context.log.info(f"dropped {n_nodes} nodes")
