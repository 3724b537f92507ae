"""Metadata of costs: of a partition's last builds, by layer."""

from collections.abc import Mapping, Sequence

import dagster as dg

from raptor_assets.drawing import svg_markdown
from raptor_assets.plots import Metadata, cost_svg
from raptor_core.models.money.usage import Usage

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
