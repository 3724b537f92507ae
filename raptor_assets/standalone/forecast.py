"""The plan of the next build of a home, before anything is written or paid."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from raptor_assets import names
from raptor_assets.ownership import TreeIndex, abandoned_trees
from raptor_assets.project.home import Home
from raptor_assets.project.plan import Changes
from raptor_assets.project.record_files import RecordFiles
from raptor_assets.project.resources import Resources
from raptor_assets.project.store_state import read_store_state
from raptor_assets.run_context import KnownStore
from raptor_assets.standalone.instance import recorded
from raptor_core.documents import Document, Partitions, Scan
from raptor_core.nodes import Tree
from raptor_core.rebuild import RebuildPlan, TreePlan, plan_rebuild
from raptor_core.settings import Settings
from raptor_core.tree.cache import Known
from raptor_core.tree.components import Components
from raptor_core.tree.corpus_tree import CORPUS_TREE_NAME
from raptor_core.tree.leaves import make_leaves
from raptor_core.tree.published import PublishedTrees, published_tree


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the next build will do: the partitions, and the trees that change."""

    changes: Changes
    plan: RebuildPlan


def forecast(
    home: Home,
    settings: Settings,
    scan: Scan,
    partitions: Collection[str] | None = None,
    *,
    components: Components | None = None,
) -> Forecast:
    """Plan the trees of all partitions that a build would build or drop; of ``partitions``, or all.

    Raises:
        StoreError: the store is damaged, or held by another process.
    """
    resources = Resources(settings, home, components=components, scan=scan)
    is_new = not (home.dagster.exists() or resources.names.corpus)
    nothing = RecordFiles(lambda *_: [], resources.names)
    with nullcontext(nothing) if is_new else recorded(home) as records:
        store_state = read_store_state(resources.store, settings.grouping)
        changes = resources.changes(records, store_state)
        resources.components(records.instance)  # its cache is the build's
    chosen = [n for n in changes.to_build if partitions is None or n in partitions]
    documents = _documents(resources, chosen)
    removed = changes.removed if partitions is None else ()
    gone = _gone(resources, (*removed, *chosen), set(documents))
    used = resources.components()
    used.curation = resources.curation()
    previous = _earlier(resources, documents, gone, used)
    known: Known | None = KnownStore(resources.store) if previous else None
    plan = plan_rebuild(previous, documents, components=used, known=known)
    if settings.corpus_tree.enabled:
        plan = RebuildPlan((*plan.trees, *_above(resources, plan)))
    return Forecast(changes, plan)


def _above(below: Resources, plan: RebuildPlan) -> tuple[TreePlan, ...]:
    """The corpus tree, as if every tree that changes got another top.

    Its texts are not written yet, so each is taken for the one before it, or for a word.
    """
    from raptor_assets.project.corpus_tree import (  # load Dagster
        corpus_tree_resources,
        documents_above,
    )

    above, there = corpus_tree_resources(below), documents_above(below)
    changed = {tree.tree: tree for tree in plan.trees if tree.action != "keep"}
    tops = [document for document in there if document.source not in changed]
    for name, tree in changed.items():
        if tree.action != "drop":
            was = next((document.text for document in there if document.source == name), name)
            tops.append(Document(name, f"{was} …", source=name))
    if len({document.source for document in tops}) < below.settings.corpus_tree.min_trees:
        return ()
    components, previous = above.components(), {}
    components.curation = above.curation()
    if above.store.exists():
        with above.store.open_existing() as store:
            published = published_tree(store, CORPUS_TREE_NAME)
            previous = {CORPUS_TREE_NAME: published} if published else {}
    planned = plan_rebuild(previous, {CORPUS_TREE_NAME: tops}, components=components)
    return tuple(replace(tree, exact=tree.exact and not changed) for tree in planned.trees)


def _documents(resources: Resources, chosen: Collection[str]) -> dict[str, tuple[Document, ...]]:
    """What the trees of these partitions are to hold."""
    documents = resources.source.corpus(chosen).documents
    partitions = Partitions(documents, resources.settings.grouping)
    return {tree: members for trees in partitions.values() for tree, members in trees.items()}


def _gone(resources: Resources, partitions: Iterable[str], live: Collection[str]) -> set[str]:
    """Trees that the build drops: of removed partitions, and those that a changed one loses."""
    tables, grouping = resources.tables, resources.settings.grouping
    gone: set[str] = set()
    listing = TreeIndex(resources.store.trees, grouping)
    for name in partitions:
        if tables.exists((names.DOCUMENTS,), name) or tables.exists((names.TREE,), name):
            gone.update(abandoned_trees(tables, grouping, name, listing, live))
    return gone


def _earlier(
    resources: Resources,
    documents: Mapping[str, Sequence[Document]],
    gone: Collection[str],
    components: Components,
) -> dict[str, Tree]:
    """What trees go on from, and those to drop, where the settings' embedder built them."""
    if not resources.store.exists():
        return {}
    with resources.store.open_existing() as store:
        if store.identity != components.store_identity:
            return {}
        published = PublishedTrees()
        published.look_up(store, documents)
        earlier = {tree: published_tree(store, tree) for tree in gone}
        for tree, given in documents.items():
            earlier[tree] = published.earlier_tree(
                store, tree, given, lambda name: make_leaves(name, documents[name], components)
            )
    return {name: tree for name, tree in earlier.items() if tree}
