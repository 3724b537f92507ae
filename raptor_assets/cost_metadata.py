"""Metadata of costs: of a run's summaries, and of a partition's last builds by layer."""

from collections.abc import Mapping, Sequence

import dagster as dg

from raptor_assets.costs import Usages, is_metered, node_usages
from raptor_assets.drawing import svg_markdown
from raptor_assets.metadata import SHOWN_ROWS, usage_metadata
from raptor_assets.plots import Metadata, cost_svg
from raptor_assets.report_pages import NodeLink
from raptor_assets.tables_markdown import markdown_table
from raptor_core.models.money.usage import Usage
from raptor_core.nodes import Node
from raptor_core.settings import Settings


def paid_metadata(
    nodes: Mapping[str, Sequence[Node]],
    paid: Usages,
    settings: Settings,
    link: NodeLink = str,
) -> Metadata:
    """Return sums, tokens of a summary and the costliest nodes; nothing without calls.

    ``paid`` are usages of this run's summaries by content key. ``link`` makes a cell from the id of
    a node.
    """
    if not paid or not is_metered(settings):
        return {}
    tokens = [usage.tokens for usage in paid.values()]
    return {
        "model": settings.summarizer.shown_model,
        **usage_metadata(sum(paid.values(), Usage())),
        "paid_tokens_mean": round(sum(tokens) / len(tokens), 1),
        "paid_tokens_maximum": max(tokens),
        "costliest_summaries": dg.MetadataValue.md(_costliest_markdown(nodes, paid, link)),
    }


def costliest(usages: Usages) -> list[tuple[str, Usage]]:
    """Return usages from the costliest on, by money, then by tokens."""
    ranked = sorted((-(u.usd or 0.0), -u.tokens, -u.retries, key) for key, u in usages.items())
    return [(key, usages[key]) for *_, key in ranked]


def _costliest_markdown(nodes: Mapping[str, Sequence[Node]], paid: Usages, link: NodeLink) -> str:
    by_id = {node.id: node for members in nodes.values() for node in members}
    shown = costliest(node_usages(by_id.values(), paid))[:SHOWN_ROWS]
    priced = any(usage.usd is not None for _, usage in shown)
    head = ("node", "tree", "calls", "retries", "prompt tokens", "completion tokens")
    rows = [
        (
            link(node_id),
            by_id[node_id].tree,
            *map(str, (usage.calls, usage.retries, usage.prompt_tokens, usage.completion_tokens)),
            *(["unknown" if usage.usd is None else f"{usage.usd:.6g}"] if priced else []),
        )
        for node_id, usage in shown
    ]
    return markdown_table((*head, "USD") if priced else head, rows)


KEPT_BUILDS = 12  # builds that are kept and shown
Costs = Sequence[Mapping[str, float]]
"""Tokens of each layer, and USD if known, for each build that paid, oldest first."""

_TOKENS, _USD = "tokens layer ", "usd layer "


def cost_history(previous: Costs, charged: Mapping[int, Usage]) -> Costs:
    """Add this run's costs by layer, if it has any, to those of the previous builds."""
    paid = [(layer, charged[layer]) for layer in sorted(charged) if charged[layer].calls]
    if not paid:
        return previous
    build = {f"{_TOKENS}{layer}": float(usage.tokens) for layer, usage in paid}
    usd = {f"{_USD}{layer}": round(usage.usd, 9) for layer, usage in paid if usage.usd is not None}
    if len(usd) == len(paid):  # every price is set
        build |= usd
    return [*previous, build][-KEPT_BUILDS:]


def cost_metadata(costs: Costs) -> Metadata:
    """Draw the costs of builds, if any, in USD, or in tokens if a build has no price."""
    if not costs:
        return {}
    priced = all(any(name.startswith(_USD) for name in build) for build in costs)
    prefix, unit = (_USD, "USD") if priced else (_TOKENS, "Tokens")
    shown = [
        {
            f"layer {name.removeprefix(prefix)}": value
            for name, value in build.items()
            if name.startswith(prefix)
        }
        for build in costs
    ]
    picture = cost_svg(shown, unit)
    return {"cost": dg.MetadataValue.md(svg_markdown(picture, f"{unit} paid by layer and build"))}
