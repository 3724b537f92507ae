"""The chain as one multi-asset: all layers of many partitions in one step and process.

docs/adr/0001-one-op-for-the-chain.md gives the reasons. Each partition's materializations and check
results are logged one by one. A failed partition stops; the others are published, and the step then
fails and names the failed ones. The steps are in ``steps``, what Dagster logs in ``run_log``.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

import dagster as dg
from pydantic import Field

from raptor_assets.assets import names
from raptor_assets.assets.names import SYNC, ChainAsset
from raptor_assets.assets.specs import build_check_specs
from raptor_assets.assets.versions import PAST_TOP
from raptor_assets.chain.context import (
    PartitionSize,
    RunContext,
    max_batch_chars,
    release_memory,
    split_into_batches,
)
from raptor_assets.chain.events import (
    measure_golden_set,
    measure_kept_questions,
    passed_results_above_top,
    to_run_failure,
)
from raptor_assets.chain.run_log import Events, RunLog
from raptor_assets.chain.runs import hold_run_lock
from raptor_assets.chain.state import PartitionState, StepResult
from raptor_assets.chain.steps import build_steps
from raptor_assets.chain.steps.base import Step
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.publication import update_readers
from raptor_assets.shown.progress import Failure, StepProgress, Watch, ignore_progress
from raptor_core.checks.base import CheckResult, blocking_failures, describe_failed_checks
from raptor_core.errors import EndpointError, ModelError, RaptorError, StoreRefusedError
from raptor_core.evaluation.asked import UNANSWERED_SHARE
from raptor_core.evaluation.golden import GOLDEN_RETRIEVAL
from raptor_core.evaluation.golden_file import Question
from raptor_core.tracing import span


class ChainConfig(dg.Config):
    """Partitions of a run, if Dagster's tags do not name them."""

    partitions: list[str] = Field(
        default=[], description="Partitions to make; empty takes those that were chosen at launch."
    )


def build_chain(
    specs: Sequence[dg.AssetSpec], access: CorpusAccess, progress: Watch = ignore_progress
) -> dg.AssetsDefinition:
    """Return the multi-asset of the chain; ``progress`` is called for each step of a run here."""
    corpus = access.names

    @dg.multi_asset(
        name=corpus.full_name(names.CHAIN),
        description="Documents to published trees, layer by layer, for many partitions at once.",
        specs=specs,
        check_specs=build_check_specs(access.settings, corpus, access.n_summary_layers),
        partitions_def=names.corpus_partitions(corpus.corpus),
        backfill_policy=dg.BackfillPolicy.single_run(),
        can_subset=True,
        pool=corpus.full_name(names.POOL),
    )
    def raptor(context: dg.AssetExecutionContext, config: ChainConfig) -> Events:
        selected = context.selected_asset_keys, context.selected_asset_check_keys
        run = ChainRun(context.op_execution_context, config.partitions, access, progress, selected)
        with hold_run_lock(access.home, context.op_execution_context):
            if run.reads_source:
                update_readers(access)
            yield from run.build_partitions()
        run.raise_failures()

    return raptor


