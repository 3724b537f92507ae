"""Metadata of the assets: numbers that the UI plots over time, samples, pictures.

Names stay the same from build to build. ``cluster_map`` draws the clusters.
"""

import itertools
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from raptor_assets.assets.versions import PAST_TOP
from raptor_assets.shown.cluster_map import draw_cluster_map
from raptor_assets.shown.markdown import markdown_table, nodes_markdown, shorten
from raptor_assets.shown.progress import COUNTED, PartitionCosts
from raptor_core.audit.report import AuditReport
from raptor_core.checks.base import distribution_figures
from raptor_core.checks.sizes import compression_ratios
from raptor_core.documents.base import Corpus, Document
from raptor_core.models.money.usage import Usage
from raptor_core.nodes import Layer, Node, Tree
from raptor_core.rebuild import RebuildPlan, TreePlan
from raptor_core.settings import Settings
from raptor_core.store.base import Manifest, PublicationCounts
from raptor_core.tree.cluster import Clustering
from raptor_core.tree.components import Components

BUILT = "built"
SHOWN_ROWS = 8
Metadata = dict[str, Any]  # raw values of metadata by their names


def documents_metadata(
    trees: Mapping[str, Sequence[Document]], corpus: Corpus, paths: Sequence[str] = ()
) -> Metadata:
    """Return metadata of ``documents``; ``n_not_read`` counts unreadable files of the source.

    If a partition has one document and ``paths`` names one source, its URI is included.
    """
    documents = [document for members in trees.values() for document in members]
    rows = [
        (document.id, shorten(document.title, 60), str(len(document.text)))
        for document in documents[:SHOWN_ROWS]
    ]
    return {
        "n_documents": len(documents),
        "n_trees": len(trees),
        "n_chars": sum(len(document.text) for document in documents),
        "n_not_read": len(corpus.skipped),
        "documents": dg.MetadataValue.md(markdown_table(("document", "title", "chars"), rows)),
        **_uri_of_document(paths, documents),
    }


def _uri_of_document(paths: Sequence[str], documents: Sequence[Document]) -> Metadata:
    """Return the URI of a partition's only document, if it comes from the only path."""
    if not (len(paths) == len(documents) == 1 and documents[0].source):
        return {}
    path, source = paths[0], documents[0].source
    address = path if f"/{path}".endswith(f"/{source}") else f"{path.rstrip('/')}/{source}"
    address = source if "://" in source else address
    return {"uri": address if "://" in address else Path(address).absolute().as_uri()}


def nodes_metadata(nodes: Mapping[str, Sequence[Node]]) -> Metadata:
    """Return metadata of ``chunks``: counts, tokens, sample nodes."""
    flat = _flatten_nodes(nodes)
    tokens = [node.n_tokens for node in flat]
    return {
        "state": BUILT,
        "n_nodes": len(flat),
        "n_tokens": sum(tokens),
        "n_trees": len(nodes),
        "sample_nodes": dg.MetadataValue.md(nodes_markdown(flat)),
    }


def embeddings_metadata(
    nodes: Sequence[Node], known: frozenset[str], components: Components, usage: Usage
) -> Metadata:
    """Return metadata of ``layer_k/embeddings``; ``known`` are the reused embedding keys."""
    distinct = {node.embedding_key for node in nodes}
    return {
        "state": BUILT,
        "n_nodes": len(nodes),
        "n_tokens": sum(node.n_tokens for node in nodes),
        "n_distinct_texts": len(distinct),
        "n_reused": len(distinct & known),
        "n_computed": len(distinct - known),
        "model": components.embedder.model,
        "n_dims": components.embedder.n_dims,
        **usage_metadata(usage),
    }


