"""Jobs that publish another build of a tree: an earlier one, or one that waits for approval."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import dagster as dg
from pydantic import Field

from raptor_assets.assets.names import APPROVE, ROLLBACK, checks_of_all_trees
from raptor_assets.assets.versions import TreeVersion, code_versions
from raptor_assets.chain.events import to_check_evaluation
from raptor_assets.chain.provenance import DATA_VERSION, IS_GIVEN, Provenance
from raptor_assets.chain.run_log import Event, Events
from raptor_assets.corpus.changes import DropPartitions, SyncDecision, WithdrawTexts, decide_run
from raptor_assets.corpus.jobs import build_corpus_job
from raptor_assets.corpus.sync import execute_actions
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.current_state import CurrentState
from raptor_assets.home.publication import PublishedBuild, open_publication
from raptor_assets.home.regression import PUBLISHED, compare_baseline
from raptor_assets.home.rollback import release_tree, require_no_gone_document, roll_back
from raptor_assets.shown.tree_records import TreeRecord, trees_table
from raptor_core.checks.base import apply_severities, blocking_failures, describe_failed_checks
from raptor_core.documents import partition_key
from raptor_core.errors import CheckError, UnknownTreeError
from raptor_core.evaluation.regression import GOLDEN_REGRESSION, evaluate_regression
from raptor_core.retrieval import Query
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
        default=False, description="End the pin instead, so that builds publish the tree again."
    )


class ApproveConfig(dg.Config):
    """Configuration of a run that publishes what waits for approval."""

    trees: list[str] = Field(
        description="Names of the trees; all trees of their partitions are published."
    )


def build_version_jobs(access: CorpusAccess) -> list[dg.JobDefinition]:
    """Return the jobs over builds of trees."""

    def rollback(_context: dg.OpExecutionContext, config: RollbackConfig) -> Iterable[Event]:
        if config.release:
            published = release_tree(access, config.tree)
        else:
            published = roll_back(access, config.tree, config.to, rollback_note(config))
        pin = published.manifest.pin
        note = f"pinned to an earlier build: {pin}" if pin else "released"
        if published.n_withheld:
            note += f"; {published.n_withheld} nodes are left out, since people set chunks aside"
        manifest = published.manifest
        version = TreeVersion.parse(manifest.inputs).with_content_of([manifest]).text
        tags = {DATA_VERSION: version, IS_GIVEN: "true"}
        return [_to_materialization(access, published, note, tags)]

    def approve(context: dg.OpExecutionContext, config: ApproveConfig) -> Events:
        yield from _approve_builds(context, access, config.trees)

    return [
        build_corpus_job(
            access,
            ROLLBACK,
            "Go back to an earlier build of a tree; builds leave it until it is released.",
            RollbackConfig,
            rollback,
        ),
        build_corpus_job(
            access,
            APPROVE,
            "Publish a build of a tree that was made and checked, and waits for approval.",
            ApproveConfig,
            approve,
        ),
    ]


def _approve_builds(
    context: dg.OpExecutionContext, access: CorpusAccess, trees: Iterable[str]
) -> Events:
    """Publish builds that wait for approval, then drop the partitions that they replace."""
    inventory, grouping = access.source.complete_inventory(), access.settings.grouping
    chosen = {partition_key(tree, grouping): tree for tree in trees}
    waiting = access.waiting_builds.select_waiting(chosen)
    for partition, tree in chosen.items():
        if partition not in waiting:
            raise UnknownTreeError(f"no build of the tree {tree!r} waits for approval")
        for manifest in access.waiting_builds.read_manifests(partition).values():
            require_no_gone_document(access, inventory, manifest)
    yield from _compare_golden(access, sorted(chosen))
    cache, today = access.components(context.instance).cache, CurrentState.of(access)
    for partition in chosen:
        with access.store.open() as store:
            editions = access.waiting_builds.read(partition, store.identity)
            with open_publication(access, store, today) as publication:
                published = publication.publish(editions)
        access.waiting_builds.delete(partition)
        cache.forget_trees([each.manifest.tree for each in published])
        yield from _materialize_approved(context, access, partition, published)
    yield from execute_actions(context, access, _decide_removals(context, access))


def _compare_golden(access: CorpusAccess, partitions: Sequence[str]) -> Events:
    """Compare the answers to the golden set before and after an approval.

    Raises:
        CheckError: they are worse, and ``golden_regression`` has the severity "error".
    """
    checks = [check.name for _, check in checks_of_all_trees(access.settings)]
    if GOLDEN_REGRESSION.name not in checks or not access.store.exists():
        return
    query = Query.from_settings(access.settings)
    regression = compare_baseline(access, access.read_golden_cases(), query, PUBLISHED, partitions)
    verdicts = apply_severities([evaluate_regression(regression)], access.settings.checks)
    yield from (to_check_evaluation(access.names.tree.key, None, verdict) for verdict in verdicts)
    if refused := blocking_failures(verdicts):
        raise CheckError(describe_failed_checks(refused))


def _materialize_approved(
    context: dg.OpExecutionContext,
    access: CorpusAccess,
    partition: str,
    published: Sequence[PublishedBuild],
) -> Events:
    """Write the table of a partition's trees, and yield their materializations."""
    tree, manifests = access.names.tree, [each.manifest for each in published]
    version = TreeVersion.parse(manifests[0].inputs).with_content_of(manifests).text
    properties = {"data_version": version, "inputs": version}
    records = {
        each.manifest.tree: TreeRecord.of(each.manifest, each.replaced_manifest, each.counts)
        for each in published
    }
    access.tables.write(tree.table_path, partition, trees_table(manifests, records), properties)
    versions = code_versions(access.settings, access.components().custom_fingerprints)
    parents = access.names.parents_by_asset(access.settings.tree.max_layers)
    tags = Provenance(context.instance, [partition], versions, parents).tags_of_new(
        tree, partition, version
    )
    yield from (_to_materialization(access, each, "approved", tags) for each in published)


def _decide_removals(context: dg.OpExecutionContext, access: CorpusAccess) -> SyncDecision:
    """Decide what the published builds replace; the decision builds nothing."""
    begun = context.instance.get_dynamic_partitions(access.names.partitions_name)
    decision = decide_run(access, begun)
    if decision.refusal:
        return SyncDecision(decision.changes, decision.inventory, ())
    unbuilt = {*decision.to_build}
    drop = [name for name in decision.to_drop if name in decision.changes.droppable(unbuilt)]
    return SyncDecision(
        decision.changes, decision.inventory, (WithdrawTexts(), DropPartitions(tuple(drop)))
    )


def rollback_note(config: RollbackConfig) -> str:
    """Return who rolled back, when and why."""
    moment = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    return f"{config.reason or 'no reason given'} ({', '.join(filter(None, (config.who, moment)))})"


def _to_materialization(
    access: CorpusAccess, published: PublishedBuild, note: str, tags: Mapping[str, str]
) -> dg.AssetMaterialization:
    manifest, replaced, counts = published.manifest, published.replaced_manifest, published.counts
    return dg.AssetMaterialization(
        asset_key=access.names.tree.key,
        partition=partition_key(manifest.tree, access.settings.grouping),
        description=note,
        metadata={
            "tree": manifest.tree,
            "build": build_name(manifest),
            "build_before": build_name(replaced) if replaced else "",
            "pin": manifest.pin,
            "n_nodes": sum(manifest.layer_sizes),
            "n_nodes_withheld": published.n_withheld,
            **{f"n_nodes_{name}": getattr(counts, name) for name in ("added", "removed")},
        },
        tags=dict(tags),
    )
