"""`raptor plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dagster_project.cli.options import home_and_json
from dagster_project.cli.output import print_json
from dagster_project.cli.session import choose_partitions, look_at_source
from dagster_project.forecast import Forecast, forecast
from raptor_assets.names import counted
from raptor_core.models.money.usage import Cost
from raptor_core.rebuild import LayerPlan, RebuildPlan, TreePlan

NAMED = 20
"""Trees that are told one by one; ``--json`` tells all."""


@click.command(epilog="\b\nExample:\n  raptor plan docs/")
@click.argument("sources", nargs=-1)
@click.option("--partition", "partitions", multiple=True, help="Only this one; may be repeated.")
@home_and_json
def command(
    sources: tuple[str, ...], partitions: tuple[str, ...], home: Path, as_json: bool
) -> None:
    """Say what the next build will do and cost. Nothing is written, and no endpoint is called.

    SOURCES are taken beside those of the home's settings. A tree that goes on from its published
    state is foretold exactly, one that is built from scratch is estimated.
    """
    opened, settings, scan = look_at_source(home, sources)
    chosen = choose_partitions(partitions, scan.inventory, settings)
    planned = forecast(opened, settings, scan, chosen)
    if as_json:
        print_json(_values(planned))
    else:
        _print(planned)


def _values(planned: Forecast) -> dict[str, Any]:
    changes = planned.changes
    return {
        "new": list(changes.new),
        "changed": list(changes.changed),
        "removed": list(changes.removed),
        "held": list(changes.held),
        "n_unchanged": len(changes.unchanged),
        **planned.plan.as_dict(),
    }


def _print(planned: Forecast) -> None:
    changes, plan = planned.changes, planned.plan
    counts = [
        f"{len(names)} {word}"
        for names, word in (
            (changes.new, "new"),
            (changes.changed, "changed"),
            (changes.removed, "to drop"),
            (changes.held, "held back"),
            (changes.unchanged, "unchanged"),
        )
        if names
    ]
    click.echo(f"partitions: {', '.join(counts) or 'none'}")
    for tree in plan.trees[:NAMED]:
        _print_tree(tree)
    if len(plan.trees) > NAMED:
        click.secho(f"and {len(plan.trees) - NAMED} more trees; --json tells all", dim=True)
    _print_total(plan)


def _print_tree(tree: TreePlan) -> None:
    leaves = f"{tree.n_leaves_kept} kept, {tree.n_leaves_added} new, {tree.n_leaves_removed} gone"
    why = f" ({tree.reason})" if tree.reason else ""
    click.secho(f"\n{tree.tree}: {tree.action}{why}", fg="cyan")
    click.echo(f"  leaves   {leaves}")
    for layer in tree.layers:
        click.echo(f"  layer {layer.layer}  {_layer(layer)}")


def _layer(layer: LayerPlan) -> str:
    told = [f"{layer.n_kept} kept", f"{layer.n_added} new", f"{layer.n_removed} gone"]
    details = [
        (layer.n_touched, "touched"),
        (layer.n_split, "split"),
        (layer.n_merged, "merged or ended"),
        (layer.n_reused, "texts known already"),
    ]
    told += [f"{count} {word}" for count, word in details if count]
    fitted = f"; fitted: {layer.fitted}" if layer.fitted else ""
    return f"{', '.join(told)} → {_summaries(layer.cost.calls)}{fitted}"


def _summaries(count: int) -> str:

    return counted(count, "summary", "summaries")


def _print_total(plan: RebuildPlan) -> None:
    least, most = plan.summaries_range
    sure = "" if plan.exact else "about "
    bounds = f"at the least {plan.lower_bound}" if plan.exact else f"{least} to {most}"
    click.echo(
        f"\nto make: {sure}{_summaries(plan.summaries.calls)} ({bounds}), "
        f"about {plan.summaries.tokens:,} tokens"
    )
    if plan.embedding.calls:
        click.echo(f"to embed: about {plan.embedding.tokens:,} tokens by the endpoint")
    click.echo(f"cost: {_money(plan.cost)}")


def _money(cost: Cost) -> str:
    if cost.usd is None:
        models = ", ".join(f'[prices."{model}"]' for model in cost.unpriced)
        return f"not known; set {models} in the settings"
    return f"about {cost.usd:.4f} USD" if cost.usd else "0 USD, no endpoint is called"