def clusters_metadata(
    clusterings: Sequence[Clustering], below: Mapping[str, Layer], *, pictured: bool
) -> Metadata:
    """Return metadata of ``layer_k/clusters``; ``below`` are the clustered layers by tree."""
    sizes = [len(group) for done in clusterings for group in done.groups]
    ended = {done.tree: done.end for done in clusterings if done.end}
    metadata: Metadata = {
        "state": BUILT if sizes else PAST_TOP,
        "n_clusters": len(sizes),
        "n_trees": len(clusterings) - len(ended),
        "n_trees_ended": len(ended),
    }
    if sizes:
        metadata["cluster_size_mean"] = sum(sizes) / len(sizes)
        metadata["cluster_size_maximum"] = max(sizes)
    if pictured:
        metadata |= draw_cluster_map(clusterings, below)
    if ended:
        rows = [
            (tree, f"layer {end.layer}", end.reason)
            for tree, end in itertools.islice(ended.items(), SHOWN_ROWS)
        ]
        metadata["ended_trees"] = dg.MetadataValue.md(markdown_table(("tree", "top", "why"), rows))
    return metadata


def summaries_metadata(
    nodes: Mapping[str, Sequence[Node]],
    below: Mapping[str, Sequence[Node]],
    known: frozenset[str] | None,
) -> Metadata:
    """Return metadata of ``summaries``; ``known`` are reused content keys, None for all."""
    flat = _flatten_nodes(nodes)
    content = {node.content_key for node in flat}
    n_made = 0 if known is None else len(content - known)
    sizes = [len(node.children) for node in flat]
    by_id = {node.id: node for node in _flatten_nodes(below)}
    ratios = [ratio for _, ratio in compression_ratios(flat, by_id)]
    return {
        **nodes_metadata(nodes),
        "n_made": n_made,
        "n_reused": len(content) - n_made,
        **distribution_figures("children", sizes),
        **distribution_figures("compression", ratios),
    }


def usage_metadata(usage: Usage, prefix: str = "") -> Metadata:
    """Return calls, tokens and cost; nothing without calls, no cost without a price."""
    if not usage.calls:
        return {}
    metadata: Metadata = {f"{prefix}{name}": getattr(usage, name) for name in COUNTED}
    if usage.usd is not None:
        metadata[f"{prefix}usd"] = round(usage.usd, 6)
    return metadata


def published_metadata(
    trees: Sequence[Tree],
    manifests: Mapping[str, Manifest],
    published: Sequence[PublicationCounts],
    dropped: Sequence[str],
    settings: Settings,
) -> Metadata:
    """Return metadata of ``tree``: shapes, changes by the publication, the collection."""
    rows = [
        (
            tree.name,
            shorten(", ".join(_titles_of_tree(tree)), 60),
            " → ".join(map(str, manifests[tree.name].layer_sizes)),
            tree.end.reason,
        )
        for tree in trees[:SHOWN_ROWS]
    ]
    layers = Counter(node.layer for tree in trees for node in tree.nodes())
    return {
        "state": "published",
        "n_trees": len(trees),
        "n_nodes": sum(tree.n_nodes for tree in trees),
        "n_tokens": sum(manifest.n_tokens for manifest in manifests.values()),
        **{f"n_nodes_layer_{layer}": count for layer, count in sorted(layers.items())},
        **{
            f"n_nodes_{change}": sum(getattr(counts, change) for counts in published)
            for change in ("added", "updated", "unchanged", "removed")
        },
        "n_nodes_readers_changed": sum(counts.readers for counts in published),
        "n_trees_dropped": len(dropped),
        "collection": settings.store.corpus,
        "trees": dg.MetadataValue.md(
            markdown_table(("tree", "title", "nodes by layer", "end"), rows)
        ),
    }


def _titles_of_tree(tree: Tree) -> list[str]:
    titles = (str(leaf.metadata.get("title", "")) for leaf in tree.layers[0].nodes)
    return list(dict.fromkeys(filter(None, titles)))


def _flatten_nodes(nodes: Mapping[str, Sequence[Node]]) -> list[Node]:
    return [node for members in nodes.values() for node in members]


