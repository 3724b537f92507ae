"""Jobs that publish another build of a tree: an earlier one, or one that waits for approval."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import dagster as dg
from pydantic import Field

from raptor_assets.assets.names import APPROVE, POOL, ROLLBACK, partition_checks
from raptor_assets.assets.versions import TreeVersion
from raptor_assets.chain.provenance import DATA_VERSION, IS_GIVEN
from raptor_assets.chain.run import ChainRun, Event
from raptor_assets.chain.runs import process_tags, turn
from raptor_assets.home.access import CorpusAccess, waiting_manifests
from raptor_assets.home.published import documents_by_tree
from raptor_assets.home.versions import Published, release, roll_back
from raptor_core.documents import partition_key
from raptor_core.errors import RaptorError
from raptor_core.transfer.kept import build_name


class RollbackConfig(dg.Config):
    """Configuration of a run that publishes an earlier build."""

    tree: str = Field(description="Name of the tree.")
    to: str = Field(
        default="", description="Build to publish, or the beginning of its id; empty: the last one."
    )
    reason: str = Field(default="", description="Why; plan, status and UI show it.")
    who: str = Field(default="", description="Who goes back.")
    release: bool = Field(
        default=False, description="End the hold instead, so that builds publish the tree again."
    )


class ApproveConfig(dg.Config):
    """Configuration of a run that publishes what waits for approval."""

    trees: list[str] = Field(
        description="Names of the trees; all trees of their partitions are published."
    )


def build_version_jobs(access: CorpusAccess) -> list[dg.JobDefinition]:
    """Return the jobs over builds of trees."""
    return [build_rollback_job(access), build_approve_job(access)]


def build_approve_job(access: CorpusAccess) -> dg.JobDefinition:
    """Return the job that publishes a build that waits for approval (``runs.publish``)."""
    corpus = access.names

    @dg.op(
        name=corpus.of(f"{APPROVE}_step"),
        description="Publish a build that was made and checked, and waits for approval.",
        out=dg.Out(dg.Nothing),
        pool=corpus.of(POOL),
    )
    def approve(
        context: dg.OpExecutionContext, config: ApproveConfig
    ) -> Iterator[Event | dg.Output[None]]:
        trees = {tree: partition_key(tree, access.settings.grouping) for tree in config.trees}
        context.instance.add_run_tags(context.run_id, process_tags(context))
        with turn(access.home, context):
            waiting = access.waiting(trees.values())
            if missing := [tree for tree, name in trees.items() if name not in waiting]:
                reason = f"no build of the tree {missing[0]!r} waits for approval"
                raise dg.Failure(description=reason, allow_retries=False)
            _refuse_gone(access, waiting)
            checks = partition_checks(access.settings, corpus)
            keys = [dg.AssetCheckKey(a.key, c.name) for a, c in checks if a == corpus.tree]
            selected = [corpus.tree.key, corpus.report.key], keys
            run = ChainRun(context, waiting, access, selected=selected, is_approved=True)
            yield from run.events()
            run.raise_failures()
        yield dg.Output(None)

    @dg.job(
        name=corpus.of(APPROVE),
        description="Publish a build of a tree that waits for approval.",
        executor_def=dg.in_process_executor,
    )
    def approve_job() -> None:
        approve()

    return approve_job


def _refuse_gone(access: CorpusAccess, partitions: Iterable[str]) -> None:
    """Raise a Failure where a build that waits for approval has a document that is gone."""
    present = documents_by_tree(access.source.inventory().partitions(access.settings.grouping))
    for partition in partitions:
        for tree, manifest in waiting_manifests(access.tables, partition).items():
            if missing := sorted(manifest.documents.keys() - present.get(tree, set())):
                reason = (
                    f"the build of {tree!r} that waits has the document {missing[0]!r}, which is "
                    "gone from the source; `raptor build` makes one without it"
                )
                raise dg.Failure(description=reason, allow_retries=False)


def build_rollback_job(access: CorpusAccess) -> dg.JobDefinition:
    """Return the job that publishes an earlier build and holds the tree there, or releases it."""
    corpus = access.names

    @dg.op(
        name=corpus.of(f"{ROLLBACK}_step"),
        description="Publish an earlier build of a tree, whole and without a call of a model.",
        out=dg.Out(dg.Nothing),
        pool=corpus.of(POOL),
    )
    def rollback(
        context: dg.OpExecutionContext, config: RollbackConfig
    ) -> Iterator[dg.AssetMaterialization | dg.Output[None]]:
        try:
            context.instance.add_run_tags(context.run_id, process_tags(context))
            with turn(access.home, context):
                if config.release:
                    published = release(access, config.tree)
                else:
                    published = roll_back(access, config.tree, config.to, note_of(config))
        except RaptorError as error:
            raise dg.Failure(description=str(error), allow_retries=False) from error
        yield _materialization(access, published, config)
        yield dg.Output(None)

    @dg.job(
        name=corpus.of(ROLLBACK),
        description="Go back to an earlier build of a tree; builds leave it until it is released.",
        executor_def=dg.in_process_executor,
    )
    def rollback_job() -> None:
        rollback()

    return rollback_job


def note_of(config: RollbackConfig) -> str:
    """Return who went back, when and why."""
    moment = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    return f"{config.reason or 'no reason given'} ({', '.join(filter(None, (config.who, moment)))})"


def _materialization(
    access: CorpusAccess, published: Published, config: RollbackConfig
) -> dg.AssetMaterialization:
    manifest, counts = published.manifest, published.counts
    version = TreeVersion.parse(manifest.inputs).published_as([manifest]).text
    return dg.AssetMaterialization(
        asset_key=access.names.tree.key,
        partition=partition_key(manifest.tree, access.settings.grouping),
        description="released" if config.release else f"held at an earlier build: {manifest.hold}",
        metadata={
            "tree": manifest.tree,
            "build": build_name(manifest),
            "build_before": build_name(published.replaced),
            "held": manifest.hold,
            "n_nodes": sum(manifest.layer_sizes),
            **{f"n_nodes_{name}": getattr(counts, name) for name in ("added", "removed")},
        },
        tags={DATA_VERSION: version, IS_GIVEN: "true"},
    )
