"""Building of one or more trees in a single call.

Each step is a module: ``leaves``, and for every layer ``embed``, ``cluster``, ``summarize`` and
``naming``. ``raptor_assets.chain`` runs the same steps as Dagster assets.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from raptor_core.checks.base import CheckedLayer, CheckedTrees, require_passed
from raptor_core.checks.structure import check_child_links, check_shrinking_layers
from raptor_core.documents.base import Document
from raptor_core.errors import EmptySourceError, SummaryError
from raptor_core.identity import shorten_name
from raptor_core.models.summarizing.base import find_failure_remedy
from raptor_core.nodes import ClusterFit, Layer, Node, Tree, TreeEnd
from raptor_core.settings import Settings
from raptor_core.tree.cache import ChainedKnownContent, KnownContent
from raptor_core.tree.cluster import Clustering, cluster_top_layer
from raptor_core.tree.components import Components
from raptor_core.tree.embed import embed_nodes
from raptor_core.tree.leaves import make_leaves
from raptor_core.tree.naming import add_names_and_key_terms
from raptor_core.tree.summarize import SummarizedLayers, summarize_clusters

Progress = Callable[[str, int], None]
"""A callback after each step, with its name, such as "layer_1/summaries", and number of nodes."""


def build_tree(
    documents: Sequence[Document],
    settings: Settings | None = None,
    *,
    name: str = "",
    components: Components | None = None,
    known: KnownContent | None = None,
    previous: Tree | None = None,
    progress: Progress | None = None,
) -> Tree:
    """Build a tree over all documents.

    Args:
        documents: documents of the tree.
        settings: None for the defaults, or for those of ``components``.
        name: name of the tree, which is part of the node ids. By default it is that of
            ``previous``, the id of a single document, or a name such as "a.md and 3 more".
        components: components to build with, for example to share a loaded model between builds.
        known: published vectors and texts, for example an open store. Neither these nor those in
            the components' cache are computed again.
        previous: the tree before its documents changed, whose clusters are kept.
        progress: called after each step.

    Raises:
        EmptySourceError: no document contains text.
        SummaryError: summaries failed; the message names them. The components' cache keeps the
            finished ones.
        SettingsError: both settings and components are given.
        RaptorError: a component failed.
    """
    name = name or (previous.name if previous else _derived_name(documents))
    trees = build_trees(
        {name: documents},
        settings,
        components=components,
        known=known,
        previous={name: previous} if previous else {},
        progress=progress,
    )
    return trees[name]


def _derived_name(documents: Sequence[Document]) -> str:
    """Derive a name for a tree from the first document id."""
    if not documents:
        return "corpus"
    more = f" and {len(documents) - 1} more" if len(documents) > 1 else ""
    first = min(document.id for document in documents)
    return shorten_name(f"{first}{more}", "tree", first)


def build_trees(
    documents: Mapping[str, Sequence[Document]],
    settings: Settings | None = None,
    *,
    components: Components | None = None,
    known: KnownContent | None = None,
    previous: Mapping[str, Tree] | None = None,
    progress: Progress | None = None,
) -> dict[str, Tree]:
    """Build several trees at once, with each step over all of them; return them by name.

    Arguments and errors are those of ``build_tree``; ``previous`` has the earlier trees by name.
    """
    components = Components.from_either(settings, components)
    known = known if known is not None else ChainedKnownContent()
    report = progress or (lambda _step, _n_nodes: None)
    top = {tree: _make_leaves(tree, docs, components) for tree, docs in documents.items()}
    report("chunks", sum(map(len, top.values())))
    layers: dict[str, list[Layer]] = {tree: [] for tree in documents}
    fits: dict[str, list[ClusterFit]] = {tree: [] for tree in documents}
    ends: dict[str, TreeEnd] = {}
    previous = previous or {}
    for number in range(components.settings.tree.max_layers + 1):
        for tree, layer in _embed_layers(top, components, known).items():
            layers[tree].append(layer)
        report(f"layer_{number}/embeddings", sum(map(len, top.values())))
        clusterings = [
            cluster_top_layer(tree, layers[tree], components, previous.get(tree)) for tree in top
        ]
        work = [(layers[tree][-1], each) for tree, each in zip(top, clusterings, strict=True)]
        for clustering in clusterings:
            if clustering.end:
                ends[clustering.tree] = clustering.end
            if clustering.fit:
                fits[clustering.tree].append(clustering.fit)
        lower = {tree: [layer.nodes for layer in of[:-1]] for tree, of in layers.items()}
        report(f"layer_{number + 1}/clusters", sum(len(each.groups) for each in clusterings))
        summarized = _summarize_layers(work, components, known, lower, previous)
        top = {
            tree: add_names_and_key_terms(
                nodes, [layer.nodes for layer in layers[tree]], previous.get(tree), components
            )
            for tree, nodes in summarized.layers.items()
        }
        report(f"layer_{number + 1}/summaries", sum(map(len, top.values())))
        if not top:
            break
    if components.has_own_cache:
        components.cache.forget_trees(documents)
    return {
        tree: _finish_tree(tree, of, layers[tree], ends[tree], fits[tree], components)
        for tree, of in documents.items()
    }


def _make_leaves(
    tree: str, documents: Sequence[Document], components: Components
) -> tuple[Node, ...]:
    leaves = make_leaves(tree, documents, components)
    if not leaves:
        raise EmptySourceError(
            f"tree {tree!r}: none of its {len(documents)} documents contains text; "
            "a tree needs at least one word"
        )
    return leaves


def _embed_layers(
    top: Mapping[str, tuple[Node, ...]], components: Components, known: KnownContent
) -> dict[str, Layer]:
    embedded = embed_nodes([node for nodes in top.values() for node in nodes], components, known)
    layers = {}
    start = 0
    for tree, nodes in top.items():
        layers[tree] = Layer(nodes, embedded.vectors[start : start + len(nodes)])
        start += len(nodes)
    return layers


def _summarize_layers(
    work: Sequence[tuple[Layer, Clustering]],
    components: Components,
    known: KnownContent,
    lower: Mapping[str, Sequence[Sequence[Node]]],
    previous: Mapping[str, Tree],
) -> SummarizedLayers:
    summaries = summarize_clusters(
        work, components, known, lower=lower.__getitem__, earlier=previous.get
    )
    failed = [failure for failures in summaries.failed.values() for failure in failures]
    if failed:
        reasons = "; ".join(f"{failure.name}: {failure.reason}" for failure in failed[:3])
        raise SummaryError(
            f"{len(failed)} of {len(failed) + summaries.n_made + summaries.n_reused} summaries "
            f"failed ({reasons}). The finished ones are kept in the cache; "
            f"{find_failure_remedy(failed)}"
        )
    return summaries


def _finish_tree(
    name: str,
    documents: Sequence[Document],
    tree_layers: Sequence[Layer],
    end: TreeEnd,
    fits: Sequence[ClusterFit],
    components: Components,
) -> Tree:
    """Return a tree of these layers, if it passes the checks of its structure."""
    readers = {document.id: document.readers for document in documents if document.readers}
    tree = Tree(name, tuple(tree_layers), end, tuple(fits), readers=readers)
    settings = components.settings
    layers = [
        CheckedLayer(above.nodes, {node.id: node for node in below.nodes}, settings)
        for below, above in pairwise(tree.layers)
    ]
    require_passed(
        [*map(check_child_links, layers), check_shrinking_layers(CheckedTrees([tree], settings))]
    )
    return tree
