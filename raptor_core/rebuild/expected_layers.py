"""Prediction of a tree's layers before their texts exist, and their plans.

The layers of a tree that continues from its published state are exact. If a tree is built from
scratch, the first layer is exact if the vectors of its leaves are known. The vectors of upper
layers depend on texts that do not exist yet, so mean directions of their children are used instead.
``plan`` joins the layers to the plan of a tree.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from raptor_core.curation import CURATED
from raptor_core.identity import FALLBACK, KEPT_MARKS, marked_content_key
from raptor_core.models.money.usage import Usage, estimate_summary_cost
from raptor_core.models.summarizing.prompts import count_prompt_tokens
from raptor_core.nodes import Layer, Node, Tree
from raptor_core.rebuild.values import ESTIMATE_ERROR, LayerPlan, layer_nodes
from raptor_core.settings import Settings
from raptor_core.tree.cache import KnownContent
from raptor_core.tree.cluster import Clustering, cluster_top_layer
from raptor_core.tree.components import Components
from raptor_core.tree.drafts import draft_summaries, mark_summaries, text_keys
from raptor_core.tree.earlier import mean_direction
from raptor_core.vectors import Vectors


@dataclass(frozen=True, eq=False)
class ExpectedLayer:
    """A layer of summaries that a rebuild will make over the clusters of ``clustering``.

    ``nodes`` have no texts, and estimated numbers of tokens. ``texts`` of new nodes that exist
    already, by content key, have exact numbers.
    """

    clustering: Clustering
    nodes: tuple[Node, ...]
    texts: Mapping[str, str]


def predict_layers(
    previous: Tree | None,
    leaves: Layer,
    components: Components,
    known: KnownContent,
    *,
    from_scratch: bool,
) -> tuple[list[ExpectedLayer], Clustering]:
    """Return every layer above ``leaves``, and the clustering that ends the tree.

    Args:
        previous: published tree, if there is one.
        leaves: leaves with their vectors.
        components: components of the build.
        known: published texts, and those in the cache.
        from_scratch: clusters of ``previous`` are not kept.

    Raises:
        ClusteringError: no clustering can satisfy the settings.
    """
    layers, expected, name = [leaves], [], leaves.nodes[0].tree
    while not (clustering := cluster_top_layer(name, layers, components, previous)).end:
        layer = _expected_layer(layers[-1].nodes, clustering, previous, components, known)
        expected.append(layer)
        vectors = np.zeros((len(layer.nodes), 0), dtype=np.float32)  # not used
        if from_scratch:
            vectors = _mean_directions(layer.nodes, layers[-1])
        layers.append(Layer(layer.nodes, vectors))
    return expected, clustering


def _mean_directions(nodes: Sequence[Node], below: Layer) -> Vectors:
    """Return the mean direction of each node's children."""
    row_of = {node.id: vector for node, vector in zip(below.nodes, below.vectors, strict=True)}
    return np.stack([mean_direction([row_of[child] for child in node.children]) for node in nodes])


def _expected_layer(
    below: Sequence[Node],
    clustering: Clustering,
    previous: Tree | None,
    components: Components,
    known: KnownContent,
) -> ExpectedLayer:
    """Return a layer whose nodes have the published lengths of their slots, or typical lengths."""
    old = layer_nodes(previous, clustering.layer + 1)
    ids, lengths = {node.id for node in old}, {node.slot: node.n_tokens for node in old}
    drafts = draft_summaries(below, clustering, components)
    new = {node.content_key for node in drafts if node.id not in ids}
    texts = known.texts(text_keys(new, components))
    kept = {n.content_key for n in old if not n.quality.keys().isdisjoint(KEPT_MARKS)}
    unmarked, kept = new - texts.keys(), kept | texts.keys()
    marks = (
        next((m for m in KEPT_MARKS if marked_content_key(n.content_key, m) in kept), "")
        if n.content_key in unmarked
        else ""
        for n in drafts
    )
    # A marked text changes the content keys of its node and of the summaries above.
    drafts = list(mark_summaries(zip(drafts, marks, strict=True)))
    # Lengths matter, because a cluster over the token budget is split.
    counted = components.counter.count(list(texts.values())) if texts else []
    counts = dict(zip(texts, counted, strict=True))
    usual = _expected_summary_lengths(drafts, below, previous, components.settings)
    nodes = [
        replace(node, n_tokens=counts.get(node.content_key) or lengths.get(node.slot, n_tokens))
        for node, n_tokens in zip(drafts, usual, strict=True)
    ]
    return ExpectedLayer(
        clustering, tuple(sorted(nodes, key=lambda node: node.document_order_key)), texts
    )


def _expected_summary_lengths(
    drafts: Sequence[Node], below: Sequence[Node], previous: Tree | None, settings: Settings
) -> list[int]:
    """Return for each draft the mean length of published summaries, or else the method's."""
    layers = previous.layers[1:] if previous else ()
    published = [node.n_tokens for layer in layers for node in layer.nodes]
    if published:
        return [round(sum(published) / len(published))] * len(drafts)
    lengths = {node.id: node.n_tokens for node in below}
    return [
        round(_estimate_summary_tokens(sum(lengths[child] for child in node.children), settings))
        for node in drafts
    ]


