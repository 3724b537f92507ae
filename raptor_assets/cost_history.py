"""What a partition's builds paid for, layer by layer: kept with ``tree``, and pictured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from raptor_assets.partition_state import PartitionState
from raptor_assets.plots import cost_svg
from raptor_assets.svg import svg_markdown
from raptor_core.models.money import Usage

KEPT_BUILDS = 12
"""Builds that are remembered and pictured."""

Costs = Sequence[Mapping[str, float]]
"""One entry per build that paid, oldest first: tokens, and USD where known, of each layer."""

_TOKENS, _USD = "tokens layer ", "usd layer "


def cost_history(before: Costs, state: PartitionState) -> Costs:
    """The costs of the partition's last builds, this run's last where it paid for something."""
    paid = {layer: usage for layer, usage in state.charged.items() if usage.calls}
    if not paid:
        return before
    return [*before, _costs(paid)][-KEPT_BUILDS:]


def _costs(paid: Mapping[int, Usage]) -> dict[str, float]:
    """By name of unit and layer; the money is left out where a price is not set."""
    found = {f"{_TOKENS}{layer}": float(paid[layer].tokens) for layer in sorted(paid)}
    priced = {f"{_USD}{layer}": paid[layer].usd for layer in sorted(paid)}
    known = {name: round(usd, 9) for name, usd in priced.items() if usd is not None}
    return found | (known if len(known) == len(priced) else {})


def cost_metadata(costs: Costs) -> dict[str, Any]:
    """A picture of what builds were paid for; empty where none was.

    In USD, or in tokens where one of the builds has no price.
    """
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
