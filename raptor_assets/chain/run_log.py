"""What a run writes into Dagster's log: materializations, check results, failures and costs.

``events`` makes single events, ``provenance`` the tags of materializations; ``run`` is the loop.
"""

import logging
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import dagster as dg

from raptor_assets.assets.names import ChainAsset
from raptor_assets.assets.specs import column_schema
from raptor_assets.assets.versions import PAST_TOP
from raptor_assets.chain.context import RunContext
from raptor_assets.chain.events import failed_checks_in, failure_event, to_check_evaluation
from raptor_assets.chain.provenance import Provenance
from raptor_assets.chain.runs import process_tags
from raptor_assets.chain.state import PartitionState, StepResult
from raptor_assets.dagster_private import AssetMaterializationPlannedData, Target
from raptor_assets.shown.progress import Failure, Progress, Watch, describe_step
from raptor_core.checks.base import CheckResult
from raptor_core.models.money.ledger import Ledger
from raptor_core.models.money.usage import Usage

Event = dg.AssetMaterialization | dg.AssetCheckEvaluation | dg.AssetObservation
Events = Iterator[Event]

_PAID_PREFIX = "raptor/paid-"


def _is_shown(record: logging.LogRecord) -> bool:
    """Return False for Dagster's line on missing outputs of checks, whose results are logged."""
    return "did not yield or return expected outputs" not in record.getMessage()