class ChainRun:
    """Run of the chain in a step, over named partitions or over those chosen at launch.

    ``selected`` has the Dagster keys of the chosen assets and checks; None chooses all of them.

    Attributes:
        failures: why partitions failed, by name.
        waiting: partitions whose new build waits for approval.
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
        self._named = named
        self._settings = access.settings
        self._golden = access.read_golden_cases
        self._corpus = access.names
        self._tree = self._corpus.tree
        chain = self._corpus.chain(self._settings.tree.max_layers)
        self._steps = build_steps(chain)
        self._selected = names.add_layers_above(
            chain, selected and {key.to_user_string() for key in selected[0]}
        )
        self._checks = self._chosen_checks(selected)
        self.failures: dict[str, Failure] = {}
        self.waiting: set[str] = set()
        self._stopped: Failure | None = None
        self._refused: list[CheckResult] = []
        access.write_declaration()
        components = access.components(context.instance)
        components.curation = access.read_curation()
        self._ledger = components.ledger
        self._at = StepProgress(self._ledger.spent, watch)
        self._run_context = RunContext(
            access,
            components,
            lambda: self._partitions,
            warn=context.log.warning,
            working=self._at.report,
        )
        tree = self._tree if self._tree in self._selected else None
        self._log = RunLog(context, self._run_context, tree, self._checks, watch)

    def _chosen_checks(
        self, selected: tuple[Collection[dg.AssetKey], Collection[dg.AssetCheckKey]] | None
    ) -> set[tuple[ChainAsset, str]]:
        """Return the checks to execute, with those of layers above the selected assets."""
        checks = names.partition_checks(self._settings, self._corpus)
        checks += names.checks_of_all_trees(self._settings, self._corpus)
        return {
            (asset, check.name)
            for asset, check in checks
            if not selected
            or dg.AssetCheckKey(asset.key, check.name) in selected[1]
            or (asset in self._selected and asset.key not in selected[0])
        }

    @property
    def reads_source(self) -> bool:
        """Whether the run reads the documents from the source."""
        return self._corpus.documents in self._selected

    def build_partitions(self) -> Events:
        """Build all partitions in batches and yield their events; fill ``failures``."""
        self._ledger.begin_run()
        self._log.begin_run()
        try:
            yield from self._build_batches()
        finally:  # also after a cancellation, since its answers are paid
            self._log.end_run(self._ledger)

    def _build_batches(self) -> Events:
        cases = self._golden() if (self._tree, GOLDEN_RETRIEVAL.name) in self._checks else ()
        for batch in split_into_batches(
            self._partitions, self._find_partition_sizes(), max_batch_chars(self._settings)
        ):
            if self._stopped:
                skipped = dict.fromkeys(batch, self._stopped)
                self.failures |= skipped
                yield from self._log.skipped_events(self._tree, skipped)
                continue
            states = [PartitionState(name, self._run_context) for name in batch]
            self._run_context.forget_published()  # other runs may have published
            self._log.switch_to_batch(batch)
            yield from (
                self._build_batch(states) if self._selected else self._check_recorded_assets(states)
            )
            self.failures |= {state.name: state.failure for state in states if state.failure}
            self.waiting |= {state.name for state in states if state.is_waiting}
        if not self._stopped:
            yield from self._measure_golden_set(cases)

    def _measure_golden_set(self, cases: Sequence[Question]) -> Events:
        """Yield the results on all trees, which fail the run if their severity is "error"."""
        if cases:
            self._refused += measure_golden_set(self._run_context, cases)
        if (self._tree, UNANSWERED_SHARE.name) in self._checks:
            self._refused += measure_kept_questions(self._run_context)
        yield from self._log.check_events_of_all_trees(self._tree, self._refused)

    def raise_failures(self) -> None:
        """Raise the error of the step if a partition failed, or a check on all of them did."""
        if self.failures:
            raise to_run_failure(self.failures, len(self._partitions))
        if refused := blocking_failures(self._refused):
            raise dg.Failure(describe_failed_checks(refused), allow_retries=False)

    @cached_property
    def _partitions(self) -> list[str]:
        """Partitions of this run; all of them if the run names none and only executes checks."""
        context = self._context
        if self._named:
            return list(self._named)
        if context.has_partition_key or context.has_partition_key_range:
            return list(context.partition_keys)
        if self._selected:
            raise dg.Failure(
                "No partition was chosen, and every asset of the chain has partitions: choose some "
                f"in the launch dialog, or launch the job {self._corpus.full_name(SYNC)}, which "
                "needs none: it finds those that changed.",
                allow_retries=False,
            )
        return list(context.instance.get_dynamic_partitions(self._corpus.partitions_name))

    def _check_recorded_assets(self, states: Sequence[PartitionState]) -> Events:
        """Execute the chosen checks on recorded assets; an unreadable table causes a warning."""
        checked = {asset for asset, _ in self._checks}
        for step in self._steps:
            if step.asset in checked:
                for state in self._log.select_recorded(step.asset, states):
                    yield from self._check_recorded_asset(step, state)
        self._run_context.store.close()

    def _check_recorded_asset(self, step: Step, state: PartitionState) -> Events:
        try:
            verdicts = step.check_recorded(state)
            if not self._settings.runs.samples:
                verdicts = [verdict.without_texts() for verdict in verdicts]
        except RaptorError as error:
            self._context.log.warning(f"{state.name}: {step.asset.name} was not checked: {error}")
            return
        yield from self._log.check_events(step.asset, state.name, verdicts)

    def _find_partition_sizes(self) -> Mapping[str, PartitionSize]:
        if not self.reads_source:
            return {}
        try:
            return self._run_context.partition_sizes
        except RaptorError:  # the first step raises it again
            return {}

    def _build_batch(self, states: Sequence[PartitionState]) -> Events:
        try:
            for step in self._steps:
                alive = [each for each in states if not (each.failure or each.is_waiting)]
                if alive and step.asset in self._selected:
                    yield from self._run_step(step, alive)
        finally:
            self._run_context.store.close()
            release_memory()

    def _run_step(self, step: Step, states: Sequence[PartitionState]) -> Events:
        asset = step.asset
        self._at.begin(asset.name, tuple(state.name for state in states))
        self._at.report(0, 0)
        tall = {state.name: state for state in states if self._reaches_layer_of(asset, state)}
        with span(f"step {asset.name}", {"raptor.partitions": len(tall)}):
            results = self._run_or_isolate_failures(step, list(tall.values())) if tall else []
        if not self._settings.runs.samples:
            results = [result.without_texts() for result in results]
        seconds = self._at.elapsed_seconds
        results += self._end_assets_above_top(
            step, [state for state in states if state.name not in tall]
        )
        yield from self._log.step_events(asset, results, seconds)
        for result in results:
            if refused := blocking_failures(result.check_results):
                result.state.failure = Failure(asset.name, describe_failed_checks(refused))
        for state in states:
            if state.failure:
                yield from self._log.failure_events(asset, state.name, state.failure)
        self._log.report_step(asset, states, results, seconds, self._at.usage)

    def _reaches_layer_of(self, asset: ChainAsset, state: PartitionState) -> bool:
        """Return whether a tree of the partition reaches the layer of an asset."""
        try:
            return state.has_layer(asset.min_top_layer)
        except RaptorError:  # the step raises it again
            return True

    def _end_assets_above_top(
        self, step: Step, states: Sequence[PartitionState]
    ) -> list[StepResult]:
        """Return a last result for each partition whose trees no longer reach the step's asset."""
        metadata = {"state": PAST_TOP, "n_nodes": 0, "n_tokens": 0}
        verdicts = passed_results_above_top(
            name for asset, name in self._checks if asset == step.asset
        )
        retired = self._log.select_recorded(step.asset, states)
        for state in retired:
            self._run_context.tables.delete(step.asset.table_path, state.name)
        return [StepResult(s, PAST_TOP, metadata, 0, check_results=verdicts) for s in retired]

    def _run_or_isolate_failures(
        self, step: Step, states: Sequence[PartitionState]
    ) -> list[StepResult]:
        """Run the step on all partitions; after an error of a model, run it on one at a time.

        If two partitions in a row fail, or if the error is one of the store, a key, the source or
        the disk, the remaining partitions fail with it and the run starts no others.
        """
        try:
            return step.run(self._run_context, states)
        except RaptorError as error:
            is_local = isinstance(error, ModelError | EndpointError | StoreRefusedError)
            if not is_local or len(states) == 1:
                self._fail_partitions(step, states, error)
                return []
        results: list[StepResult] = []
        for at, state in enumerate(states):
            try:
                results += step.run(self._run_context, [state])
            except RaptorError as error:
                state.fail(step.asset, error)
                if at and states[at - 1].failure:
                    self._fail_partitions(step, states[at:], error)
                    break
        return results

    def _fail_partitions(
        self, step: Step, states: Sequence[PartitionState], error: RaptorError
    ) -> None:
        for state in states:
            state.fail(step.asset, error)
        self._stopped = states[0].failure
