"""Readers of published trees against those that the source declares now.

A build gives and takes rights when it publishes. ``narrow_readers`` takes them earlier, before a
run does anything else, and also from trees that no build makes, such as held ones.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from raptor_assets.assets.versions import NARROWED, TreeVersion
from raptor_assets.home.access import CorpusAccess, corpus_tree_access
from raptor_core.documents import Entry
from raptor_core.documents.base import EVERYONE
from raptor_core.store.base import Edition, Manifest, Mark, Where, readers_digest
from raptor_core.store.facts import common_readers
from raptor_core.tree.corpus_tree import top_readers

Readers = Mapping[str, tuple[str, ...]]
"""Readers by document."""


def declared_readers(entries: Collection[Entry], documents: Collection[str]) -> Readers:
    """Return the readers of those of these documents that have some in the source."""
    return {e.id: e.readers for e in entries if e.readers and e.id in documents}


def narrow_readers(access: CorpusAccess) -> int:
    """Take rights that the source no longer declares from published trees, and from those above.

    Documents that are not in the source now keep their readers. A tree that loses some counts as
    changed, so the next build publishes it with all its readers.

    Returns:
        Number of nodes whose readers changed.
    """
    n_nodes = _publish(access, _narrowed_manifests(access))
    if access.settings.corpus_tree.enabled:
        n_nodes += _publish(corpus_tree_access(access), _narrowed_above(access))
    return n_nodes


def loses_readers(access: CorpusAccess) -> bool:
    """Return whether published trees, or corpus trees over them, have rights to be taken."""
    return bool(
        _narrowed_manifests(access)
        or (access.settings.corpus_tree.enabled and _narrowed_above(access))
    )


def _publish(access: CorpusAccess, manifests: Collection[Manifest]) -> int:
    """Publish trees with fewer readers, and return the number of nodes that lose some."""
    n_nodes = 0
    if not manifests:
        return n_nodes
    with access.store.open_existing() as store, store.publishing() as publishing:
        for manifest in manifests:
            edition = Edition(manifest, store.nodes(Where(trees=(manifest.tree,))))
            n_nodes += publishing.publish([edition])[0].readers
    return n_nodes


def _narrowed_above(below: CorpusAccess) -> list[Manifest]:
    """Return the manifests of corpus trees that lose readers, since trees below have fewer.

    A top node that is not published any more has no readers.
    """
    above = corpus_tree_access(below)
    if not (above.store.exists() and below.store.exists()):
        return []
    with above.store.open_existing() as store:
        published = [mark.tree for mark in store.marks() if mark.readers]
        manifests = store.manifests(published) if published else []
    if not manifests:
        return []
    with below.store.open_existing() as store:
        readers = top_readers(store.manifests())
    narrowed = (
        _narrowed(m, {name: readers.get(name, ()) for name in m.documents}) for m in manifests
    )
    return [manifest for manifest in narrowed if manifest is not None]


def _narrowed_manifests(access: CorpusAccess) -> list[Manifest]:
    """Return the manifests of published trees that lose readers, without these readers."""
    if not access.store.exists():
        return []
    with access.store.open_existing() as store:
        marks = [mark for mark in store.marks() if mark.readers]
    if not marks:
        return []
    inventory = access.source.inventory()
    differing = _differing(marks, inventory.partitions(access.settings.grouping))
    if not differing:
        return []
    declared = access.source.declared_readers()
    with access.store.open_existing() as store:
        manifests = [_narrowed(m, declared) for m in store.manifests(differing)]
    return [manifest for manifest in manifests if manifest is not None]


def count_changed_readers(access: CorpusAccess) -> int:
    """Return the number of published nodes whose readers differ from those in the source now."""
    if not access.store.exists():
        return 0
    inventory, n_nodes = access.source.inventory(), 0
    declared = access.source.declared_readers()
    with access.store.open_existing() as store:
        trees = _differing(store.marks(), inventory.partitions(access.settings.grouping))
        for manifest in store.manifests(trees) if trees else ():
            old = manifest.readers
            new = {name: declared.get(name, old.get(name, ())) for name in manifest.documents}
            for node in store.nodes(Where(trees=(manifest.tree,))) if old != new else ():
                n_nodes += common_readers(node.documents, old) != common_readers(
                    node.documents, new
                )
    return n_nodes


def _differing(
    marks: Iterable[Mark], partitions: Mapping[str, Mapping[str, Sequence[Entry]]]
) -> list[str]:
    """Return the trees whose documents have other readers in the source, or are elsewhere."""
    trees = {tree: entries for members in partitions.values() for tree, entries in members.items()}
    return [
        mark.tree
        for mark in marks
        if mark.readers
        != readers_digest({e.id: e.readers for e in trees.get(mark.tree, ()) if e.readers})
    ]


def _narrowed(manifest: Manifest, declared: Readers) -> Manifest | None:
    """Return the manifest with fewer readers; None if the source takes none away."""
    readers = {
        name: _shared(names, declared.get(name, names)) for name, names in manifest.readers.items()
    }
    if readers == manifest.readers:
        return None
    version = replace(TreeVersion.parse(manifest.inputs), documents=NARROWED)
    return replace(
        manifest,
        readers={name: names for name, names in readers.items() if names},
        inputs=version.text if manifest.inputs else "",
    )


def _shared(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    """Return the readers that both have."""
    if EVERYONE in old:
        return new
    return old if EVERYONE in new else tuple(sorted(set(old).intersection(new)))
