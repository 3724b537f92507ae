"""Kept builds of a tree: list them, compare two, roll back to one, approve a new one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from raptor_assets.assets.names import APPROVE, ROLLBACK
from raptor_assets.assets.versions import TreeVersion
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.folder import Home
from raptor_assets.home.regression import compare_golden
from raptor_assets.local.dagster import open_instance_and_clean_up, run_job
from raptor_assets.shown.versions import SummaryChange
from raptor_core.documents import partition_key
from raptor_core.errors import CheckError, UnknownTreeError
from raptor_core.evaluation.golden_file import Question
from raptor_core.evaluation.regression import GOLDEN_REGRESSION, Regression
from raptor_core.home.published import require_trees
from raptor_core.nodes import Node
from raptor_core.retrieval import Query
from raptor_core.settings import Settings
from raptor_core.store.base import Manifest, TreeEdition, Where
from raptor_core.store.store import VectorStore
from raptor_core.transfer.kept import build_name, choose_build
from raptor_core.tree.components import Components

if TYPE_CHECKING:
    import dagster as dg

_LOOKED_AT = 200  # publications of a tree in Dagster's log


@dataclass(frozen=True, slots=True)
class TreeBuild:
    """Build of a tree that is published or kept.

    Attributes:
        id: its id in ``raptor versions``.
        state: "published", "pinned" or "kept".
        notes: numbers of nodes that it added and removed, and its cost, if they are known.
        run_id: Dagster run that made it; empty if its records are gone.
        failed_checks: checks of that run that failed.
    """

    id: str
    manifest: Manifest
    state: str
    notes: Mapping[str, Any]
    run_id: str = ""
    failed_checks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BuildDifference:
    """Two builds of a tree, and what differs between them.

    ``old`` is empty for a tree that was never published. ``golden`` compares the answers
    to the golden set from the corpus with each of the two.
    """

    old: str
    new: str
    n_chunks: tuple[int, int]
    summaries: tuple[SummaryChange, ...]
    golden: Regression | None = None


def list_builds(home: Home, settings: Settings, tree: str) -> list[TreeBuild]:
    """Return the published build of a tree and the kept ones, the newest first.

    Raises:
        UnknownTreeError: the tree is not published.
    """
    access = CorpusAccess(settings, home)
    partition = partition_key(tree, settings.grouping)
    with access.store.open_existing() as store:
        (live,) = require_trees(store, [tree])
    kept = {build.id: build for build in access.kept_builds.builds(tree)}
    again = kept.pop(build_name(live), None)  # went back to it
    notes = again.notes if again else access.read_build_notes(live)
    builds = [(build_name(live), live, "pinned" if live.pin else "published", notes)]
    builds += [(name, build.manifest, "kept", build.notes) for name, build in kept.items()]
    runs = _runs_by_data_version(home, access, partition)
    return [
        TreeBuild(name, manifest, state, notes, *runs.get(_data_version_prefix(manifest), ("", ())))
        for name, manifest, state, notes in sorted(builds, key=lambda build: build[0], reverse=True)
    ]


def _data_version_prefix(manifest: Manifest) -> str:
    """Return the beginning of the data version that Dagster has of a tree's publication."""
    return TreeVersion.parse(manifest.inputs).with_content_of([manifest]).text


