"""The chain as one multi-asset: all layers of many partitions in one step and process.

Why one step: docs/adr/0001-one-op-for-the-chain.md. Every partition's materializations and
check results are logged one by one; a partition that fails is left out of what follows, the
others are finished and published, and the step then fails with the names of those that did not.
"""

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import dagster as dg
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData as Target,
)
from dagster._core.events import AssetMaterializationPlannedData, DagsterEvent
from pydantic import Field

from raptor_assets import keys
from raptor_assets.batches import Size, batches, give_memory_back
from raptor_assets.evaluations import (
    GOLDEN_KEY,
    evaluation,
    failure_events,
    golden_events,
    past_top,
    run_failure,
    spread_markdown,
)
from raptor_assets.names import CHAIN
from raptor_assets.partition_state import PartitionState, StepResult
from raptor_assets.process import endpoints_usage, run_spending_tags, turn_tags
from raptor_assets.progress import (
    Failure,
    Progress,
    StepUnderWay,
    Watch,
    ignore_progress,
    told_step,
)
from raptor_assets.project.resources import Resources
from raptor_assets.project.turns import begin_turn
from raptor_assets.provenance import Provenance
from raptor_assets.report_pages import node_link
from raptor_assets.run_context import RunContext
from raptor_assets.specs import build_check_specs
from raptor_assets.steps import build_steps
from raptor_assets.steps.base import Step
from raptor_assets.versions import DROPPED, PAST_TOP
from raptor_core.errors import EndpointError, ModelError, RaptorError, StoreRefusedError
from raptor_core.quality.checks import blocking_failures
from raptor_core.quality.document_text import document_text
from raptor_core.store import check_writable

Events = Iterator[dg.AssetMaterialization | dg.AssetCheckEvaluation | dg.AssetObservation]


def _is_told(record: logging.LogRecord) -> bool:
    """False for the line by which Dagster misses outputs of checks, whose results are logged."""
    return "did not yield or return expected outputs" not in record.getMessage()


class ChainConfig(dg.Config):
    """Which partitions a run is over, where Dagster's tags do not say it."""

    partitions: list[str] = Field(
        default=[], description="Partitions to make; empty takes those that were chosen at launch."
    )


def build_chain(
    specs: Sequence[dg.AssetSpec], resources: Resources, progress: Watch = ignore_progress
) -> dg.AssetsDefinition:
    """The multi-asset of the whole chain of a corpus.

    Args:
        specs: of all its assets, as the corpus shows them.
        resources: of the corpus; they belong to this definition, and have no keys in Dagster.
        progress: told of each step of a run in this process.
    """
    corpus = resources.names

    @dg.multi_asset(
        name=corpus.of(CHAIN),
        description="Documents to published trees, layer by layer, for many partitions at once.",
        specs=specs,
        check_specs=build_check_specs(resources.settings, corpus),
        partitions_def=keys.corpus_partitions(corpus.corpus),
        backfill_policy=dg.BackfillPolicy.single_run(),
        can_subset=True,
        pool=corpus.of(keys.POOL),
    )
    def raptor(context: dg.AssetExecutionContext, config: ChainConfig) -> Events:
        yield from _Run(context, config.partitions, resources, progress).events()

    return raptor


