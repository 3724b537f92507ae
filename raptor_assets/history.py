"""Metadata of a rebuild: what was planned, what it took, how far the trees have drifted.

The names are stable, so that the UI plots them over the rebuilds of a partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dagster as dg

from raptor_assets.partition_state import PartitionState
from raptor_assets.tables_markdown import markdown_table
from raptor_core.nodes import Tree
from raptor_core.rebuild import RebuildPlan, TreePlan

Metadata = dict[str, Any]
SHOWN_LAYERS = 24


def rebuild_metadata(state: PartitionState) -> Metadata:
    """Planned against actual; empty where this run did not cluster the leaves."""
    if not state.plans:
        return {}
    plan = RebuildPlan(state.plans)
    found: Metadata = {
        "plan_is_exact": plan.exact,
        "summaries_planned": plan.summaries.calls,
        "summaries_made": state.n_summarized,
        "summaries_lower_bound": plan.lower_bound,
        "summaries_reused": sum(layer.n_reused for tree in plan.trees for layer in tree.layers),
        "texts_embedded": state.n_embedded,
        "leaves_added": sum(tree.n_leaves_added for tree in plan.trees),
        "leaves_removed": sum(tree.n_leaves_removed for tree in plan.trees),
        "tokens_planned": plan.cost.tokens,
        "tokens_used": state.usage.tokens,
        "plan": dg.MetadataValue.md(_plan_markdown(plan.trees)),
    }
    if plan.cost.usd is not None:
        found["usd_planned"] = round(plan.cost.usd, 6)
    if state.usage.usd is not None:
        found["usd_spent"] = round(state.usage.usd, 6)
    return found


def drift_metadata(trees: Sequence[Tree]) -> Metadata:
    """Of every layer: share of nodes placed since its last fit, cohesion, trees fitted now.

    Over several trees the shares are of all nodes together, the cohesion is their mean.
    """
    found: Metadata = {}
    depth = max(len(tree.fits) for tree in trees)
    for number in range(depth):
        pairs = [(t.fits[number], t.layers[number]) for t in trees if number < len(t.fits)]
        n_nodes = sum(len(layer.nodes) for _, layer in pairs)
        placed = sum(fit.n_placed for fit, _ in pairs)
        cohesion = sum(fit.cohesion * len(layer.nodes) for fit, layer in pairs)
        found[f"drift_layer_{number + 1}"] = round(placed / n_nodes, 4)
        found[f"cohesion_layer_{number + 1}"] = round(cohesion / n_nodes, 4)
    found["layers_fitted"] = sum(bool(fit.reason) for tree in trees for fit in tree.fits)
    return found


def _plan_markdown(trees: Sequence[TreePlan]) -> str:
    head = ("tree", "layer", "kept", "new", "gone", "touched", "split", "summaries", "why fitted")
    rows = [
        (
            tree.tree,
            str(layer.layer),
            str(layer.n_kept),
            str(layer.n_added),
            str(layer.n_removed),
            str(layer.n_touched),
            str(layer.n_split),
            str(layer.cost.calls),
            layer.fitted,
        )
        for tree in trees
        for layer in tree.layers
    ]
    return markdown_table(head, rows[:SHOWN_LAYERS])