def _runs_by_data_version(
    home: Home, access: CorpusAccess, partition: str
) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return run and failed checks of publications, by the beginning of their data versions.

    The first publication of a build is that of its run; later ones went back to it.
    """
    import dagster as dg

    from raptor_assets.chain.provenance import DATA_VERSION

    runs: dict[str, str] = {}
    with open_instance_and_clean_up(home) as instance:
        asset = dg.AssetRecordsFilter(access.names.tree.key, asset_partitions=[partition])
        for record in instance.fetch_materializations(asset, limit=_LOOKED_AT).records:
            event = record.asset_materialization
            version = (event.tags or {}).get(DATA_VERSION, "") if event else ""
            runs["-".join(version.split("-")[:3])] = record.run_id
        failed = {
            run_id: _failed_check_names(instance, run_id, partition) for run_id in runs.values()
        }
    return {version: (run_id, failed[run_id]) for version, run_id in runs.items()}


def _failed_check_names(
    instance: dg.DagsterInstance, run_id: str, partition: str
) -> tuple[str, ...]:
    from raptor_assets.corpus.alerts import failed_checks_of

    failed = failed_checks_of(instance, run_id)
    return tuple(sorted({check.name for check in failed if check.partition == partition}))


def compare_builds(
    home: Home,
    settings: Settings,
    tree: str,
    old: str = "",
    new: str = "",
    *,
    staged: bool = False,
    cases: Sequence[Question] = (),
) -> BuildDifference:
    """Return what differs between two builds of a tree.

    Args:
        old: id of a kept build, or its beginning; "" is the one before the published build, and
            the newest kept one of a pinned tree.
        new: the same; "" is the published build.
        staged: compare the published build with the one that waits for approval.
        cases: golden questions, which are answered from the corpus with each of the two.

    Raises:
        UnknownTreeError: the tree is not published, or no such build is kept.
    """
    access = CorpusAccess(settings, home)
    with access.store.open_existing() as store:
        if staged:
            second = _read_waiting_edition(access, store, tree)
            live = store.manifests([tree])  # none for a tree that was never published
            first = _read_published_edition(store, live[0]) if live else replace(second, nodes=())
        else:
            (manifest,) = require_trees(store, [tree])
            newest = access.kept_builds.ids(tree)[-1:] if manifest.pin and not old else [old]
            first = _read_edition(access, store, manifest, "".join(newest))
            published = _read_published_edition(store, manifest)
            second = _read_edition(access, store, manifest, new) if new else published
    golden = None
    if cases and first.nodes:
        query = Query.from_settings(settings)
        golden = compare_golden(access, cases, query, old=[first], new=[second])
    leaves = [{n.id for n in e.nodes if n.is_leaf} for e in (first, second)]
    return BuildDifference(
        build_name(first.manifest) if first.nodes else "",
        build_name(second.manifest),
        (len(leaves[1] - leaves[0]), len(leaves[0] - leaves[1])),
        tuple(_find_changed_summaries(first.nodes, second.nodes)),
        golden,
    )


def _read_edition(
    access: CorpusAccess, store: VectorStore, live: Manifest, name: str
) -> TreeEdition:
    chosen = choose_build(access.kept_builds.ids(live.tree), live, name)
    return access.kept_builds.read(live.tree, chosen, store.identity)


def _read_waiting_edition(access: CorpusAccess, store: VectorStore, tree: str) -> TreeEdition:
    """Return the build of a tree that waits for approval."""
    partition = partition_key(tree, access.settings.grouping)
    builds = {e.manifest.tree: e for e in access.waiting_builds.read(partition, store.identity)}
    if tree not in builds:
        raise UnknownTreeError(
            f"no build of the tree {tree!r} waits for approval; runs.publish says when one does"
        )
    return builds[tree]


def _read_published_edition(store: VectorStore, manifest: Manifest) -> TreeEdition:
    nodes = store.nodes(Where(trees=(manifest.tree,)))
    return TreeEdition(manifest, nodes, store.vectors(node.embedding_key for node in nodes))


def _find_changed_summaries(old: Iterable[Node], new: Iterable[Node]) -> Iterable[SummaryChange]:
    """Yield the summaries that differ, from the top down; a cluster keeps its slot."""
    first, second = ({(n.layer, n.slot): n for n in nodes if not n.is_leaf} for nodes in (old, new))
    for key in sorted(first.keys() | second.keys(), key=lambda key: (-key[0], key[1])):
        pair = first.get(key), second.get(key)
        old_text, new_text = (node.text if node else "" for node in pair)
        if old_text != new_text:
            name = next(node.name for node in reversed(pair) if node)
            yield SummaryChange(key[0], name, old_text, new_text)


def roll_back_or_release(
    home: Home, settings: Settings, config: Mapping[str, Any], components: Components | None = None
) -> str:
    """Run the job that rolls a tree back to a build, or releases it; return the run's id.

    ``config`` are the fields of ``RollbackConfig``.

    Raises:
        UnknownTreeError: there is no such tree or build, or it cannot be published.
    """
    access = CorpusAccess(settings, home, components=components)
    return _run_version_job(access, ROLLBACK, config)


def approve_builds(
    home: Home, settings: Settings, trees: Sequence[str], components: Components | None = None
) -> str:
    """Publish the builds of trees that wait for approval; return the run's id.

    Raises:
        UnknownTreeError: none waits, or it cannot be published.
        CheckError: ``golden_regression`` refuses it.
    """
    access = CorpusAccess(settings, home, components=components)
    return _run_version_job(access, APPROVE, {"trees": list(trees)})


def _run_version_job(access: CorpusAccess, name: str, config: Mapping[str, Any]) -> str:
    from raptor_assets.corpus.jobs import to_run_config
    from raptor_assets.corpus.version_jobs import build_version_jobs

    jobs = {job.name: job for job in build_version_jobs(access)}
    with open_instance_and_clean_up(access.home) as instance:
        job = jobs[access.names.full_name(name)]
        run_id, error = run_job(access, instance, job, to_run_config(access.names, name, config))
    if error.startswith(f"check {GOLDEN_REGRESSION.name}"):
        raise CheckError(error)
    if error:
        raise UnknownTreeError(error)
    return run_id
