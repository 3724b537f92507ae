"""What is published and what its checks said, for the command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import dagster as dg
from dagster._core.event_api import PartitionKeyFilter
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus
from dagster._core.storage.event_log.base import EventLogStorage

from dagster_project.build import Parts
from dagster_project.execute import open_instance
from dagster_project.home import Home
from raptor_assets import keys
from raptor_assets.datasets import dataset_check_specs
from raptor_assets.report import Cost, read_records
from raptor_assets.specs import build_check_specs
from raptor_core.documents import partition_key
from raptor_core.settings import Settings
from raptor_core.store import open_store, stored_identity
from raptor_core.store.base import Manifest


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The last result of one check on one partition. ``severity`` is "error" or "warn"."""

    asset: str
    name: str
    passed: bool
    severity: str
    blocking: bool
    description: str


@dataclass(frozen=True, slots=True)
class TreeStatus:
    """A published tree, its partition, and the checks of that partition."""

    manifest: Manifest
    partition: str
    checks: tuple[CheckResult, ...]

    @property
    def structural_passed(self) -> bool:
        """Whether every check that blocks publishing, or has severity error, passed."""
        return all(c.passed for c in self.checks if c.blocking or c.severity == "error")


@dataclass(frozen=True, slots=True)
class HomeStatus:
    """Published trees, partitions that have nothing published, checks on no partition.

    These are on all trees together, and on data sets.
    """

    trees: tuple[TreeStatus, ...]
    unpublished: tuple[str, ...]
    checks: tuple[CheckResult, ...] = ()


def read_status(home: Home, settings: Settings) -> HomeStatus:
    """The state of a home; loads no model.

    Raises:
        StoreError: the store is damaged or held by another process.
    """
    manifests: list[Manifest] = []
    if stored_identity(settings.store, home.qdrant) is not None:
        with open_store(settings.store, home.qdrant) as store:
            manifests = store.manifests()
    owners = {m.tree: partition_key(m.tree, settings.grouping) for m in manifests}
    with open_instance(home) as instance:
        partitions = sorted(instance.get_dynamic_partitions(str(keys.TREES.name)))
        checks = read_checks(instance, settings, sorted(set(owners.values())))
        together = _read_together(instance, settings)
    published = set(owners.values())
    return HomeStatus(
        trees=tuple(TreeStatus(m, owners[m.tree], checks[owners[m.tree]]) for m in manifests),
        unpublished=tuple(name for name in partitions if name not in published),
        checks=together,
    )


def read_costs(home: Home, settings: Settings, partitions: Iterable[str]) -> dict[str, Cost]:
    """What the build of each published tree took, by tree; of those that are known.

    Raises:
        TableError: a table is damaged.
    """
    tables = Parts.of(settings, home).tables.tables()
    found = (record for name in partitions for record in read_records(tables, name).values())
    return {record.tree: record.cost for record in found if record.cost is not None}


def read_partitions(home: Home) -> tuple[str, ...]:
    """Keys of the partitions that a home has, sorted."""
    with open_instance(home) as instance:
        return tuple(sorted(instance.get_dynamic_partitions(str(keys.TREES.name))))


def read_checks(
    instance: dg.DagsterInstance, settings: Settings, partitions: Sequence[str]
) -> Mapping[str, tuple[CheckResult, ...]]:
    """The last result of every check by partition, in the order of the chain."""
    found: dict[str, list[CheckResult]] = {name: [] for name in partitions}
    if not partitions:
        return {}
    specs = {spec.key: spec for spec in build_check_specs(settings) if spec.partitions_def}
    storage = instance.event_log_storage
    records = storage.get_asset_check_partition_info(list(specs), partition_keys=partitions)
    by_place = {(info.check_key, info.partition_key): info for info in records}
    for key, spec in specs.items():
        for partition in partitions:
            info = by_place.get((key, partition))
            status = info.latest_execution_status if info else None
            if status == AssetCheckExecutionRecordStatus.SUCCEEDED:
                found[partition].append(_result(spec))
            elif status is not None:
                found[partition] += _last_results(storage, spec, partition)
    return {name: tuple(results) for name, results in found.items()}


def _read_together(instance: dg.DagsterInstance, settings: Settings) -> tuple[CheckResult, ...]:
    """The last result of every check that is of no partition."""
    specs = [spec for spec in build_check_specs(settings) if not spec.partitions_def]
    specs += dataset_check_specs(settings)
    storage = instance.event_log_storage
    return tuple(result for spec in specs for result in _last_results(storage, spec, None))


def _last_results(
    storage: EventLogStorage, spec: dg.AssetCheckSpec, partition: str | None
) -> list[CheckResult]:
    """The last result; a run that died or failed before the check has only planned it."""
    history = storage.get_asset_check_execution_history(
        spec.key,
        limit=1,
        status={AssetCheckExecutionRecordStatus.SUCCEEDED, AssetCheckExecutionRecordStatus.FAILED},
        partition_filter=None if partition is None else PartitionKeyFilter(key=partition),
    )
    found = [record.evaluation for record in history]
    return [_result(spec, done) for done in found if isinstance(done, dg.AssetCheckEvaluation)]


def _result(
    spec: dg.AssetCheckSpec, evaluation: dg.AssetCheckEvaluation | None = None
) -> CheckResult:
    """From an evaluation; without one it passed, and its severity is the one of a warning."""
    return CheckResult(
        asset=spec.asset_key.to_user_string(),
        name=spec.name,
        passed=evaluation.passed if evaluation else True,
        severity=evaluation.severity.value.lower() if evaluation else "warn",
        blocking=bool(spec.blocking),
        description=(evaluation.description or "") if evaluation else "",
    )
