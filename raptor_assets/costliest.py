"""Metadata of ``layer_k/summaries``: what the endpoint took for those that this run made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from raptor_assets.costs import Usages, is_metered, node_usages
from raptor_assets.metadata import SHOWN_ROWS, Metadata, usage_metadata
from raptor_assets.report_links import NodeLink
from raptor_assets.tables_markdown import markdown_table
from raptor_core.models.money.usage import Usage
from raptor_core.nodes import Node
from raptor_core.settings import Settings


def paid_metadata(
    nodes: Mapping[str, Sequence[Node]],
    paid: Usages,
    judged: Usage,
    settings: Settings,
    link: NodeLink = str,
) -> Metadata:
    """Sums, tokens of a summary, the costliest nodes; nothing where no endpoint was called.

    ``paid`` are the partition's summaries of this run by content key, ``judged`` is what judging
    them took before they were kept; ``link`` makes the cell of a node from its id.
    """
    found: Metadata = {}
    if paid and is_metered(settings):
        tokens = [usage.tokens for usage in paid.values()]
        found |= {
            "model": settings.summarizer.model,
            **usage_metadata(sum(paid.values(), Usage())),
            "paid_tokens_mean": round(sum(tokens) / len(tokens), 1),
            "paid_tokens_maximum": max(tokens),
            "costliest_summaries": dg.MetadataValue.md(_costliest_markdown(nodes, paid, link)),
        }
    if judged.calls:
        found |= {f"audit_{name}": value for name, value in usage_metadata(judged).items()}
    return found


def costliest(usages: Usages) -> list[tuple[str, Usage]]:
    """By money, then by tokens; what has no price by tokens alone. The costliest come first."""

    def rank(item: tuple[str, Usage]) -> tuple[Any, ...]:
        key, usage = item
        return -(usage.usd or 0.0), -usage.tokens, -usage.retries, key

    return sorted(usages.items(), key=rank)


def _costliest_markdown(nodes: Mapping[str, Sequence[Node]], paid: Usages, link: NodeLink) -> str:
    by_id = {node.id: node for found in nodes.values() for node in found}
    shown = costliest(node_usages(by_id.values(), paid))[:SHOWN_ROWS]
    priced = any(usage.usd is not None for _, usage in shown)
    head = ("node", "tree", "calls", "retries", "prompt tokens", "completion tokens")
    rows = [
        (
            link(node_id),
            by_id[node_id].tree,
            *map(str, (usage.calls, usage.retries, usage.prompt_tokens, usage.completion_tokens)),
            *([_money(usage)] if priced else []),
        )
        for node_id, usage in shown
    ]
    return markdown_table((*head, "USD") if priced else head, rows)


def _money(usage: Usage) -> str:
    return "unknown" if usage.usd is None else f"{usage.usd:.6g}"
