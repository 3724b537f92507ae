"""Published trees with the results of their checks and their costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from raptor_assets.assets import names
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.folder import Home
from raptor_assets.home.record_file import CheckOutcomes, read_failure_file, read_record_file
from raptor_assets.local.dagster import open_instance
from raptor_core.documents import partition_key
from raptor_core.home.published import has_corpus_tree
from raptor_core.settings import Settings
from raptor_core.store import open_store, read_stored_identity
from raptor_core.store.base import Manifest
from raptor_core.tree.corpus_tree import corpus_tree_settings

if TYPE_CHECKING:
    from raptor_assets.shown.tree_records import Cost, TreeRecord


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

    @property
    def name(self) -> str:
        """Name of the tree."""
        return self.manifest.tree

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all layers."""
        return sum(self.manifest.layer_sizes)

    @property
    def n_tokens(self) -> int:
        """Tokens of all nodes."""
        return self.manifest.n_tokens

    @property
    def published_at(self) -> str:
        """Time of the publication."""
        return self.manifest.published_at

    @property
    def structural_checks_passed(self) -> bool:
        """Whether every check that blocks publishing, or has severity error, passed."""
        return _structural_checks_passed(self.checks)


def _structural_checks_passed(checks: Iterable[LastCheckResult]) -> bool:
    return all(check.passed for check in checks if check.blocking or check.severity == "error")


@dataclass(frozen=True, slots=True)
class HomeStatus:
    """Published trees, partitions without trees, and checks on all trees or on data sets.

    ``waiting`` are the partitions whose build waits for approval, and ``failures`` say why the last
    build of a partition published nothing. ``withheld`` says why partitions stay as published: the
    last scan could not read a document of theirs. Of ``set_aside_documents``, nothing is published
    because people set chunks of them aside. ``is_building`` says whether a build runs.
    """

    trees: tuple[TreeStatus, ...]
    unpublished: tuple[str, ...]
    checks: tuple[LastCheckResult, ...] = ()
    waiting: tuple[str, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    withheld: Mapping[str, str] = field(default_factory=dict)
    set_aside_documents: Sequence[str] = ()
    is_building: bool = False

    @property
    def structural_checks_passed(self) -> bool:
        """Whether every tree passed; see ``TreeStatus``."""
        return all(tree.structural_checks_passed for tree in self.trees)


def read_status(home: Home, settings: Settings) -> HomeStatus:
    """Return the state of a home, without loading a model."""
    manifests: list[Manifest] = []
    if read_stored_identity(settings.store, home.embedded_store_path) is not None:
        with open_store(settings.store, home.embedded_store_path) as store:
            manifests = store.manifests()
    return make_status(home, settings, manifests)


def make_status(home: Home, settings: Settings, manifests: Sequence[Manifest]) -> HomeStatus:
    """Return the state of a home with these manifests."""
    owners = {m.tree: partition_key(m.tree, settings.grouping) for m in manifests}
    checks = names.partition_checks(settings, home.read_names())
    together = names.corpus_checks(settings, home.read_names())
    records = _read_records(home, checks + together)
    partitions, outcomes = records.partitions, records.outcomes
    published = set(owners.values())

    @cache
    def results_up_to(partition: str, top: int) -> tuple[LastCheckResult, ...]:
        return _last_results(checks, outcomes, partition, top)

    trees = [
        TreeStatus(m, owners[m.tree], results_up_to(owners[m.tree], len(m.layer_sizes) - 1))
        for m in manifests
    ]
    source = CorpusAccess(settings, home).source
    return HomeStatus(
        trees=(*trees, *_corpus_tree_statuses(home, settings)),
        unpublished=tuple(name for name in partitions if name not in published),
        checks=_last_results(together, outcomes, None),
        withheld=source.explain_withheld(manifests),
        set_aside_documents=source.find_documents_without_chunks(manifests),
        **_explain_unpublished(home, settings, records),
    )


def _explain_unpublished(
    home: Home, settings: Settings, records: _DagsterRecords
) -> dict[str, Any]:
    """Return the fields of a status that say why partitions are not published."""
    waiting: list[str] = []
    if settings.runs.publish != "at_once":
        waiting = CorpusAccess(settings, home).waiting_builds.select_waiting(records.partitions)
    failures = {
        name: why
        for name, why in records.failures.items()
        if name in records.partitions and name not in waiting
    }
    return {
        "waiting": tuple(waiting),
        "failures": failures,
        "is_building": records.is_building,
    }


@dataclass(frozen=True, slots=True)
class _DagsterRecords:
    """Dagster's records: partitions that builds have begun, check results, failed builds."""

    partitions: list[str]
    outcomes: CheckOutcomes
    failures: Mapping[str, str]
    is_building: bool


def _read_records(home: Home, checks: names.Checks) -> _DagsterRecords:
    recorded, failures = read_record_file(home, checks), read_failure_file(home)
    if recorded is not None and failures is not None:
        return _DagsterRecords(*recorded, failures, home.is_building())
    from raptor_assets.chain.runs import unfinished_runs
    from raptor_assets.home.records import read_failures, read_outcomes

    corpus = home.read_names()
    with open_instance(home) as instance:
        return _DagsterRecords(
            sorted(instance.get_dynamic_partitions(corpus.partitions_name)),
            read_outcomes(instance, checks),
            read_failures(instance, corpus.tree),
            bool(unfinished_runs(instance, corpus)),
        )


def _corpus_tree_statuses(home: Home, settings: Settings) -> tuple[TreeStatus, ...]:
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
    from raptor_assets.shown.tree_records import read_partition_records

    tables = home.table_store(settings)
    return {
        tree: r for name in partitions for tree, r in read_partition_records(tables, name).items()
    }


def _last_results(
    checks: names.Checks,
    outcomes: CheckOutcomes,
    partition: str | None,
    top: int = names.MAX_LAYERS,
) -> tuple[LastCheckResult, ...]:
    """Return the last results on a partition, or on none, of layers up to ``top``, in order."""
    return tuple(
        LastCheckResult(
            asset.name, check.name, last.passed, last.severity, check.is_blocking, last.description
        )
        for asset, check in checks
        if asset.layer <= top and (last := outcomes.get((asset.name, check.name, partition)))
    )
