"""Forecast of the next build of a home, before anything is written or paid for.

The build is in ``build``, the plan of single trees in ``raptor_core.rebuild``.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_assets.chain.context import StoredVectorsAndTexts
from raptor_assets.corpus.changes import Changes, PartitionChange, decide_run
from raptor_assets.home.access import CorpusAccess, corpus_tree_access
from raptor_assets.home.folder import Home
from raptor_assets.home.publication import count_nodes_with_new_readers
from raptor_assets.home.published import TreeIndex
from raptor_assets.local.dagster import open_instance_and_clean_up
from raptor_core.checks.document_text import find_odd_text
from raptor_core.documents import Document, DocumentEntry, Partitions, Scan, Skipped, partition_key
from raptor_core.documents.base import EVERYONE
from raptor_core.nodes import Tree
from raptor_core.rebuild import RebuildPlan, TreePlan, plan_rebuild
from raptor_core.rebuild.audits import predict_audit_usage
from raptor_core.settings import Settings
from raptor_core.store.facts import common_readers
from raptor_core.tree.cache import KnownContent
from raptor_core.tree.components import Components
from raptor_core.tree.leaves import make_leaves
from raptor_core.tree.published import PublishedTrees, read_published_tree


@dataclass(frozen=True, slots=True)
class ReaderSet:
    """Set of readers ("*" is everyone), with the numbers of their documents and trees."""

    readers: tuple[str, ...]
    n_documents: int
    n_trees: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """Partitions and trees that the next build changes.

    Attributes:
        odd_documents: reasons why the text of a document may have been read wrongly, by id.
        reader_sets: sets of readers in the source, if any document declares readers.
        n_readers_changed: number of published nodes whose readers change.
        skipped: files and documents that are not read, with the reason.
        unmatched_rules: rules of readers that match no document.
    """

    changes: Changes
    plan: RebuildPlan
    odd_documents: Mapping[str, str] = field(default_factory=dict)
    reader_sets: tuple[ReaderSet, ...] = ()
    n_readers_changed: int = 0
    skipped: tuple[Skipped, ...] = ()
    unmatched_rules: tuple[str, ...] = ()


def forecast_build(
    home: Home,
    settings: Settings,
    scan: Scan,
    partitions: Collection[str] | None = None,
    *,
    components: Components | None = None,
) -> Forecast:
    """Plan the trees that a build of ``partitions``, or of all, would build or drop."""
    access = CorpusAccess(settings, home, components=components, scan=scan)
    owner = home.owner
    if owner.read_names().corpus or (
        owner.dagster_home.exists() and not owner.has_default_instance()
    ):
        with open_instance_and_clean_up(home) as instance:
            access.components(instance)  # shares the cache of builds
    decision = decide_run(access)
    if decision.refusal and not decision.changes.removal_doubt:
        raise decision.refusal
    changes, inventory = decision.changes, decision.inventory
    to_build = [name for name in changes.to_build_now if partitions is None or name in partitions]
    documents = _documents_by_tree(access, to_build)
    removed = changes.partitions_in(PartitionChange.REMOVED) if partitions is None else ()
    dropped = _find_dropped_trees(access, (*removed, *to_build), set(documents))
    prepared = access.components()
    prepared.curation = access.read_curation()
    exists = access.store.exists()
    previous = _read_previous_trees(access, documents, dropped, prepared) if exists else {}
    known: KnownContent | None = StoredVectorsAndTexts(access.store) if exists else None
    plan = plan_rebuild(previous, documents, components=prepared, known=known)
    judged = _count_judged_summaries(access, prepared, plan.trees)
    if settings.corpus_tree.enabled:
        above = corpus_tree_access(access)
        tops = _plan_corpus_tree(access, above, plan, documents)
        judged |= _count_judged_summaries(above, prepared, tops)
        plan = replace(plan, trees=(*plan.trees, *tops))
    expected, most = predict_audit_usage(plan.trees, judged, settings)
    plan = replace(plan, audit_usage=expected, max_audit_usage=most)
    every = (document for members in documents.values() for document in members)
    odd = {d.id: find_odd_text(d, prepared.unknown_share) for d in every}
    reasons = {name: o.reason for name, o in odd.items() if o}
    sets = _count_reader_sets(inventory.group_into_partitions(settings.grouping))
    n_readers_changed = count_nodes_with_new_readers(access, inventory)
    return Forecast(
        changes,
        plan,
        reasons,
        sets,
        n_readers_changed,
        inventory.skipped,
        inventory.unmatched_rules,
    )


def _count_judged_summaries(
    access: CorpusAccess, components: Components, trees: Iterable[TreePlan]
) -> dict[tuple[str, int], int]:
    """Count the summaries that the current judge has already judged, by tree and layer."""
    counts: dict[tuple[str, int], int] = {}
    if access.settings.audit.judge != "llm":
        return counts
    columns, version = ["tree", "node_id", "judge", "version"], components.judge.version
    for tree in trees:
        partition = partition_key(tree.tree, access.settings.grouping)
        for layer in tree.layers:
            path = CHAIN_NAMES.findings(layer.layer).table_path
            table = access.tables.read_if_exists(path, partition, columns)
            rows = table.to_pylist() if table is not None else ()
            judged = {
                row["node_id"]
                for row in rows
                if (row["tree"], row["judge"], row["version"])
                == (tree.tree, components.judge.name, version)
            }
            counts[tree.tree, layer.layer] = len(judged)
    return counts


def _count_reader_sets(
    partitions: Mapping[str, Mapping[str, Sequence[DocumentEntry]]],
) -> tuple[ReaderSet, ...]:
    """Return the sets of readers, the largest first; none if no document declares readers."""
    trees: dict[tuple[str, ...], list[str]] = {}
    for tree, entries in (pair for of in partitions.values() for pair in of.items()):
        for entry in entries:
            names = entry.readers or ()
            readers = (EVERYONE,) if EVERYONE in names else names
            trees.setdefault(readers, []).append(tree)
    sets = [ReaderSet(names, len(of), len(set(of))) for names, of in trees.items()]
    ordered = sorted(sets, key=lambda each: (-each.n_documents, each.readers))
    return tuple(ordered) if trees.keys() - {()} else ()


def _readers_by_document(documents: Iterable[Document]) -> dict[str, tuple[str, ...]]:
    return {document.id: document.readers for document in documents if document.readers}


def _plan_corpus_tree(
    below: CorpusAccess,
    above: CorpusAccess,
    plan: RebuildPlan,
    documents: Mapping[str, Sequence[Document]],
) -> tuple[TreePlan, ...]:
    """Plan the corpus trees; for changed trees, the old top texts or tree names stand in."""
    from raptor_assets.corpus.corpus_tree import (  # loads Dagster
        group_top_documents,
        read_top_documents,
    )

    present = read_top_documents(below)
    changed = {tree.tree: tree for tree in plan.trees if tree.action != "keep"}
    tops = [document for document in present if document.source not in changed]
    for name, tree in changed.items():
        if tree.action != "drop":
            text = next((document.text for document in present if document.source == name), name)
            readers = common_readers(
                (d.id for d in documents[name]), _readers_by_document(documents[name])
            )
            tops.append(Document(name, f"{text} …", source=name, readers=readers))
    trees = group_top_documents(above, tops)
    if not trees:
        return ()
    components, previous = above.components(), {}
    components.curation = above.read_curation()
    if above.store.exists():
        dropped = {*above.store.list_trees()} - trees.keys()
        previous = _read_previous_trees(above, trees, dropped, components)
    planned = plan_rebuild(previous, trees, components=components)
    return tuple(replace(tree, exact=tree.exact and not changed) for tree in planned.trees)


def _documents_by_tree(
    access: CorpusAccess, keys: Collection[str]
) -> dict[str, tuple[Document, ...]]:
    documents = access.source.read_corpus(keys).documents
    partitions = Partitions(documents, access.settings.grouping)
    return {tree: members for trees in partitions.values() for tree, members in trees.items()}


def _find_dropped_trees(
    access: CorpusAccess, partitions: Iterable[str], live: Collection[str]
) -> set[str]:
    """Return the trees of removed partitions, and trees that changed partitions lose."""
    stored = TreeIndex(access.store.list_built_trees, access.settings.grouping)
    return {tree for name in partitions for tree in stored(name)} - set(live)


def _read_previous_trees(
    access: CorpusAccess,
    documents: Mapping[str, Sequence[Document]],
    dropped: Collection[str],
    components: Components,
) -> dict[str, Tree]:
    """Return the published trees to rebuild or drop."""
    with access.store.open_existing() as store:
        published = PublishedTrees()
        published.read_manifests(store, documents)
        previous = {tree: read_published_tree(store, tree) for tree in dropped}
        for tree, members in documents.items():
            previous[tree] = published.earlier_tree(
                store, tree, members, lambda name: make_leaves(name, documents[name], components)
            )
    return {name: tree for name, tree in previous.items() if tree}
