"""Published trees with the results of their checks and their costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from raptor_assets.assets import names
from raptor_assets.assets.names import CHAIN_NAMES
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.folder import Home
from raptor_assets.home.record_file import CheckOutcomes, read_record_file
from raptor_assets.local.dagster import open_instance
from raptor_core.documents import partition_key
from raptor_core.home.published import has_corpus_tree
from raptor_core.settings import Settings
from raptor_core.store import open_store, stored_identity
from raptor_core.store.base import Manifest
from raptor_core.tree.corpus_tree import corpus_tree_settings

if TYPE_CHECKING:
    from raptor_assets.shown.report_records import Cost, TreeRecord


@dataclass(frozen=True, slots=True)
class LastCheckResult:
    """Last result of a check on a partition. ``severity`` is "error" or "warn"."""

    asset: str
    name: str
    passed: bool
    severity: str
    blocking: bool
    description: str


@dataclass(frozen=True, slots=True)
class TreeStatus:
    """Published tree with the results of checks on its layers."""

    manifest: Manifest
    partition: str
    checks: tuple[LastCheckResult, ...]

    name = property(lambda self: self.manifest.tree)
    n_nodes = property(lambda self: sum(self.manifest.layer_sizes))
    n_tokens = property(lambda self: self.manifest.n_tokens)
    published_at = property(lambda self: self.manifest.published_at)

    @property
    def structural_passed(self) -> bool:
        """Whether every check that blocks publishing, or has severity error, passed."""
        return _structural_passed(self.checks)


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """Totals of a partition's published trees, with the results of checks on it."""

    name: str
    n_trees: int
    n_nodes: int
    n_tokens: int
    published_at: str
    checks: tuple[LastCheckResult, ...]

    @property
    def partition(self) -> str:
        """The partition of its checks, as a tree has one."""
        return self.name

    @property
    def structural_passed(self) -> bool:
        """See ``TreeStatus``."""
        return _structural_passed(self.checks)


def _structural_passed(checks: Iterable[LastCheckResult]) -> bool:
    return all(check.passed for check in checks if check.blocking or check.severity == "error")


@dataclass(frozen=True, slots=True)
class HomeStatus:
    """Published trees, partitions without trees, and checks on all trees or on data sets.

    With more than ``LISTED_TREES`` trees it has ``partitions`` alone; the store then has
    ``n_unlisted`` more trees than the tables of the partitions, or fewer. ``waiting`` are
    partitions whose build waits for approval.
    """

    trees: tuple[TreeStatus, ...]
    unpublished: tuple[str, ...]
    checks: tuple[LastCheckResult, ...] = ()
    partitions: tuple[PartitionStatus, ...] = ()
    n_unlisted: int = 0
    waiting: tuple[str, ...] = ()

    @property
    def n_trees(self) -> int:
        """Number of published trees."""
        return len(self.trees) + sum(part.n_trees for part in self.partitions)

    @property
    def structural_passed(self) -> bool:
        """Whether every tree and partition passed; see ``TreeStatus``."""
        return all(part.structural_passed for part in self.parts)

    @property
    def parts(self) -> tuple[TreeStatus | PartitionStatus, ...]:
        """Partitions, then trees."""
        return (*self.partitions, *self.trees)


LISTED_TREES = 1000  # a larger home is described by partition, unless the caller wants each tree


def read_summary(home: Home, settings: Settings) -> HomeStatus:
    """Return the state of a home, of more than ``LISTED_TREES`` by partition."""
    n_stored = 0
    if stored_identity(settings.store, home.qdrant) is not None:
        with open_store(settings.store, home.qdrant) as store:
            n_stored = store.count_trees()
    if n_stored <= LISTED_TREES:
        return read_status(home, settings)
    return partitions_of(home, settings, n_stored)


