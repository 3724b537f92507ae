"""The chain as one multi-asset: all layers of many partitions in one step and process.

docs/adr/0001-one-op-for-the-chain.md gives the reasons. Each partition's materializations and check
results are logged one by one. A failed partition stops; the others are published, and the step then
fails and names the failed ones. The steps are in ``steps``, what Dagster logs in ``events``.
"""

import logging
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import dagster as dg
from pydantic import Field

from raptor_assets.assets import names
from raptor_assets.assets.names import SYNC, ChainAsset
from raptor_assets.assets.specs import build_check_specs, column_schema
from raptor_assets.assets.versions import PAST_TOP
from raptor_assets.chain.context import RunContext, Size, batch_chars, batches, release_memory
from raptor_assets.chain.events import (
    evaluation,
    failed_checks_in,
    failure_event,
    measured_golden,
    measured_questions,
    past_top,
    run_failure,
)
from raptor_assets.chain.provenance import Provenance
from raptor_assets.chain.runs import process_tags, run_spending_tags, turn, voided_costs
from raptor_assets.chain.state import PartitionState, StepResult
from raptor_assets.chain.steps import build_steps
from raptor_assets.chain.steps.base import Step
from raptor_assets.dagster_private import AssetMaterializationPlannedData, Target
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.publication import set_readers
from raptor_assets.shown.progress import (
    Failure,
    Progress,
    StepProgress,
    Watch,
    describe_step,
    ignore_progress,
)
from raptor_core.checks.base import CheckResult, blocking_failures, explain_refusal
from raptor_core.errors import EndpointError, ModelError, RaptorError, StoreRefusedError
from raptor_core.evaluation.asked import UNANSWERED_SHARE
from raptor_core.evaluation.golden import GOLDEN_RETRIEVAL
from raptor_core.evaluation.golden_file import Question
from raptor_core.tracing import span

Event = dg.AssetMaterialization | dg.AssetCheckEvaluation | dg.AssetObservation
Events = Iterator[Event]


def _is_shown(record: logging.LogRecord) -> bool:
    """Return False for Dagster's line on missing outputs of checks, whose results are logged."""
    return "did not yield or return expected outputs" not in record.getMessage()


class ChainConfig(dg.Config):
    """Partitions of a run, if Dagster's tags do not name them."""

    partitions: list[str] = Field(
        default=[], description="Partitions to make; empty takes those that were chosen at launch."
    )


def build_chain(
    specs: Sequence[dg.AssetSpec],
    access: CorpusAccess,
    progress: Watch = ignore_progress,
) -> dg.AssetsDefinition:
    """Return the multi-asset of the chain; ``progress`` is called for each step of a run here."""
    corpus = access.names

    @dg.multi_asset(
        name=corpus.of(names.CHAIN),
        description="Documents to published trees, layer by layer, for many partitions at once.",
        specs=specs,
        check_specs=build_check_specs(access.settings, corpus, access.n_layers),
        partitions_def=names.corpus_partitions(corpus.corpus),
        backfill_policy=dg.BackfillPolicy.single_run(),
        can_subset=True,
        pool=corpus.of(names.POOL),
    )
    def raptor(context: dg.AssetExecutionContext, config: ChainConfig) -> Events:
        selected = context.selected_asset_keys, context.selected_asset_check_keys
        run = ChainRun(context.op_execution_context, config.partitions, access, progress, selected)
        with turn(access.home, context.op_execution_context):
            if run.reads_source:
                set_readers(access)
            yield from run.events()
        run.raise_failures()

    return raptor


