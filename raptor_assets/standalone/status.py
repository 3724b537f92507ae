"""Published trees with the results of their checks and their costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raptor_assets import names
from raptor_assets.project.home import Home
from raptor_assets.project.record_files import CheckOutcomes
from raptor_assets.standalone.instance import recorded
from raptor_core.documents import partition_key
from raptor_core.home.published import has_corpus_tree
from raptor_core.settings import Settings
from raptor_core.store import open_store, stored_identity
from raptor_core.store.base import Manifest
from raptor_core.tree.corpus_tree import corpus_tree_settings

if TYPE_CHECKING:
    from raptor_assets.report import Cost, TreeRecord


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Last result of a check on a partition. ``severity`` is "error" or "warn"."""

    asset: str
    name: str
    passed: bool
    severity: str
    blocking: bool
    description: str


@dataclass(frozen=True, slots=True)
class TreeStatus:
    """Published tree with the results of checks on its layers; checks on others are counted."""

    manifest: Manifest
    partition: str
    checks: tuple[CheckResult, ...]
    n_absent_checks: int = 0

    @property
    def structural_passed(self) -> bool:
        """Whether every check that blocks publishing, or has severity error, passed."""
        return all(c.passed for c in self.checks if c.blocking or c.severity == "error")


@dataclass(frozen=True, slots=True)
class HomeStatus:
    """Published trees, partitions without trees, and checks on all trees or on data sets.

    Partitions that are ``orphaned`` are published, but not recorded in this home.
    """

    trees: tuple[TreeStatus, ...]
    unpublished: tuple[str, ...]
    checks: tuple[CheckResult, ...] = ()
    orphaned: tuple[str, ...] = ()


def read_status(home: Home, settings: Settings) -> HomeStatus:
    """Return the state of a home, without loading a model."""
    manifests: list[Manifest] = []
    if stored_identity(settings.store, home.qdrant) is not None:
        with open_store(settings.store, home.qdrant) as store:
            manifests = store.manifests()
    return status_of(home, settings, manifests)


def status_of(home: Home, settings: Settings, manifests: Sequence[Manifest]) -> HomeStatus:
    """Return the state of a home with these manifests."""
    owners = {m.tree: partition_key(m.tree, settings.grouping) for m in manifests}
    checks = home.names().checks(settings)
    together = names.golden_checks(settings) + names.dataset_checks(settings)
    with recorded(home) as records:
        partitions = sorted(records.partitions())
        outcomes = records.outcomes(checks + together)
    results = {name: _results(checks, outcomes, name) for name in set(owners.values())}
    published = set(owners.values())
    trees = [_tree(m, owners[m.tree], results[owners[m.tree]], checks) for m in manifests]
    if has_corpus_tree(home, settings):
        trees += read_status(home.corpus_tree, corpus_tree_settings(settings)).trees
    return HomeStatus(
        trees=tuple(trees),
        unpublished=tuple(name for name in partitions if name not in published),
        checks=_results(together, outcomes, None),
        orphaned=tuple(sorted(published.difference(partitions))),
    )


def _tree(
    manifest: Manifest, partition: str, results: Iterable[CheckResult], checks: names.Checks
) -> TreeStatus:
    top = len(manifest.layer_sizes) - 1
    present = tuple(result for result in results if names.layer_of(result.asset) <= top)
    n_absent = sum(names.layer_of(asset) > top for asset, _ in checks)
    return TreeStatus(manifest, partition, present, n_absent)


def read_costs(home: Home, settings: Settings, partitions: Iterable[str]) -> dict[str, Cost]:
    """Return the build costs by published tree, where they are known."""
    known = read_tree_records(home, settings, partitions)
    return {tree: record.cost for tree, record in known.items() if record.cost is not None}


def read_tree_records(
    home: Home, settings: Settings, partitions: Iterable[str]
) -> dict[str, TreeRecord]:
    """Return the records of the last builds by published tree."""
    from raptor_assets.report import read_records

    tables = home.table_store(settings)
    return {tree: r for name in partitions for tree, r in read_records(tables, name).items()}


def _results(
    checks: names.Checks, outcomes: CheckOutcomes, partition: str | None
) -> tuple[CheckResult, ...]:
    """Return the last results on a partition, or on none, in the order of ``checks``."""
    return tuple(
        CheckResult(asset, check.name, last.passed, last.severity, check.blocking, last.description)
        for asset, check in checks
        if (last := outcomes.get((asset, check.name, partition)))
        and not last.description.startswith(names.NOT_EXECUTED)
    )
