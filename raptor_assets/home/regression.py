"""Golden questions, answered from the published trees and from other builds of some of them.

How two reports are compared is in ``raptor_core.evaluation.regression``.
"""

from collections.abc import Collection, Sequence
from contextlib import nullcontext

from raptor_assets.home.access import CorpusAccess
from raptor_core.errors import UnknownTreeError
from raptor_core.evaluation.golden import GoldenReport, measure_golden
from raptor_core.evaluation.golden_file import Question
from raptor_core.evaluation.regression import Regression
from raptor_core.nodes import group_nodes
from raptor_core.retrieval import Query
from raptor_core.store import open_store
from raptor_core.store.base import TreeEdition

PUBLISHED = "published"
"""Baseline with which the builds that wait for approval are compared."""


def compare_golden(
    access: CorpusAccess,
    cases: Sequence[Question],
    query: Query,
    *,
    old: Sequence[TreeEdition] = (),
    new: Sequence[TreeEdition] = (),
) -> Regression:
    """Answer golden questions from the ``old`` builds of some trees and from their ``new`` ones.

    All other trees are the published ones. Both answers come from a temporary store into which
    every published tree is copied.
    """
    components, published = access.components(), _read_published_editions(access)
    before = published | {edition.manifest.tree: edition for edition in old}
    after = published | {edition.manifest.tree: edition for edition in new}
    memory = access.settings.store.model_copy(update={"kind": "edge"})
    with open_store(memory, None, components.store_identity) as store:

        def answer(editions: Sequence[TreeEdition]) -> GoldenReport:
            with store.publish_together() as publishing:
                publishing.publish(editions)
            return measure_golden(cases, components.embedder, lambda: nullcontext(store), query)

        first = answer(list(before.values()))
        changed = [edition for tree, edition in after.items() if edition is not before.get(tree)]
        return Regression(first, answer(changed))


def compare_baseline(
    access: CorpusAccess,
    cases: Sequence[Question],
    query: Query,
    baseline: str,
    partitions: Collection[str],
) -> Regression:
    """Compare what waits with what is published, or what is published with earlier builds.

    Args:
        baseline: ``PUBLISHED``, or the beginning of ids of kept builds; each tree that has such
            builds takes part with the newest.
        partitions: those of the corpus.

    Raises:
        UnknownTreeError: no kept build begins so.
    """
    with access.store.open_existing() as store:
        identity, trees = store.identity, [manifest.tree for manifest in store.manifests()]
    if baseline == PUBLISHED:
        names = access.waiting_builds.select_waiting(sorted(partitions))
        new = [edition for name in names for edition in access.waiting_builds.read(name, identity)]
        return compare_golden(access, cases, query, new=new)
    kept = {
        tree: [i for i in access.kept_builds.ids(tree) if i.startswith(baseline)] for tree in trees
    }
    old = [access.kept_builds.read(tree, ids[-1], identity) for tree, ids in kept.items() if ids]
    if not old:
        raise UnknownTreeError(
            f"no kept build begins with {baseline!r}; `raptor versions list TREE` shows those of a "
            "tree (runs.keep_builds says how many are kept)"
        )
    return compare_golden(access, cases, query, old=old)


def _read_published_editions(access: CorpusAccess) -> dict[str, TreeEdition]:
    if not access.store.exists():
        return {}
    with access.store.open_existing() as store:
        nodes = group_nodes(store.nodes(), lambda node: node.tree)
        vectors = store.vectors(node.embedding_key for of in nodes.values() for node in of)
        manifests = {manifest.tree: manifest for manifest in store.manifests()}
    return {tree: TreeEdition(manifests[tree], members, vectors) for tree, members in nodes.items()}
