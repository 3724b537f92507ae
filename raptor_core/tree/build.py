"""A whole build as a plain function call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from raptor_core.documents.base import Document
from raptor_core.errors import EmptySourceError, InvariantError, SummaryError
from raptor_core.models.summarizing.base import remedy_of
from raptor_core.nodes import End, Fit, Layer, Node, Tree
from raptor_core.settings import Settings
from raptor_core.tree.cache import Known, MemoryCache
from raptor_core.tree.cluster import Clustering, cluster_top
from raptor_core.tree.components import Components
from raptor_core.tree.embed import embed_nodes
from raptor_core.tree.invariants import violations
from raptor_core.tree.leaves import make_leaves
from raptor_core.tree.naming import named
from raptor_core.tree.summarize import Summarized, summarize_clusters

Progress = Callable[[str, int], None]
"""Called after each step with its name (such as "layer_1/summaries") and its number of nodes."""


def build_tree(
    documents: Sequence[Document],
    settings: Settings | None = None,
    *,
    name: str = "corpus",
    components: Components | None = None,
    known: Known | None = None,
    previous: Tree | None = None,
    progress: Progress | None = None,
) -> Tree:
    """One tree over all ``documents``.

    Args:
        documents: at least one with text.
        settings: None for the defaults, or for those of ``components``.
        name: of the tree; part of the node ids.
        components: parts to build with, for example to share a loaded model between builds.
        known: what is published, for example an open store; what it holds is not made again, nor
            is what an earlier build left in the cache of the components.
        previous: the tree as it was before the documents changed; its clusters are kept.
        progress: told of each step.

    Raises:
        EmptySourceError: no document holds text.
        SummaryError: summaries failed; names them; the finished ones are in the components' cache.
        SettingsError: both settings and components are given.
        RaptorError: as the parts raise.
    """
    trees = build_trees(
        {name: documents},
        settings,
        components=components,
        known=known,
        previous={name: previous} if previous else {},
        progress=progress,
    )
    return trees[name]


def build_trees(
    documents: Mapping[str, Sequence[Document]],
    settings: Settings | None = None,
    *,
    components: Components | None = None,
    known: Known | None = None,
    previous: Mapping[str, Tree] | None = None,
    progress: Progress | None = None,
) -> dict[str, Tree]:
    """Trees by name, built side by side: each step works on all of them at once.

    Arguments and errors are those of ``build_tree``; ``previous`` holds earlier trees by name.
    """
    components = Components.either(settings, components)
    known = known if known is not None else MemoryCache()
    tell = progress or (lambda _step, _n_nodes: None)
    top = {tree: _leaves(tree, docs, components) for tree, docs in documents.items()}
    tell("chunks", sum(map(len, top.values())))
    layers: dict[str, list[Layer]] = {tree: [] for tree in documents}
    fits: dict[str, list[Fit]] = {tree: [] for tree in documents}
    ends: dict[str, End] = {}
    before = previous or {}
    for number in range(components.settings.tree.max_layers + 1):
        for tree, layer in _embed(top, components, known).items():
            layers[tree].append(layer)
        tell(f"layer_{number}/embeddings", sum(map(len, top.values())))
        work = [
            (layers[tree][-1], cluster_top(tree, layers[tree], components, before.get(tree)))
            for tree in top
        ]
        for _, done in work:
            if done.end:
                ends[done.tree] = done.end
            if done.fit:
                fits[done.tree].append(done.fit)
        tell(f"layer_{number + 1}/clusters", sum(len(done.groups) for _, done in work))
        top = {
            tree: named(nodes, [one.nodes for one in layers[tree]], before.get(tree), components)
            for tree, nodes in _summarize(work, components, known).layers.items()
        }
        tell(f"layer_{number + 1}/summaries", sum(map(len, top.values())))
        if not top:
            break
    if components.forgets:
        components.cache.forget(documents)
    return {
        tree: _checked(Tree(tree, tuple(layers[tree]), ends[tree], tuple(fits[tree])))
        for tree in documents
    }


def _leaves(tree: str, documents: Sequence[Document], components: Components) -> tuple[Node, ...]:
    leaves = make_leaves(tree, documents, components)
    if not leaves:
        raise EmptySourceError(
            f"tree {tree!r}: none of its {len(documents)} documents holds text; "
            "a tree needs at least one word"
        )
    return leaves


def _embed(
    top: Mapping[str, tuple[Node, ...]], components: Components, known: Known
) -> dict[str, Layer]:
    embedded = embed_nodes([node for nodes in top.values() for node in nodes], components, known)
    layers = {}
    start = 0
    for tree, nodes in top.items():
        layers[tree] = Layer(nodes, embedded.vectors[start : start + len(nodes)])
        start += len(nodes)
    return layers


def _summarize(
    work: Sequence[tuple[Layer, Clustering]], components: Components, known: Known
) -> Summarized:
    done = summarize_clusters(work, components, known)
    failed = [failure for failures in done.failed.values() for failure in failures]
    if failed:
        named = "; ".join(f"{failure.name}: {failure.reason}" for failure in failed[:3])
        raise SummaryError(
            f"{len(failed)} of {len(failed) + done.n_made + done.n_reused} summaries failed "
            f"({named}). The finished ones are kept in the cache; {remedy_of(failed)}"
        )
    return done


def _checked(tree: Tree) -> Tree:
    broken = violations(tree)
    if broken:
        raise InvariantError(
            f"tree {tree.name!r} breaks {len(broken)} invariants, first: {broken[0]}. "
            "This is a defect: report it with the settings"
        )
    return tree