class _Run:
    """One execution of the step."""

    def __init__(
        self,
        context: dg.AssetExecutionContext,
        named: Sequence[str],
        resources: Resources,
        watch: Watch,
    ) -> None:
        self._context = context
        self._named = named
        self._settings = resources.settings
        self._golden = resources.golden_cases
        self._corpus = resources.names
        own = {self._shown(key): key for key in keys.chain_keys(self._settings.tree.max_layers)}
        self._selected = {own[key] for key in context.selected_asset_keys}
        self._checks = {
            dg.AssetCheckKey(own[check.asset_key], check.name)
            for check in context.selected_asset_check_keys
        }
        self._struck: Failure | None = None
        self._numbers: dict[dg.AssetCheckKey, dict[str, Mapping[str, float]]] = {}
        resources.declare()
        warn = context.log.warning
        self._turn = begin_turn(resources.home.turns, context.instance, context.run.run_id, warn)
        self._watch = watch
        components = resources.components(context.instance)
        components.curation = resources.curation()
        self._at = StepUnderWay(lambda: endpoints_usage(components.ledger, self._settings), watch)
        self._run_context = RunContext(
            resources, components, lambda: self._names, warn=warn, working=self._at.tell
        )
        self._steps = build_steps(self._settings.tree.max_layers)

    def _shown(self, key: dg.AssetKey) -> dg.AssetKey:
        return keys.shown(self._corpus, key)

    def events(self) -> Events:
        """Log everything, then fail if a partition did.

        Raises:
            Failure: it names each failed partition with asset, reason and remedy.
            StoreError: the store's key may not write; nothing was begun.
        """
        self._context.log.addFilter(_is_told)
        if self._selected:
            check_writable(self._settings.store)
        self._run_context.components.ledger.begin()
        context, max_layers = self._context, self._settings.tree.max_layers
        self._tag(turn_tags(context))
        depends = keys.dependencies(max_layers, follows=self._corpus.follows)
        cases = self._golden() if GOLDEN_KEY in self._checks else ()
        names = self._names
        failures: dict[str, Failure] = {}
        for batch in batches(names, self._sizes()):
            if self._struck:
                told = f"not started, since the run stopped there: {self._struck.reason}"
                left_out = dict.fromkeys(batch, replace(self._struck, reason=told))
                failures |= left_out
                self._watch(Progress(self._struck.asset, (), 0, 0.0, failed=left_out))
                for name, failure in left_out.items():
                    yield from failure_events(self._shown(keys.TREE), name, failure, ())
                continue
            states = [PartitionState(name, self._run_context) for name in batch]
            with self._turn.take(batch):
                self._run_context.look_again()
                self._provenance = Provenance(
                    context.instance, batch, self._run_context.versions, depends, self._corpus
                )
                yield from self._batch(states) if self._selected else self._check(states)
            failures |= {state.name: state.failure for state in states if state.failure}
        if cases and not self._struck:
            yield from golden_events(self._run_context, cases, context.instance, self._corpus)
        self._tag(run_spending_tags(self._run_context.components.ledger, self._settings))
        if failures:
            raise run_failure(failures, len(names))

    @cached_property
    def _names(self) -> list[str]:
        """The partitions of this run; of one that only checks, and names none, all that there are.

        Raises:
            Failure: assets are to be made, and no partition was chosen.
        """
        context = self._context
        if self._named:
            return list(self._named)
        if context.has_partition_key or context.has_partition_key_range:
            return list(context.partition_keys)
        if self._selected:
            raise dg.Failure(
                "No partition was chosen, and every asset of the chain has partitions: choose some "
                "in the launch dialog, or run `raptor build`, which finds those that changed.",
                allow_retries=False,
            )
        return list(context.instance.get_dynamic_partitions(self._corpus.partitions))

    def _check(self, states: Sequence[PartitionState]) -> Events:
        """Execute the chosen checks on what is recorded of these partitions; nothing is made.

        A partition that has no such layer, or whose tables cannot be read, is left out and told.
        """
        asked = {check.asset_key for check in self._checks}
        with self._run_context.components.cache:
            for step in self._steps:
                if step.key in asked:
                    for state in self._recorded(step, states):
                        yield from self._check_one(step, state)
            self._run_context.store.release()

    def _check_one(self, step: Step, state: PartitionState) -> Events:
        try:
            verdicts = step.check(state)
        except RaptorError as error:
            asset = step.key.to_user_string()
            self._context.log.warning(f"{state.name}: {asset} was not checked: {error}")
            return
        yield from self._evaluations(step, StepResult(state, None, {}, 0, verdicts=verdicts))

    def _recorded(self, step: Step, states: Sequence[PartitionState]) -> list[PartitionState]:
        """Those of the partitions for which the step's asset is recorded."""
        recorded = self._provenance.latest(step.key) if states else {}
        there = ((state, recorded.get(state.name)) for state in states)
        return [s for s, last in there if last and last.data_version not in (PAST_TOP, DROPPED)]

    def _sizes(self) -> Mapping[str, Size]:
        """What each partition holds, where this run reads the source."""
        if keys.DOCUMENTS not in self._selected:
            return {}
        try:
            return self._run_context.sizes
        except RaptorError:  # the first step meets it again, and tells it
            return {}

    def _tag(self, tags: dict[str, str]) -> None:
        if tags:
            self._context.instance.add_run_tags(self._context.run.run_id, tags)

    def _batch(self, states: Sequence[PartitionState]) -> Events:
        if keys.TREE in self._selected:
            self._plan(keys.TREE, [state.name for state in states])
        with self._run_context.components.cache:
            try:
                for step in self._steps:
                    alive = [state for state in states if not state.failure]
                    if alive and step.key in self._selected:
                        yield from self._step(step, alive)
            finally:
                self._run_context.store.release()
                give_memory_back()

    def _plan(self, key: dg.AssetKey, names: Iterable[str]) -> None:
        """Say that partitions are to be made: if the run ends without them, they have failed."""
        run = self._context.run
        step = str(self._context.op_execution_context.op_handle)
        for name in names:
            planned = AssetMaterializationPlannedData(
                self._shown(key), partition=name, partitions_subset=None
            )
            told = DagsterEvent.build_asset_materialization_planned_event(
                run.job_name, step, planned
            )
            self._context.instance.report_dagster_event(told, run.run_id, logging.DEBUG)

    def _step(self, step: Step, states: Sequence[PartitionState]) -> Events:
        self._at.begin(step.key.to_user_string(), tuple(state.name for state in states))
        self._at.tell(0, 0)
        there = {state.name: state for state in states if self._has(step, state)}
        results = self._attempt(step, list(there.values())) if there else []
        seconds = self._at.seconds
        results += self._retire(step, [state for state in states if state.name not in there])
        failed = [state for state in states if state.failure]
        for state in failed:  # first: the list of checks in the UI shows what was logged last
            yield from self._failed(step, state, judged=False)
        for result in results:
            if result.data_version is not None:
                yield self._materialization(step, result, results, seconds)
        if results:
            self._provenance.recorded(step.key)
        for result in results:
            yield from self._evaluations(step, result, is_last=result is results[-1])
            if refused := blocking_failures(result.verdicts):
                told = "; ".join(f"check {v.name}: {v.summary} {v.remedy}" for v in refused)
                result.state.failure = Failure(step.key.to_user_string(), told)
        for state in states:
            if state.failure and state not in failed:
                yield from self._failed(step, state, judged=True)
        self._report(step, states, results, seconds)

    def _failed(self, step: Step, state: PartitionState, *, judged: bool) -> Events:
        """Say why, where a person looks: at the asset, in its checks, and at the tree."""
        assert state.failure is not None  # noqa: S101 - of those that failed
        asked = () if judged else sorted(self._checks - {GOLDEN_KEY})
        checks = [check.name for check in asked if check.asset_key == step.key]
        yield from failure_events(self._shown(step.key), state.name, state.failure, checks)
        if step.key != keys.TREE and keys.TREE in self._selected:
            yield from failure_events(self._shown(keys.TREE), state.name, state.failure, ())

    def _has(self, step: Step, state: PartitionState) -> bool:
        """Whether a tree of the partition goes up to the step's asset."""
        try:
            return state.has_layer(keys.needed_layer(step.key))
        except RaptorError:  # the step meets it again, and tells it
            return True

    def _retire(self, step: Step, states: Sequence[PartitionState]) -> Iterator[StepResult]:
        """A last result of each partition whose trees went up to the step's asset and no longer do.

        Dagster has no way to take back the materialization of one partition.
        """
        checks = sorted(check for check in self._checks if check.asset_key == step.key)
        for state in self._recorded(step, states):
            self._run_context.tables.delete(step.key.path, state.name)
            metadata = {"state": PAST_TOP, "n_nodes": 0, "n_tokens": 0}
            yield StepResult(state, PAST_TOP, metadata, 0, verdicts=past_top(checks))

    def _attempt(self, step: Step, states: Sequence[PartitionState]) -> list[StepResult]:
        """Run the step on all partitions, or on each alone, to spare the others.

        That is when a model fails, or a server refuses what was published together. What strikes
        two in a row, or is no matter of one partition's text (the store, a key, the source, the
        disk), strikes all, and the run starts no further partition.
        """
        try:
            self._turn.require()
            return step.run(self._run_context, states)
        except RaptorError as error:
            apart = isinstance(error, ModelError | EndpointError | StoreRefusedError)
            if not apart or len(states) == 1:
                self._strike(step, states, error)
                return []
        results: list[StepResult] = []
        for at, state in enumerate(states):
            try:
                results += step.run(self._run_context, [state])
            except RaptorError as error:
                state.fail(step.key, error)
                if at and states[at - 1].failure:
                    self._strike(step, states[at:], error)
                    break
        return results

    def _strike(self, step: Step, states: Sequence[PartitionState], error: RaptorError) -> None:
        for state in states:
            state.fail(step.key, error)
        self._struck = states[0].failure

    def _materialization(
        self,
        step: Step,
        result: StepResult,
        results: Sequence[StepResult],
        seconds: float,
    ) -> dg.AssetMaterialization:
        """``seconds`` of the step are shared out by rows, since it works on all at once."""
        total = sum(other.n_rows + 1 for other in results)
        name = result.state.name
        return dg.AssetMaterialization(
            asset_key=self._shown(step.key),
            partition=name,
            metadata={
                **result.metadata,
                "dagster/row_count": result.n_rows,
                "reused": result.reused,
                "seconds": round(seconds * (result.n_rows + 1) / total, 4),
            },
            tags=self._provenance.tags(step.key, name, str(result.data_version)),
        )

    def _evaluations(self, step: Step, result: StepResult, *, is_last: bool = False) -> Events:
        """Verdicts on a partition; those on the last of a step tell of all before it, too."""
        name = result.state.name
        recorded = self._provenance.latest(step.key).get(name) if result.verdicts else None
        run_id = self._context.run.run_id
        target = (
            Target(storage_id=recorded.storage_id, run_id=run_id, timestamp=time.time())
            if recorded
            else None
        )
        for verdict in result.verdicts:
            check = dg.AssetCheckKey(step.key, verdict.name)
            if check in self._checks:
                blocking = verdict.severity == "error"
                link = node_link(self._settings, name)
                numbers = self._numbers.setdefault(check, {})
                numbers |= {name: verdict.numbers} if verdict.numbers else {}
                spread = spread_markdown(numbers) if is_last and len(numbers) > 1 else ""
                key = self._shown(step.key)
                yield evaluation(key, name, verdict, blocking, target, link, spread)

    def _report(
        self,
        step: Step,
        states: Sequence[PartitionState],
        results: Sequence[StepResult],
        seconds: float,
    ) -> None:
        names = tuple(result.state.name for result in results)
        failed = {state.name: state.failure for state in states if state.failure}
        for name, failure in failed.items():
            self._context.log.error(f"{name}: {failure.asset}: {failure.reason}")
        self._plan(step.key, failed)
        n_rows = sum(result.n_rows for result in results)
        n_made = sum(o.metadata.get(key, 0) for o in results for key in ("n_computed", "n_made"))
        odd = {
            result.state.name: verdict.summary
            for result in results
            for verdict in result.verdicts
            if verdict.name == document_text.name and not verdict.passed
        }
        asset, usage = step.key.to_user_string(), self._at.usage
        done = Progress(asset, names, n_rows, seconds, n_made, failed, odd, usage=usage)
        if results:
            self._context.log.info(told_step(done))
        self._watch(done)