def partitions_of(home: Home, settings: Settings, n_stored: int) -> HomeStatus:
    """Return the state of a home by partition, from the tables of its published trees."""
    checks = names.partition_checks(settings, home.names())
    together = names.corpus_checks(settings, home.names())
    existing, outcomes = _recorded(home, checks + together)
    tables = home.table_store(settings)
    columns = ["layer_sizes", "n_nodes", "n_tokens", "published_at"]
    partitions = []
    for name in existing:
        if table := tables.find(CHAIN_NAMES.tree.path, name, columns):
            sizes, n_nodes, n_tokens, times = (part.to_pylist() for part in table.columns)
            top = max(text.count(",") for text in sizes)
            results = _results(checks, outcomes, name, top)
            totals = len(sizes), sum(n_nodes), sum(n_tokens), max(times)
            partitions.append(PartitionStatus(name, *totals, results))
    published = {state.name for state in partitions}
    return HomeStatus(
        trees=_corpus_trees(home, settings),
        unpublished=tuple(name for name in existing if name not in published),
        checks=_results(together, outcomes, None),
        partitions=tuple(partitions),
        n_unlisted=n_stored - sum(state.n_trees for state in partitions),
        waiting=_waiting(home, settings, existing),
    )


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
    checks = names.partition_checks(settings, home.names())
    together = names.corpus_checks(settings, home.names())
    partitions, outcomes = _recorded(home, checks + together)
    published = set(owners.values())

    @cache
    def results_up_to(partition: str, top: int) -> tuple[LastCheckResult, ...]:
        return _results(checks, outcomes, partition, top)

    trees = [
        TreeStatus(m, owners[m.tree], results_up_to(owners[m.tree], len(m.layer_sizes) - 1))
        for m in manifests
    ]
    return HomeStatus(
        trees=(*trees, *_corpus_trees(home, settings)),
        unpublished=tuple(name for name in partitions if name not in published),
        checks=_results(together, outcomes, None),
        waiting=_waiting(home, settings, partitions),
    )


def _waiting(home: Home, settings: Settings, partitions: Iterable[str]) -> tuple[str, ...]:
    if settings.runs.publish == "at_once":
        return ()
    return tuple(CorpusAccess(settings, home).waiting.among(partitions))


def _recorded(home: Home, checks: names.Checks) -> tuple[list[str], CheckOutcomes]:
    """Return the partitions that builds have begun, sorted, and the last results of checks."""
    if (recorded := read_record_file(home, checks)) is not None:
        return recorded
    from raptor_assets.home.records import read_outcomes

    corpus = home.names()
    with open_instance(home) as instance:
        partitions = sorted(instance.get_dynamic_partitions(corpus.partitions))
        return partitions, read_outcomes(instance, checks)


def _corpus_trees(home: Home, settings: Settings) -> tuple[TreeStatus, ...]:
    if not has_corpus_tree(home, settings):
        return ()
    return read_status(home.corpus_tree, corpus_tree_settings(settings)).trees


def read_costs(home: Home, settings: Settings, partitions: Iterable[str]) -> dict[str, Cost]:
    """Return the build costs by published tree, where they are known."""
    known = read_tree_records(home, settings, partitions)
    return {tree: record.cost for tree, record in known.items() if record.cost is not None}


def read_tree_records(
    home: Home, settings: Settings, partitions: Iterable[str]
) -> dict[str, TreeRecord]:
    """Return the records of the last builds by published tree."""
    from raptor_assets.shown.report_records import read_records

    tables = home.table_store(settings)
    return {tree: r for name in partitions for tree, r in read_records(tables, name).items()}


def _results(
    checks: names.Checks,
    outcomes: CheckOutcomes,
    partition: str | None,
    top: int = names.MAX_LAYERS,
) -> tuple[LastCheckResult, ...]:
    """Return the last results on a partition, or on none, of layers up to ``top``, in order."""
    return tuple(
        LastCheckResult(
            asset.name, check.name, last.passed, last.severity, check.blocking, last.description
        )
        for asset, check in checks
        if asset.layer <= top
        and (last := outcomes.get((asset.name, check.name, partition)))
        and not last.description.startswith(names.NOT_EXECUTED)
    )