def rebuild_metadata(plans: tuple[TreePlan, ...], costs: PartitionCosts) -> Metadata:
    """Return predicted and actual numbers; nothing if this run did not cluster the leaves."""
    if not plans:
        return {}
    plan = RebuildPlan(plans)
    metadata: Metadata = {
        "plan_is_exact": plan.exact,
        "summaries_planned": plan.summary_usage.calls,
        "summaries_made": costs.n_summarized,
        "summaries_lower_bound": plan.lower_bound,
        "summaries_reused": sum(layer.n_reused for tree in plan.trees for layer in tree.layers),
        "texts_embedded": costs.n_embedded,
        "leaves_added": sum(tree.n_leaves_added for tree in plan.trees),
        "leaves_removed": sum(tree.n_leaves_removed for tree in plan.trees),
        "tokens_planned": plan.cost.tokens,
        "tokens_used": costs.usage.tokens,
    }
    if plan.cost.usd is not None:
        metadata["usd_planned"] = round(plan.cost.usd, 6)
    if costs.usage.usd is not None:
        metadata["usd_spent"] = round(costs.usage.usd, 6)
    return metadata


def layer_drift_metadata(trees: Sequence[Tree]) -> Metadata:
    """Return each layer's share of nodes placed since its last fit, and its mean cohesion."""
    metadata: Metadata = {}
    depth = max(len(tree.fits) for tree in trees)
    for number in range(depth):
        pairs = [(t.fits[number], t.layers[number]) for t in trees if number < len(t.fits)]
        n_nodes = sum(len(layer.nodes) for _, layer in pairs)
        placed = sum(fit.n_placed for fit, _ in pairs)
        cohesion = sum(fit.cohesion * len(layer.nodes) for fit, layer in pairs)
        metadata[f"drift_layer_{number + 1}"] = round(placed / n_nodes, 4)
        metadata[f"cohesion_layer_{number + 1}"] = round(cohesion / n_nodes, 4)
    metadata["layers_fitted"] = sum(bool(fit.reason) for tree in trees for fit in tree.fits)
    return metadata


SHOWN_CHARS = 160


def findings_metadata(report: AuditReport, usage: Usage) -> Metadata:
    """Return metadata of ``layer_k/findings``."""
    rows = [
        (
            f.node_id,
            shorten(f.sentence, SHOWN_CHARS),
            f"{f.score:.2f}",
            shorten("; ".join((f.reason, *f.missing[:3])), SHOWN_CHARS),
            shorten(f.evidence, SHOWN_CHARS),
        )
        for f in report.unsupported_findings[:SHOWN_ROWS]
    ]
    metadata: Metadata = {
        "state": BUILT,
        "judge": f"{report.judge} {report.version}",
        "n_summaries": report.population,
        "n_audited": len(report.audited_nodes),
        "n_judged": report.n_judged,
        "n_unsupported": len(report.unsupported_node_ids),
        "n_sentences": len(report.findings),
        "n_sentences_unsupported": len(report.unsupported_findings),
        "n_sentences_not_judged": len(report.unjudged_findings),
        "n_marked_right": report.n_marked_right,
        "n_marked_wrong": report.n_marked_wrong,
    }
    metadata |= usage_metadata(usage)
    if rows:
        head = ("node", "sentence", "score", "why", "closest passage")
        metadata["unsupported_sentences"] = dg.MetadataValue.md(markdown_table(head, rows))
    return metadata


def audit_metadata(audits: Collection[AuditReport], usage: Usage) -> Metadata:
    """Return the numbers of this run's audits."""
    if not audits:
        return {}
    return {
        "summaries_audited": sum(len(report.audited_nodes) for report in audits),
        "summaries_judged": sum(report.n_judged for report in audits),
        "summaries_unsupported": sum(len(report.unsupported_node_ids) for report in audits),
        **usage_metadata(usage, "audit_"),
    }