class ChainRun:
    """Run of the chain in a step, over named partitions or over those chosen at launch.

    ``selected`` are the keys in Dagster of assets to make and of checks; None is all of them.

    Attributes:
        failures: why partitions failed, by name.
        waiting: partitions whose build waits for approval since.
    """

    def __init__(
        self,
        context: dg.OpExecutionContext,
        named: Sequence[str],
        access: CorpusAccess,
        watch: Watch = ignore_progress,
        selected: tuple[Collection[dg.AssetKey], Collection[dg.AssetCheckKey]] | None = None,
    ) -> None:
        self._context = context
        self._access = access
        self._named = named
        self._settings = access.settings
        self._golden = access.golden_cases
        self._corpus = access.names
        self._chain = self._corpus.chain(self._settings.tree.max_layers)
        self._parents = self._corpus.parents(self._settings.tree.max_layers)
        self._tree = self._corpus.tree
        self._selected = names.with_layers_above(
            self._chain, selected and {key.to_user_string() for key in selected[0]}
        )
        checks = names.partition_checks(self._settings, self._corpus)
        checks += names.checks_of_all_trees(self._settings, self._corpus)
        self._checks = {
            (asset, check.name)
            for asset, check in checks
            if not selected
            or dg.AssetCheckKey(asset.key, check.name) in selected[1]
            or (asset in self._selected and asset.key not in selected[0])
        }
        self.failures: dict[str, Failure] = {}
        self.waiting: set[str] = set()
        self._stopped: Failure | None = None
        self._refused: list[CheckResult] = []
        access.declare()
        self._watch = watch
        components = access.components(context.instance)
        components.curation = access.curation()
        self._at = StepProgress(components.ledger.spent, watch)
        self._run_context = RunContext(
            access,
            components,
            lambda: self._partitions,
            warn=context.log.warning,
            working=self._at.report,
        )
        self._steps = build_steps(self._chain)

    @property
    def reads_source(self) -> bool:
        """Whether the run makes the documents, which the source has."""
        return self._corpus.documents in self._selected

    def events(self) -> Events:
        """Build all partitions in batches and yield their events; fill ``failures``."""
        self._context.log.addFilter(_is_shown)
        components = self._run_context.components
        components.ledger.begin()
        self._tag({**voided_costs(self._context.run.tags), **process_tags(self._context)})
        try:
            yield from self._all_batches()
        finally:  # also after a cancellation, since its answers are paid
            self._tag(run_spending_tags(components.ledger))

    def _all_batches(self) -> Events:
        cases = self._golden() if (self._tree, GOLDEN_RETRIEVAL.name) in self._checks else ()
        for batch in batches(self._partitions, self._sizes(), batch_chars(self._settings)):
            if self._stopped:
                self.failures |= (skipped := self._skip(batch, self._stopped))
                for name, failure in skipped.items():
                    yield failure_event(self._tree.key, name, failure)
                continue
            states = [PartitionState(name, self._run_context) for name in batch]
            self._begin(batch)
            yield from self._batch(states) if self._selected else self._check(states)
            self.failures |= {state.name: state.failure for state in states if state.failure}
            self.waiting |= {state.name for state in states if state.is_waiting}
        if not self._stopped:
            yield from self._measure(cases)

    def _measure(self, cases: Sequence[Question]) -> Events:
        """Yield the results on all trees, which fail the run if their severity is "error"."""
        if cases:
            self._refused += measured_golden(self._run_context, cases)
        if (self._tree, UNANSWERED_SHARE.name) in self._checks:
            self._refused += measured_questions(self._run_context)
        if not self._refused:
            return
        for verdict in self._refused:
            yield evaluation(self._tree.key, None, verdict)
        failed = failed_checks_in(self._tree, "", self._refused)
        self._watch(Progress(self._tree.name, (), 0, 0.0, failed_checks=failed))

    def raise_failures(self) -> None:
        """Raise the error of the step if a partition failed, or a check on all of them did."""
        if self.failures:
            raise run_failure(self.failures, len(self._partitions))
        if refused := blocking_failures(self._refused):
            raise dg.Failure(explain_refusal(refused), allow_retries=False)

    def _begin(self, batch: Sequence[str]) -> None:
        """Forget what was read for the batch of before, which other runs may have changed."""
        self._run_context.forget_published()
        instance, versions = self._context.instance, self._run_context.versions
        self._provenance = Provenance(instance, batch, versions, self._parents)

    def _skip(self, batch: Sequence[str], cause: Failure) -> dict[str, Failure]:
        skipped = dict.fromkeys(batch, cause)
        self._watch(Progress(cause.asset, (), 0, 0.0, failed=skipped))
        return skipped

    @cached_property
    def _partitions(self) -> list[str]:
        """Partitions of this run; all of the corpus if the run only checks and names none."""
        context = self._context
        if self._named:
            return list(self._named)
        if context.has_partition_key or context.has_partition_key_range:
            return list(context.partition_keys)
        if self._selected:
            raise dg.Failure(
                "No partition was chosen, and every asset of the chain has partitions: choose some "
                f"in the launch dialog, or launch the job {self._corpus.of(SYNC)}, which needs "
                "none: it finds those that changed.",
                allow_retries=False,
            )
        return list(context.instance.get_dynamic_partitions(self._corpus.partitions))

    def _check(self, states: Sequence[PartitionState]) -> Events:
        """Execute the chosen checks on recorded assets; unreadable tables give a warning."""
        checked = {asset for asset, _ in self._checks}
        for step in self._steps:
            if step.asset in checked:
                for state in self._recorded(step.asset, states):
                    yield from self._check_one(step, state)
        self._run_context.store.release()

    def _check_one(self, step: Step, state: PartitionState) -> Events:
        try:
            verdicts = step.check(state)
            if not self._settings.runs.samples:
                verdicts = [verdict.without_texts() for verdict in verdicts]
        except RaptorError as error:
            self._context.log.warning(f"{state.name}: {step.asset.name} was not checked: {error}")
            return
        yield from self._evaluations(step, StepResult(state, None, {}, 0, verdicts=verdicts))

    def _recorded(
        self, asset: ChainAsset, states: Sequence[PartitionState]
    ) -> list[PartitionState]:
        recorded = self._provenance.latest(asset) if states else {}
        pairs = ((state, recorded.get(state.name)) for state in states)
        return [state for state, last in pairs if last and last.data_version != PAST_TOP]

    def _sizes(self) -> Mapping[str, Size]:
        if not self.reads_source:
            return {}
        try:
            return self._run_context.sizes
        except RaptorError:  # the first step raises it again
            return {}

    def _tag(self, tags: dict[str, str]) -> None:
        if tags:
            self._context.instance.add_run_tags(self._context.run.run_id, tags)

    def _batch(self, states: Sequence[PartitionState]) -> Events:
        if self._tree in self._selected:
            self._plan(self._tree, [state.name for state in states])
        try:
            for step in self._steps:
                alive = [each for each in states if not (each.failure or each.is_waiting)]
                if alive and step.asset in self._selected:
                    yield from self._step(step, alive)
        finally:
            self._run_context.store.release()
            release_memory()

    def _plan(self, asset: ChainAsset, partitions: Iterable[str]) -> None:
        """Record partitions as planned: they count as failed if the run ends without them."""
        run = self._context.run
        step = str(self._context.op_handle)
        for name in partitions:
            planned = AssetMaterializationPlannedData(
                asset.key, partition=name, partitions_subset=None
            )
            event = dg.DagsterEvent.build_asset_materialization_planned_event(
                run.job_name, step, planned
            )
            self._context.instance.report_dagster_event(event, run.run_id, logging.DEBUG)

    def _step(self, step: Step, states: Sequence[PartitionState]) -> Events:
        asset = step.asset
        self._at.begin(asset.name, tuple(state.name for state in states))
        self._at.report(0, 0)
        tall = {state.name: state for state in states if self._has(asset, state)}
        with span(f"step {asset.name}", {"raptor.partitions": len(tall)}):
            results = self._attempt(step, list(tall.values())) if tall else []
        if not self._settings.runs.samples:
            results = [result.without_texts() for result in results]
        seconds = self._at.seconds
        results += self._retire(step, [state for state in states if state.name not in tall])
        yield from self._record(step, results, seconds)
        for result in results:
            if refused := blocking_failures(result.verdicts):
                result.state.failure = Failure(asset.name, explain_refusal(refused))
        for state in states:
            if state.failure:
                yield from self._failed(step, state.name, state.failure)
        self._report(step, states, results, seconds)

    def _record(self, step: Step, results: Sequence[StepResult], seconds: float) -> Events:
        """Yield the materializations of a step, then the results of its checks."""
        for result in results:
            if result.data_version is not None:
                yield self._materialization(step, result, results, seconds)
        if results:
            self._provenance.forget(step.asset)
        for result in results:
            yield from self._evaluations(step, result)

    def _failed(self, step: Step, name: str, failure: Failure) -> Events:
        """Report a partition's failure at the asset of the step and at the tree."""
        yield failure_event(step.asset.key, name, failure)
        if step.asset != self._tree and self._tree in self._selected:
            yield failure_event(self._tree.key, name, failure)

    def _has(self, asset: ChainAsset, state: PartitionState) -> bool:
        """Return whether a tree of the partition is high enough for an asset."""
        try:
            return state.has_layer(asset.needed_layer)
        except RaptorError:  # the step raises it again
            return True

    def _retire(self, step: Step, states: Sequence[PartitionState]) -> Iterator[StepResult]:
        """Yield a last result for each partition whose trees no longer reach the step's asset."""
        for state in self._recorded(step.asset, states):
            self._run_context.tables.delete(step.asset.path, state.name)
            metadata = {"state": PAST_TOP, "n_nodes": 0, "n_tokens": 0}
            verdicts = past_top(name for asset, name in self._checks if asset == step.asset)
            yield StepResult(state, PAST_TOP, metadata, 0, verdicts=verdicts)

    def _attempt(self, step: Step, states: Sequence[PartitionState]) -> list[StepResult]:
        """Run the step on all partitions, or on each alone after an error of a model or a server.

        An error of two partitions in a row stops all of them, and the run starts no further one.
        So does any other error, such as one of the store, a key, the source or the disk.
        """
        try:
            return step.run(self._run_context, states)
        except RaptorError as error:
            is_local = isinstance(error, ModelError | EndpointError | StoreRefusedError)
            if not is_local or len(states) == 1:
                self._stop(step, states, error)
                return []
        results: list[StepResult] = []
        for at, state in enumerate(states):
            try:
                results += step.run(self._run_context, [state])
            except RaptorError as error:
                state.fail(step.asset, error)
                if at and states[at - 1].failure:
                    self._stop(step, states[at:], error)
                    break
        return results

    def _stop(self, step: Step, states: Sequence[PartitionState], error: RaptorError) -> None:
        for state in states:
            state.fail(step.asset, error)
        self._stopped = states[0].failure

    def _materialization(
        self, step: Step, result: StepResult, results: Sequence[StepResult], seconds: float
    ) -> dg.AssetMaterialization:
        """Return a partition's materialization, with its share of the step's seconds, by rows."""
        total = sum(each.n_rows + 1 for each in results)
        name = result.state.name
        columns = {"dagster/column_schema": column_schema(step.asset.kind)}
        return dg.AssetMaterialization(
            asset_key=step.asset.key,
            partition=name,
            metadata={
                **result.metadata,
                **(columns if result is results[-1] else {}),  # long, and alike for all
                "dagster/row_count": result.n_rows,
                "reused": result.reused,
                "seconds": round(seconds * (result.n_rows + 1) / total, 4),
            },
            tags=self._provenance.tags(step.asset, name, str(result.data_version)),
        )

    def _evaluations(self, step: Step, result: StepResult) -> Events:
        """Yield the results of a partition's checks."""
        name, key = result.state.name, step.asset.key
        recorded = self._provenance.latest(step.asset).get(name) if result.verdicts else None
        run_id = self._context.run.run_id
        target = (
            Target(storage_id=recorded.storage_id, run_id=run_id, timestamp=time.time())
            if recorded
            else None
        )
        for verdict in result.verdicts:
            if (step.asset, verdict.name) in self._checks:
                yield evaluation(key, name, verdict, target)

    def _report(
        self,
        step: Step,
        states: Sequence[PartitionState],
        results: Sequence[StepResult],
        seconds: float,
    ) -> None:
        waiting = tuple(result.state.name for result in results if result.state.is_waiting)
        partitions = tuple(r.state.name for r in results if not r.state.is_waiting)
        failed = {state.name: state.failure for state in states if state.failure}
        for name, failure in failed.items():
            self._context.log.error(f"{name}: {failure.asset}: {failure.reason}")
        self._plan(step.asset, failed)
        n_rows = sum(result.n_rows for result in results)
        n_made = sum(o.metadata.get(key, 0) for o in results for key in ("n_computed", "n_made"))
        checks = [
            f for r in results for f in failed_checks_in(step.asset, r.state.name, r.verdicts)
        ]
        asset, usage = step.asset.name, self._at.usage
        done = Progress(
            asset,
            partitions,
            n_rows,
            seconds,
            n_made,
            failed,
            tuple(checks),
            usage=usage,
            waiting=waiting,
        )
        if results:
            self._context.log.info(describe_step(done))
        self._watch(done)
