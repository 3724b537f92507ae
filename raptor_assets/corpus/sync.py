"""The sync job, which executes a decision: update readers, build, withdraw, drop.

The sensor, schedules and the command run it; ``changes`` decides.
"""

from collections.abc import Iterable, Sequence

import dagster as dg
from pydantic import Field

from raptor_assets.assets.names import SYNC
from raptor_assets.chain.run import ChainRun
from raptor_assets.chain.run_log import Events
from raptor_assets.chain.runs import fail_dead_runs
from raptor_assets.corpus.changes import (
    BuildPartitions,
    DropPartitions,
    ForgetBuilds,
    PartitionChange,
    RefuseRun,
    SyncDecision,
    UpdateReaders,
    WithdrawTexts,
    decide_run,
)
from raptor_assets.corpus.corpus_tree import prepare_corpus_tree
from raptor_assets.corpus.jobs import build_corpus_job, drop_partitions
from raptor_assets.corpus.upstream import explain_older_than_upstream
from raptor_assets.home.access import CorpusAccess, corpus_tree_access
from raptor_assets.home.publication import update_readers, withdraw_texts
from raptor_assets.home.reembed import reembed
from raptor_assets.home.rollback import delete_builds_with_gone_texts
from raptor_assets.shown.progress import Watch, ignore_progress
from raptor_assets.shown.rights import describe_unmatched_rules
from raptor_core.errors import SourceError


class SyncConfig(dg.Config):
    """Configuration of a run that builds what changed; every part has a default."""

    partitions: list[str] = Field(
        default=[],
        description="Partitions to build in one run, changed or not, neighbours or not; nothing is "
        "dropped then. Empty builds all that changed.",
    )
    confirm_removal: bool = Field(
        default=False, description="Documents that are missing are gone on purpose, however many."
    )
    reembed: bool = Field(
        default=False,
        description="First give published trees vectors of a changed embedder; no summary is made.",
    )


def explain_waiting(access: CorpusAccess, instance: dg.DagsterInstance) -> str:
    """Return why the source of a corpus cannot be read yet, or ""."""
    if reason := prepare_corpus_tree(access, instance):
        return reason
    corpus = access.names
    if access.source.settings.has_sources:
        return explain_older_than_upstream(access, instance)
    if corpus.has_upstream:
        return (
            f"{corpus.source.key_text} was not materialized yet. Materialize its upstream asset "
            f"and {corpus.source.key_text}, for example by a job over both"
        )
    return "no source is named; set paths under [source] in raptor.toml"


def build_sync_job(
    access: CorpusAccess, progress: Watch = ignore_progress, decision: SyncDecision | None = None
) -> dg.JobDefinition:
    """Return the job that builds what is new or changed, and drops what is gone.

    ``decision`` is one that a caller in this process has made.
    """

    def sync(context: dg.OpExecutionContext, config: SyncConfig) -> Events:
        fail_dead_runs(context.instance)
        if reason := explain_waiting(access, context.instance):
            raise SourceError(reason)
        with access.components(context.instance).ledger.share_budget():
            if config.reembed:
                _reembed_published(context, access)
            chosen = decision or _decide_and_log(context, config, access)
            yield from execute_actions(context, access, chosen, progress)

    return build_corpus_job(
        access,
        SYNC,
        "Builds what is new or changed and drops what is gone; it needs no partition.",
        SyncConfig,
        sync,
    )


def _reembed_published(context: dg.OpExecutionContext, access: CorpusAccess) -> None:
    """Embed the published trees and the corpus tree again."""
    for each in [access] + ([corpus_tree_access(access)] if access.corpus_below is None else []):
        reembed(each, context.log.info)


def _decide_and_log(
    context: dg.OpExecutionContext, config: SyncConfig, access: CorpusAccess
) -> SyncDecision:
    """Decide what to do, and log the number of partitions in each state."""
    begun = context.instance.get_dynamic_partitions(access.names.partitions_name)
    chosen = tuple(dict.fromkeys(config.partitions)) or None
    decision = decide_run(
        access,
        begun,
        partitions=chosen,
        force=chosen is not None,
        is_confirmed=config.confirm_removal,
    )
    counts = [
        f"{len(decision.changes.partitions_in(state))} {state.value}" for state in PartitionChange
    ]
    context.log.info(", ".join(counts))
    for line in describe_unmatched_rules(decision.inventory.unmatched_rules):
        context.log.warning(line)
    return decision


def execute_actions(
    context: dg.OpExecutionContext,
    access: CorpusAccess,
    decision: SyncDecision,
    progress: Watch = ignore_progress,
) -> Events:
    """Execute the actions of a decision in their order.

    A partition whose build fails does not stop the others; the step fails at the end.

    Raises:
        SourceError: the decision refuses to build; rights were changed before.
    """
    run: ChainRun | None = None
    for action in decision.actions:
        if isinstance(action, BuildPartitions):
            added = sorted(action.partitions)
            context.instance.add_dynamic_partitions(access.names.partitions_name, added)
            run = ChainRun(context, action.partitions, access, progress)
            yield from run.build_partitions()
        elif isinstance(action, DropPartitions):
            unpublished = {*run.failures, *run.waiting} if run else set[str]()
            droppable = set(decision.changes.droppable(unpublished))
            _drop_if_still_gone(
                context, access, [name for name in action.partitions if name in droppable]
            )
        else:
            _execute_action(context, access, decision, action)
    for tree, note in decision.changes.ended_pin_notes.items():
        context.log.warning(f"the pin of {tree!r} ended ({note}): none of its documents is left")
    if run:
        run.raise_failures()


def _execute_action(
    context: dg.OpExecutionContext,
    access: CorpusAccess,
    decision: SyncDecision,
    action: UpdateReaders | RefuseRun | ForgetBuilds | WithdrawTexts,
) -> None:
    """Execute an action that neither builds nor drops partitions; raise the error of a refusal."""
    match action:
        case UpdateReaders():
            n_nodes = update_readers(access, decision.inventory)
            context.log.info(f"{n_nodes} nodes of published trees changed readers")
        case RefuseRun(error):
            raise SourceError(f"{error}{_how_to_confirm(access, decision)}") from error
        case ForgetBuilds(trees):
            delete_builds_with_gone_texts(access, trees, decision.inventory)
        case WithdrawTexts(trees):
            if n_nodes := withdraw_texts(access, access.source.current_inventory(), trees):
                context.log.info(f"{n_nodes} nodes were withdrawn: set aside, or gone")


def _how_to_confirm(access: CorpusAccess, decision: SyncDecision) -> str:
    if not decision.changes.removal_doubt:
        return ""
    return (
        f", or launch {access.names.full_name(SYNC)} with `confirm_removal: true` in its "
        "configuration"
    )


def _drop_if_still_gone(
    context: dg.OpExecutionContext, access: CorpusAccess, partitions: Sequence[str]
) -> None:
    """Drop partitions that are still gone, since the source may have changed during the run."""
    begun: Iterable[str] = context.instance.get_dynamic_partitions(access.names.partitions_name)
    now = decide_run(access, tuple(begun), is_confirmed=True)
    gone = set(now.changes.partitions_in(PartitionChange.REMOVED))
    if spared := sorted(set(partitions) - gone):
        context.log.info(f"not dropped, since not gone any more: {', '.join(spared)}")
    drop_partitions(context, access, [name for name in partitions if name in gone])