def plan_layers(
    previous: Tree | None,
    leaves: Layer,
    expected: Sequence[ExpectedLayer],
    components: Components,
    overhead: int,
    planned: set[str],
) -> Iterator[LayerPlan]:
    """Yield the plan of each layer.

    Args:
        previous: published tree, if there is one.
        leaves: leaves of the new tree.
        expected: its layers.
        components: components of the build.
        overhead: tokens of a prompt without texts.
        planned: content keys of summaries in plans of earlier trees, to which its own are added.
    """
    published = {node.id for node in layer_nodes(previous, 0)}
    current = {node.id for node in leaves.nodes}
    changed, removed = current - published, published - current
    below: Sequence[Node] = leaves.nodes
    for layer in expected:
        old = layer_nodes(previous, layer.clustering.layer + 1)
        curated = components.curation.texts(node.content_key for node in layer.nodes)
        changed = _changed_summary_ids(layer.nodes, old, changed, curated)
        removed = {node.id for node in old if not removed.isdisjoint(node.children)}
        lost = {node.slot for node in old if node.id in removed}
        bound = sum(
            (node.id in changed or node.slot in lost) and node.content_key not in curated
            for node in layer.nodes
        )
        texts = layer.texts.keys() | planned
        yield _plan_layer(layer, below, old, bound, components, overhead, texts)
        planned.update(node.content_key for node in layer.nodes)
        below = layer.nodes


def _changed_summary_ids(
    nodes: Sequence[Node], old: Sequence[Node], below: set[str], curated: Collection[str]
) -> set[str]:
    """Return the ids of summaries that change because of changed children or decisions.

    Summaries that the model refused are included, because it is asked again.
    """
    published = {node.id for node in old}
    slots = {node.slot for node in old if not node.quality.keys().isdisjoint((CURATED, FALLBACK))}
    return {
        node.id
        for node in nodes
        if not (node.id in published and node.content_key in curated)
        and (
            not below.isdisjoint(node.children)
            or (node.id not in published and (node.content_key in curated or node.slot in slots))
        )
    }


def _plan_layer(
    layer: ExpectedLayer,
    below: Sequence[Node],
    old: Sequence[Node],
    bound: int,
    components: Components,
    overhead: int,
    texts: Collection[str],
) -> LayerPlan:
    ids, slots = {node.id for node in old}, {node.slot for node in old}
    added = [node for node in layer.nodes if node.id not in ids]
    to_make = {node.content_key: node for node in added if node.content_key not in texts}
    fit = layer.clustering.fit
    return LayerPlan(
        layer=layer.clustering.layer + 1,
        n_kept=len(layer.nodes) - len(added),
        n_added=len(added),
        n_removed=len(ids - {node.id for node in layer.nodes}),
        n_touched=sum(node.slot in slots for node in added),
        n_new=sum(node.slot not in slots for node in layer.nodes),
        n_split=int(layer.clustering.details.get("split_clusters", 0)),
        n_merged=len(slots - {node.slot for node in layer.nodes}),
        fitted=fit.reason if fit else "",
        n_reused=len({node.content_key for node in added}) - len(to_make),
        lower_bound=bound,
        cost=_summaries_cost(list(to_make.values()), below, components, overhead),
    )


def _summaries_cost(
    nodes: Collection[Node], below: Sequence[Node], components: Components, overhead: int
) -> Usage:
    lengths = {node.id: node.n_tokens for node in below}
    prompts = sum(
        count_prompt_tokens([lengths[c] for c in node.children], overhead) for node in nodes
    )
    completions = sum(node.n_tokens for node in nodes)
    return estimate_summary_cost(len(nodes), prompts, completions, components.settings)


CHAT_SHARE = 0.65
"""Typical share of its token limit that a chat model's summary has; 131 of 200 in the paper."""


USUAL_CHILDREN = 5.0
"""Typical mean size of clusters; 3 to 6 were measured, the highest in long documents."""


def estimate_layer_plans(
    leaves: Sequence[Node],
    published: Tree | None,
    children: float,
    settings: Settings,
    overhead: int,
) -> Iterator[LayerPlan]:
    """Yield plans of layers with estimated sizes; ``overhead`` is as in ``plan_layers``."""
    n_below = len(leaves)
    tokens = sum(node.n_tokens for node in leaves)
    for layer in range(1, settings.tree.max_layers + 1):
        if n_below <= max(settings.tree.top_nodes, 1):
            return
        fitting = settings.clustering.max_tokens * n_below / max(tokens, 1)
        n_nodes = max(1, round(n_below / max(2.0, min(children, fitting))))
        completions = round(n_nodes * _estimate_summary_tokens(tokens / n_nodes, settings))
        n_old = len(layer_nodes(published, layer))
        yield LayerPlan(
            layer,
            n_added=n_nodes,
            n_removed=n_old,
            n_new=n_nodes,
            n_merged=n_old,
            fitted="built from scratch",
            lower_bound=n_nodes,
            error=ESTIMATE_ERROR,
            cost=estimate_summary_cost(n_nodes, tokens + overhead * n_nodes, completions, settings),
        )
        n_below, tokens = n_nodes, completions


def _estimate_summary_tokens(below: float, settings: Settings) -> float:
    part = settings.summarizer
    if part.kind != "extractive":
        return CHAT_SHARE * part.max_tokens
    return min(max(part.ratio * below, part.min_tokens), part.max_tokens)