class RunLog:
    """Log of one run of the chain.

    Args:
        tree: asset at which a partition's failure is reported, too; None if it is not made.
        checks: assets and names of the checks whose results are wanted.
        watch: called with the progress of each step.
    """

    def __init__(
        self,
        context: dg.OpExecutionContext,
        run_context: RunContext,
        tree: ChainAsset | None,
        checks: Collection[tuple[ChainAsset, str]],
        watch: Watch,
    ) -> None:
        self._context = context
        self._names = run_context.corpus_names
        self._settings = run_context.settings
        self._versions = run_context.versions
        self._tree = tree
        self._checks = checks
        self._watch = watch
        self.switch_to_batch(())

    def switch_to_batch(self, batch: Sequence[str]) -> None:
        """Begin a batch of partitions; what was read for an earlier batch is forgotten."""
        parents = self._names.parents_by_asset(self._settings.tree.max_layers)
        self._provenance = Provenance(self._context.instance, batch, self._versions, parents)
        if self._tree:
            self._record_planned(self._tree, batch)

    def begin_run(self) -> None:
        """Tag the run with its process, without the costs of the attempt that it retries."""
        self._context.log.addFilter(_is_shown)
        self._add_run_tags(
            {**_tags_that_void_costs(self._context.run.tags), **process_tags(self._context)}
        )

    def end_run(self, ledger: Ledger) -> None:
        """Tag the run with its costs."""
        self._add_run_tags(_cost_tags(ledger))

    def _add_run_tags(self, tags: dict[str, str]) -> None:
        if tags:
            self._context.instance.add_run_tags(self._context.run.run_id, tags)

    def select_recorded(
        self, asset: ChainAsset, states: Sequence[PartitionState]
    ) -> list[PartitionState]:
        """Return those of these partitions whose last materialization has the layer of an asset."""
        recorded = self._provenance.read_latest(asset) if states else {}
        pairs = ((state, recorded.get(state.name)) for state in states)
        return [state for state, last in pairs if last and last.data_version != PAST_TOP]

    def step_events(
        self, asset: ChainAsset, results: Sequence[StepResult], seconds: float
    ) -> Events:
        """Yield the materializations of a step, then the results of its checks."""
        for result in results:
            if result.data_version is not None:
                yield self._to_materialization(asset, result, results, seconds)
        if results:
            self._provenance.forget_recorded(asset)
        for result in results:
            yield from self.check_events(asset, result.state.name, result.check_results)

    def check_events(
        self, asset: ChainAsset, partition: str, verdicts: Sequence[CheckResult]
    ) -> Events:
        """Yield the results of a partition's checks on its last materialization."""
        recorded = self._provenance.read_latest(asset).get(partition) if verdicts else None
        run_id = self._context.run.run_id
        target = (
            Target(storage_id=recorded.storage_id, run_id=run_id, timestamp=time.time())
            if recorded
            else None
        )
        for verdict in verdicts:
            if (asset, verdict.name) in self._checks:
                yield to_check_evaluation(asset.key, partition, verdict, target)

    def check_events_of_all_trees(
        self, asset: ChainAsset, verdicts: Sequence[CheckResult]
    ) -> Events:
        """Yield the results of checks on all trees together."""
        for verdict in verdicts:
            yield to_check_evaluation(asset.key, None, verdict)
        if verdicts:
            failed = failed_checks_in(asset, "", verdicts)
            self._watch(Progress(asset.name, (), 0, 0.0, failed_checks=failed))

    def failure_events(self, asset: ChainAsset, partition: str, failure: Failure) -> Events:
        """Yield the report of a partition's failure at an asset and at the tree."""
        yield failure_event(asset.key, partition, failure)
        if self._tree and asset != self._tree:
            yield failure_event(self._tree.key, partition, failure)

    def skipped_events(self, tree: ChainAsset, failures: Mapping[str, Failure]) -> Events:
        """Yield the report of partitions that the run does not start, since it was stopped."""
        cause = next(iter(failures.values()))
        self._watch(Progress(cause.asset, (), 0, 0.0, failed=failures))
        for name, failure in failures.items():
            yield failure_event(tree.key, name, failure)

    def report_step(
        self,
        asset: ChainAsset,
        states: Sequence[PartitionState],
        results: Sequence[StepResult],
        seconds: float,
        usage: Usage,
    ) -> None:
        """Log the end of a step, and pass its progress on."""
        waiting = tuple(result.state.name for result in results if result.state.is_waiting)
        partitions = tuple(r.state.name for r in results if not r.state.is_waiting)
        failed = {state.name: state.failure for state in states if state.failure}
        for name, failure in failed.items():
            self._context.log.error(f"{name}: {failure.asset}: {failure.reason}")
        self._record_planned(asset, failed)
        checks = [
            f for r in results for f in failed_checks_in(asset, r.state.name, r.check_results)
        ]
        done = Progress(
            asset.name,
            partitions,
            sum(result.n_rows for result in results),
            seconds,
            sum(o.metadata.get(key, 0) for o in results for key in ("n_computed", "n_made")),
            failed,
            tuple(checks),
            usage=usage,
            waiting=waiting,
        )
        if results:
            self._context.log.info(describe_step(done))
        self._watch(done)

    def _record_planned(self, asset: ChainAsset, partitions: Iterable[str]) -> None:
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

    def _to_materialization(
        self, asset: ChainAsset, result: StepResult, results: Sequence[StepResult], seconds: float
    ) -> dg.AssetMaterialization:
        """Return a partition's materialization, with its share of the step's seconds, by rows."""
        total = sum(each.n_rows + 1 for each in results)
        name = result.state.name
        columns = {"dagster/column_schema": column_schema(asset.kind)}
        return dg.AssetMaterialization(
            asset_key=asset.key,
            partition=name,
            metadata={
                **result.metadata,
                **(columns if result is results[-1] else {}),  # long, and alike for all
                "dagster/row_count": result.n_rows,
                "reused": result.is_reused,
                "seconds": round(seconds * (result.n_rows + 1) / total, 4),
            },
            tags=self._provenance.tags_of_new(asset, name, str(result.data_version)),
        )


def _cost_tags(ledger: Ledger) -> dict[str, str]:
    """Return the costs of a run so far as tags, by model, without money for unknown prices.

    "raptor/paid-summaries-gpt-4o-mini": "53 calls, 91,204 tokens, 0.021 USD".
    """
    tags = {}
    for line in ledger.spendings:
        usage = line.usage
        if usage.calls and line.model:
            money = "" if usage.usd is None else f", {usage.usd:.6g} USD"
            model = re.sub(r"[^A-Za-z0-9._-]", "-", line.model)[:40]  # a tag's key allows these
            cost = f"{usage.calls:,} calls, {usage.tokens:,} tokens{money}"
            tags[f"{_PAID_PREFIX}{line.purpose}-{model}"] = cost
    return tags


def _tags_that_void_costs(tags: Mapping[str, str]) -> dict[str, str]:
    """Return values that void the costs of a previous run, which a retry inherits."""
    return {key: "0 calls, 0 tokens" for key in tags if key.startswith(_PAID_PREFIX)}
