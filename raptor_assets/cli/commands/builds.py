"""What changes the trees of a home: `raptor plan`, `raptor build` and `raptor drop`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from raptor_assets.cli.exits import failures_code
from raptor_assets.cli.options import (
    bounded,
    budget_options,
    home_and_json,
    home_settings,
    kept_sources,
)
from raptor_assets.cli.output import print_json, print_orphaned, told_together
from raptor_assets.cli.terminal import say
from raptor_assets.names import counted
from raptor_assets.project.home import Home
from raptor_assets.project.plan import Changes
from raptor_assets.project.resources import Resources
from raptor_assets.project.source_state import look
from raptor_assets.project.store_state import existing_partitions
from raptor_assets.standalone.execute import BuildReport, build, drop, update_corpus_tree
from raptor_assets.standalone.forecast import Forecast, forecast
from raptor_assets.standalone.instance import recorded
from raptor_core.documents import Inventory, Scan, partition_key
from raptor_core.home.folder import hint
from raptor_core.home.published import refuse_unknown
from raptor_core.rebuild import LayerPlan, RebuildPlan, TreePlan
from raptor_core.redaction import printable
from raptor_core.settings import Settings

NAMED = 20
"""Trees, skipped files and failed partitions that are told one by one; ``--json`` tells all."""


@click.command(epilog="\b\nExample:\n  raptor plan docs/")
@click.argument("sources", nargs=-1)
@click.option("--partition", "partitions", multiple=True, help="Only this one; may be repeated.")
@home_and_json
def plan_command(
    sources: tuple[str, ...], partitions: tuple[str, ...], home: Path, as_json: bool
) -> None:
    """Say what the next build will do and cost. Nothing is written, and no endpoint is called.

    SOURCES are taken beside those of the home's settings. A tree that goes on from its published
    state is foretold exactly, one that is built from scratch is estimated.
    """
    opened, settings, scan = _look_at_source(home, sources)
    chosen = _choose_partitions(partitions, scan.inventory, settings)
    planned = forecast(opened, settings, scan, chosen)
    if as_json:
        print_json(_plan_values(planned))
    else:
        _print_plan(planned)


def _plan_values(planned: Forecast) -> dict[str, Any]:
    changes = planned.changes
    return {
        "new": changes.new,
        "changed": changes.changed,
        "removed": changes.removed,
        "held": changes.withheld,
        "unconfirmed": changes.unconfirmed,
        "doubt": changes.doubt,
        "orphaned": changes.orphaned,
        "n_unchanged": len(changes.unchanged),
        **planned.plan.as_dict(),
    }


def _print_plan(planned: Forecast) -> None:
    changes, plan = planned.changes, planned.plan
    counts = [
        f"{len(names)} {word}"
        for names, word in (
            (changes.new, "new"),
            (changes.changed, "changed"),
            (changes.removed, "to drop"),
            (changes.withheld, "held back"),
            (changes.unconfirmed, "to confirm"),
            (changes.unchanged, "unchanged"),
        )
        if names
    ]
    say(f"partitions: {', '.join(counts) or 'none'}")
    _print_held(changes)
    if changes.doubt:
        say(changes.explain_doubt(), fg="red", err=True)
    print_orphaned(changes.orphaned)
    for tree in plan.trees[:NAMED]:
        _print_tree(tree)
    if len(plan.trees) > NAMED:
        say(f"and {len(plan.trees) - NAMED} more trees; --json tells all", dim=True)
    _print_total(plan)


def _print_tree(tree: TreePlan) -> None:
    leaves = f"{tree.n_leaves_kept} kept, {tree.n_leaves_added} new, {tree.n_leaves_removed} gone"
    why = f" ({tree.reason})" if tree.reason else ""
    say()
    say(f"{tree.tree}: {tree.action}{why}", fg="cyan")
    say(f"  leaves   {leaves}")
    for layer in tree.layers:
        say(f"  layer {layer.layer}  {_layer(layer)}")


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
    say()
    say(
        f"to make: {sure}{_summaries(plan.summaries.calls)} ({bounds}), "
        f"about {plan.summaries.tokens:,} tokens"
    )
    if plan.embedding.calls:
        say(f"to embed: about {plan.embedding.tokens:,} tokens by the endpoint")
    cost = f"about {plan.cost.usd:.4f} USD" if plan.cost.usd else "0 USD, no endpoint is called"
    if plan.cost.usd is None:
        models = ", ".join(f'[prices."{model}"]' for model in plan.cost.unpriced)
        cost = f"not known; set {models} in the settings"
    say(f"cost: {cost}")


@click.command(epilog="\b\nExample:\n  raptor build docs/ papers.jsonl --partition docs/pumps.md")
@click.argument("sources", nargs=-1)
@click.option("--partition", "partitions", multiple=True, help="Only this one; may be repeated.")
@click.option("--force", is_flag=True, help="Also what is up to date; finished work is reused.")
@click.option(
    "--confirm-removal", is_flag=True, help="Documents are gone on purpose, however many."
)
@budget_options("this run")
@home_and_json
def build_command(
    sources: tuple[str, ...],
    partitions: tuple[str, ...],
    force: bool,
    confirm_removal: bool,
    home: Path,
    as_json: bool,
    **bounds: float | None,
) -> None:
    """Build what is new or changed in the source, and publish it.

    SOURCES are added to the home's settings; without any, the ones that stand there are used.
    Trees whose documents are gone from the source are dropped. Where more are gone than
    source.max_removed allows, nothing is built or dropped without --confirm-removal. What was
    published stays until its successor is. A run stops before it would pass a bound and keeps what
    is finished; the next one goes on from there.
    """
    from raptor_assets.cli.progress import build_progress

    started = time.monotonic()
    with build_progress(visible=not as_json) as progress:
        if sources:
            Home.at(home).check_owner("")
        # The sources are looked at before they are kept: a mistyped one leaves nothing behind.
        opened, settings, scan = _look_at_source(home, sources)
        if sources:
            opened.create()
            opened.add_sources(kept_sources(sources))
        settings = bounded(settings, bounds)
        chosen = _choose_partitions(partitions, scan.inventory, settings)
        report = build(
            opened,
            settings,
            chosen,
            force=force,
            confirm_removal=confirm_removal,
            scan=scan,
            on_plan=progress.plan,
            on_progress=progress.step,
        )
        above = None
        if settings.corpus_tree.enabled:
            above = update_corpus_tree(
                opened, settings, force=force, on_plan=progress.plan, on_progress=progress.step
            )
    seconds = time.monotonic() - started
    if as_json:
        told = {} if above is None else {"corpus_tree": _values(above, seconds)}
        print_json(_values(report, seconds) | told)
    else:
        _print(report, opened, seconds)
        if above is not None:
            _print_above(above)
    failed = report.failed | (above.failed if above else {})
    if failed:
        names = {failure.error for failure in failed.values()}
        raise SystemExit(failures_code(names, partly=bool(report.built or report.dropped)))


def _print_above(above: BuildReport) -> None:
    _name_failed(above, "trees")
    state = "built" if above.built else "dropped" if above.dropped else "unchanged"
    state = "failed" if above.failed else state
    say(f"the corpus tree: {state}, {_summaries(_made(above, 'summaries'))} made")


def _values(report: BuildReport, seconds: float) -> dict[str, Any]:
    return {
        "built": report.built,
        "unchanged": report.unchanged,
        "dropped": report.dropped,
        "held": report.changes.withheld,
        "orphaned": report.changes.orphaned,
        "failed": report.failed,
        "skipped": [{"name": s.name, "reason": s.reason} for s in report.skipped],
        "odd": report.odd,
        "n_embedded": _made(report, "embeddings"),
        "n_summarized": _made(report, "summaries"),
        "seconds": round(seconds, 3),
        "run_ids": report.run_ids,
    }


def _made(report: BuildReport, kind: str) -> int:
    return sum(count for asset, count in report.made.items() if asset.endswith(f"/{kind}"))


def _print(report: BuildReport, home: Home, seconds: float) -> None:
    _name([f"skipped {item.name}: {item.reason}" for item in report.skipped], "files")
    _print_held(report.changes)
    print_orphaned(report.changes.orphaned)
    _name(told_together(report.odd.items()), "partitions")
    _name_failed(report, "partitions")
    counts = [
        f"{len(report.built)} built",
        f"{len(report.unchanged)} unchanged" if report.unchanged else "",
        f"{len(report.dropped)} dropped" if report.dropped else "",
        f"{len(report.failed)} failed" if report.failed else "",
        f"{counted(len(report.skipped), 'file')} skipped" if report.skipped else "",
    ]
    say(
        f"partitions: {', '.join(filter(None, counts))}; "
        f"{counted(_made(report, 'embeddings'), 'text')} embedded, "
        f"{_summaries(_made(report, 'summaries'))} made in {seconds:.1f} s"
    )
    if report.run_ids and not home.names().corpus:
        say(f"see the run in the UI: {hint('ui', home.path)}", dim=True)


def _print_held(changes: Changes) -> None:
    """Print which partitions stay as published, since documents of them are unknown."""
    why = "as published: what it holds cannot be read now"
    _name([f"kept {name} {why}" for name in changes.withheld], "partitions")


def _name_failed(report: BuildReport, what: str) -> None:
    lines = [f"failed {n} at {f.asset}: {f.reason}" for n, f in report.failed.items()]
    _name(lines, what, "red")


def _name(lines: list[str], what: str, color: str = "yellow") -> None:
    """Lines on standard error, the first of them in full."""
    for line in lines[:NAMED]:
        say(line, fg=color, err=True)
    if len(lines) > NAMED:
        more = f"and {len(lines) - NAMED} more {what}; --json names all"
        say(more, fg=color, err=True)


@click.command(epilog="\b\nExample:\n  raptor drop guides/pumps.md --yes")
@click.argument("trees", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask; needed with --json.")
@home_and_json
def drop_command(trees: tuple[str, ...], yes: bool, home: Path, as_json: bool) -> None:
    """Remove trees: their vectors, tables and partitions, through a Dagster run.

    A tree whose documents are still in the source is built again by the next `raptor build`.
    With `grouping.shards` a partition holds several trees; name the partition then.
    """
    if as_json and not yes:
        raise click.UsageError("--json cannot ask whether to remove; add --yes")
    opened, settings = Home.open(home)
    names = _partitions(trees, opened, settings)
    asked = printable(f"remove {', '.join(names)} from {opened.path}?", lines=False)
    if not (yes or click.confirm(asked, err=True)):
        raise SystemExit("nothing was removed")

    report = drop(opened, settings, names)
    if as_json:
        failed = {name: failure.reason for name, failure in report.failed.items()}
        print_json({"dropped": report.dropped, "failed": failed, "run_ids": report.run_ids})
    else:
        for name in report.dropped:
            say(f"dropped {name}")
        for name, failure in report.failed.items():
            say(f"failed {name}: {failure.reason}", fg="red", err=True)
    if not report.succeeded:
        errors = {failure.error for failure in report.failed.values()}
        raise SystemExit(failures_code(errors, partly=bool(report.dropped)))


def _partitions(trees: tuple[str, ...], home: Home, settings: Settings) -> list[str]:
    """Keys of the partitions to drop, each once."""
    grouping = settings.grouping
    with recorded(home) as records:
        known = set(records.partitions())
    own = not grouping.shards
    keys = {
        name: partition_key(name, grouping) if own and name not in known else name for name in trees
    }
    known = existing_partitions(known, Resources(settings, home).store, grouping, keys.values())
    what = "tree is called" if own else "partition (with grouping.shards, name those) is called"
    refuse_unknown(what, [name for name, key in keys.items() if key not in known], known)
    return list(dict.fromkeys(keys.values()))


def _look_at_source(path: Path, sources: Sequence[str]) -> tuple[Home, Settings, Scan]:
    """A home, its settings with these sources, and what all of them hold; writes nothing."""
    fresh = kept_sources(sources)
    home, settings = home_settings(path, needed=not fresh)
    paths = dict.fromkeys((*settings.source.paths, *fresh))
    source = settings.source.model_copy(update={"paths": tuple(paths)})
    scan = look(home.table_store(settings), source)
    return home, settings.model_copy(update={"source": source}), scan


def _choose_partitions(
    names: Sequence[str], inventory: Inventory, settings: Settings
) -> tuple[str, ...] | None:
    """Keys of the partitions that are named; a tree's name will do where it has one of its own."""
    if not names:
        return None
    known = inventory.partitions(settings.grouping)
    of_tree = {name: partition_key(name, settings.grouping) for name in names}
    is_tree = {name for name in names if name in known.get(of_tree[name], {})}
    keys = [of_tree[n] if n in is_tree and n not in known else n for n in names]
    refuse_unknown("partition of the source is called", keys, known)
    return tuple(keys)
