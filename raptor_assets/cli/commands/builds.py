"""Commands that plan or change trees: `raptor plan`, `raptor build` and `raptor drop`."""

import time
from collections.abc import Sequence
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any

import click

from raptor_assets.assets.names import count_phrase, join_first
from raptor_assets.cli.exits import exit_code_of_failures
from raptor_assets.cli.options import (
    absolute_sources,
    apply_budget_options,
    budget_options,
    home_and_json,
    open_home_and_settings,
)
from raptor_assets.cli.output import join_reasons, print_json, usd_text
from raptor_assets.corpus.changes import Changes, PartitionChange
from raptor_assets.home.access import CorpusAccess, corpus_tree_access
from raptor_assets.home.folder import Home
from raptor_assets.home.reembed import plan_reembedding
from raptor_assets.home.source_state import rescan
from raptor_assets.local.build import BuildReport, build, drop_partitions, update_corpus_tree
from raptor_assets.local.dagster import read_begun_partitions
from raptor_assets.local.forecast import Forecast, forecast_build
from raptor_assets.shown.progress import describe_failed_check_counts, group_by_cause
from raptor_assets.shown.rights import describe_unmatched_rules
from raptor_assets.shown.terminal import say
from raptor_core.documents import Inventory, Scan, partition_key
from raptor_core.documents.base import EVERYONE
from raptor_core.home.folder import command_hint
from raptor_core.home.published import require_existing
from raptor_core.rebuild import LayerPlan, RebuildPlan, TreePlan
from raptor_core.redaction import escape_control_characters
from raptor_core.settings import Settings
from raptor_core.settings.base import BudgetSettings
from raptor_core.tree.components import Components

_WORDS = {
    PartitionChange.NEW: "new",
    PartitionChange.CHANGED: "changed",
    PartitionChange.REMOVED: "to drop",
    PartitionChange.UNKNOWN: "withheld",
    PartitionChange.UNCONFIRMED: "to confirm",
    PartitionChange.WAITING: "to approve",
    PartitionChange.UNCHANGED: "unchanged",
}

NAMED = 20  # most trees, skipped files and failed partitions to name

_PARTITION_HELP = "Name of a partition, instead of all; may be repeated."


@click.command(epilog="\b\nExample:\n  raptor plan docs/")
@click.argument("sources", nargs=-1)
@click.option("--partition", "partitions", multiple=True, help=_PARTITION_HELP)
@click.option("--reembed", is_flag=True, help="Only predict what `build --reembed` will embed.")
@home_and_json
def plan_command(
    sources: tuple[str, ...], partitions: tuple[str, ...], reembed: bool, home: Path, as_json: bool
) -> None:
    """Predict what the next build will do and cost. Nothing is built, and no endpoint is called.

    SOURCES are planned in addition to the sources in the home's settings. The number of summaries
    is exact for a published tree, and mostly an estimate for a new tree.
    """
    opened, settings, scan = _open_home_and_scan(home, sources)
    keys = _to_partition_keys(partitions, scan.inventory, settings)
    if reembed:
        _print_reembedding_plan(CorpusAccess(settings, opened, scan=scan), as_json=as_json)
        return
    planned = forecast_build(opened, settings, scan, keys)
    if as_json:
        print_json(_forecast_values(planned))
    else:
        _print_forecast(planned, settings.unpriced_models, settings.budget)


def _print_reembedding_plan(access: CorpusAccess, *, as_json: bool) -> None:
    parts = [plan_reembedding(access), plan_reembedding(corpus_tree_access(access))]
    n_trees, n_texts, n_tokens = map(sum, zip(*map(astuple, parts), strict=True))
    embedder = access.settings.embedder
    price = access.settings.prices.get(embedder.model) if embedder.kind == "openai" else None
    usd = price.input * n_tokens / 1e6 if price else None if embedder.kind == "openai" else 0.0
    if as_json:
        values = {"n_trees": n_trees, "n_texts": n_texts, "n_tokens": n_tokens, "usd": usd}
        print_json({**values, "n_summaries": 0})
    else:
        say(f"to embed: {n_texts:,} texts of {n_trees:,} trees, about {n_tokens:,} tokens")
        say(f"to make: 0 summaries; cost: {usd_text(usd)}")


def _forecast_values(planned: Forecast) -> dict[str, Any]:
    changes = planned.changes
    return {
        **{
            s.value: changes.partitions_in(s)
            for s in PartitionChange
            if s != PartitionChange.UNCHANGED
        },
        "pinned": dict(changes.pin_notes),
        "ended_pins": dict(changes.ended_pin_notes),
        "doubt": changes.removal_doubt,
        "n_unchanged": len(changes.partitions_in(PartitionChange.UNCHANGED)),
        "refused": sorted(changes.refused_partitions),
        "odd": dict(planned.odd_documents),
        "readers": [asdict(each) for each in planned.reader_sets],
        "n_readers_changed": planned.n_readers_changed,
        "skipped": [{"name": s.name, "reason": s.reason} for s in planned.skipped],
        "unmatched_rules": planned.unmatched_rules,
        **planned.plan.as_dict(),
    }


def _print_forecast(planned: Forecast, unpriced: Sequence[str], budget: BudgetSettings) -> None:
    changes, plan = planned.changes, planned.plan
    counts = [
        f"{len(n)} {word}" for state, word in _WORDS.items() if (n := changes.partitions_in(state))
    ]
    say(f"partitions: {', '.join(counts) or 'none'}")
    _print_unchanged(changes)
    _print_names(describe_unmatched_rules(planned.unmatched_rules), "rules")
    _print_waiting(changes.partitions_in(PartitionChange.WAITING))
    if changes.removal_doubt:
        say(changes.explain_doubt(), fg="red", err=True)
    if changes.refused_partitions:
        named = join_first(sorted(changes.refused_partitions), NAMED)
        say(f"summarized again, because the model refused some summaries: {named}")
    _print_names(join_reasons(planned.odd_documents.items()), "documents")
    _print_names([f"skipped {item.name}: {item.reason}" for item in planned.skipped], "files")
    _print_reader_sets(planned)
    affected = [tree for tree in plan.trees if tree.action != "keep"]
    for tree in affected[:NAMED]:
        _print_tree(tree)
    if len(affected) > NAMED:
        say(f"and {len(affected) - NAMED} more trees; --json names all", dim=True)
    if n_same := len(plan.trees) - len(affected):
        say(f"{count_phrase(n_same, 'tree')} of these partitions without a change", dim=True)
    _print_plan_totals(plan, unpriced, budget)


def _print_reader_sets(planned: Forecast) -> None:
    """Print the sets of readers with their sizes, and how many nodes change readers."""
    sets = [
        f"{_join_reader_names(each.readers)} {count_phrase(each.n_documents, 'document')} in "
        f"{count_phrase(each.n_trees, 'tree')}"
        for each in planned.reader_sets
    ]
    if sets:
        more = f"; and {len(sets) - NAMED} more sets" if len(sets) > NAMED else ""
        say(f"readers: {'; '.join(sets[:NAMED])}{more}")
    if planned.n_readers_changed:
        say(f"{count_phrase(planned.n_readers_changed, 'node')} of published trees change readers")


def _join_reader_names(readers: Sequence[str]) -> str:
    return "everyone" if EVERYONE in readers else join_first(readers, NAMED) or "nobody"


def _print_tree(tree: TreePlan) -> None:
    leaves = (
        f"{tree.n_leaves_kept} kept, {tree.n_leaves_added} new, {tree.n_leaves_removed} removed"
    )
    why = f" ({tree.reason})" if tree.reason else ""
    say()
    say(f"{tree.tree}: {tree.action}{why}", fg="cyan")
    say(f"  leaves   {leaves}")
    for layer in tree.layers:
        say(f"  layer {layer.layer}  {_describe_layer(layer)}")


def _describe_layer(layer: LayerPlan) -> str:
    texts = [f"{layer.n_kept} kept", f"{layer.n_added} new", f"{layer.n_removed} removed"]
    counts = (layer.n_touched, layer.n_split, layer.n_merged, layer.n_reused)
    words = ("touched", "split", "merged or ended", "texts known already")
    texts += [f"{count} {word}" for count, word in zip(counts, words, strict=True) if count]
    fitted = f"; fitted: {layer.fitted}" if layer.fitted else ""
    return f"{', '.join(texts)} → {_summary_count_phrase(layer.cost.calls)}{fitted}"


def _summary_count_phrase(count: int) -> str:
    return count_phrase(count, "summary", "summaries")


def _print_plan_totals(plan: RebuildPlan, unpriced: Sequence[str], budget: BudgetSettings) -> None:
    least, most = plan.summaries_range
    sure = "" if plan.exact else "about "
    bounds = f"at least {plan.lower_bound}" if plan.exact else f"{least} to {most}"
    say()
    say(
        f"to make: {sure}{_summary_count_phrase(plan.summary_usage.calls)} ({bounds}), "
        f"about {plan.summary_usage.tokens:,} tokens"
    )
    if plan.calls_model and plan.summary_usage.calls:
        fewest, greatest = plan.calls_range
        say(
            f"calls: {fewest} to {greatest}, because poor answers are requested again; about "
            f"{plan.summary_usage.calls + plan.expected_retries} are likely"
        )
    if plan.audit_usage.calls or plan.max_audit_usage.calls:
        say(
            f"to audit: about {_summary_count_phrase(plan.audit_usage.calls)}, "
            f"{plan.audit_usage.tokens:,} "
            f"tokens; at most {plan.max_audit_usage.calls:,} calls if the judge's answers are "
            "invalid"
        )
    if plan.embedding.calls:
        say(f"to embed: about {plan.embedding.tokens:,} tokens by the endpoint")
    cost = "0 USD, no endpoint is called"
    if plan.cost.usd and (usd := plan.usd_range):
        cost = f"about {plan.cost.usd:.4f} USD, {usd[0]:.4f} to {usd[1]:.4f} with repeats"
    if plan.cost.usd is None:
        models = ", ".join(f'[prices."{model}"]' for model in unpriced)
        cost = f"not known; set {models} in the settings"
    say(f"cost: {cost}")
    for bound in plan.exceeded_limits(budget):
        say(
            f"this is more than budget.{bound} = {getattr(budget, bound)}: the build would stop "
            "there, publish the trees that are finished, and keep every answer for the next one",
            fg="red",
            err=True,
        )


@click.command(epilog="\b\nExample:\n  raptor build docs/ papers.jsonl --partition docs/pumps.md")
@click.argument("sources", nargs=-1)
@click.option("--partition", "partitions", multiple=True, help=_PARTITION_HELP)
@click.option(
    "--force", is_flag=True, help="Also build trees that are up to date; finished work is reused."
)
@click.option("--confirm-removal", is_flag=True, help="Confirm the removal of documents.")
@click.option(
    "--reembed",
    "reembeds",
    is_flag=True,
    help="After a change of the embedder, embed the published trees again; summaries stay.",
)
@budget_options("this run")
@home_and_json
def build_command(
    sources: tuple[str, ...],
    partitions: tuple[str, ...],
    force: bool,
    confirm_removal: bool,
    reembeds: bool,
    home: Path,
    as_json: bool,
    **bounds: float | None,
) -> None:
    """Build what is new or changed in the source, and publish it.

    SOURCES are added to the sources in the home's settings. Trees whose documents were removed from
    the source are dropped. If more documents were removed than source.max_removed allows, nothing
    is built or dropped without --confirm-removal. A published tree stays until the new tree is
    published. A run stops before it exceeds a budget; the next run reuses the finished work.
    """
    from raptor_assets.cli.progress import open_build_progress

    started = time.monotonic()
    with open_build_progress(visible=not as_json) as progress:
        if sources:
            Home.at(home).check_owner("")
        # Sources are scanned before they are saved: a mistyped path changes nothing.
        opened, settings, scan = _open_home_and_scan(home, sources)
        if sources:
            opened.create()
            opened.add_sources(absolute_sources(sources))
        settings = apply_budget_options(settings, bounds)
        keys = _to_partition_keys(partitions, scan.inventory, settings)
        hooks: dict[str, Any] = {"on_plan": progress.show_plan, "on_progress": progress.show_step}
        hooks["force"] = force
        flags: dict[str, Any] = {"confirm_removal": confirm_removal, "reembeds": reembeds}
        hooks["components"] = components = Components(settings)
        with components.ledger.share_budget():
            report = build(opened, settings, keys, scan=scan, **flags, **hooks)
            enabled = settings.corpus_tree.enabled
            above = update_corpus_tree(opened, settings, **hooks) if enabled else None
    seconds = time.monotonic() - started
    failed_checks = [*report.failed_checks, *(above.failed_checks if above else ())]
    if as_json:
        corpus_tree = {} if above is None else {"corpus_tree": _report_values(above, seconds)}
        print_json(_report_values(report, seconds) | corpus_tree)
    else:
        _print_report(report, opened, seconds)
        if above is not None:
            _print_corpus_tree_build(above)
        if checks := describe_failed_check_counts(failed_checks):
            say(
                f"failed checks: {checks}; `{command_hint('status', opened.path)}` explains",
                fg="yellow",
            )
    failed = report.failed | (above.failed if above else {})
    if failed:
        names = {failure.error for failure in failed.values()}
        raise SystemExit(exit_code_of_failures(names, partly=bool(report.built or report.dropped)))
    if any(check.severity == "error" for check in failed_checks):
        raise SystemExit(5)


def _print_corpus_tree_build(above: BuildReport) -> None:
    _print_failed(above, "trees")
    state = "built" if above.built else "dropped" if above.dropped else "unchanged"
    state = "failed" if above.failed else state
    say(
        f"the corpus tree: {state}, {_summary_count_phrase(_count_produced(above, 'summaries'))} "
        "written"
    )


def _report_values(report: BuildReport, seconds: float) -> dict[str, Any]:
    return {
        "built": report.built,
        "unchanged": report.unchanged,
        "dropped": report.dropped,
        "withheld": report.changes.partitions_in(PartitionChange.UNKNOWN),
        "waiting": [*report.changes.partitions_in(PartitionChange.WAITING), *report.waiting],
        "pinned": dict(report.changes.pin_notes),
        "ended_pins": dict(report.changes.ended_pin_notes),
        "failed": report.failed,
        "skipped": [{"name": s.name, "reason": s.reason} for s in report.skipped],
        "odd": report.odd_documents,
        "failed_checks": report.failed_checks,
        "n_embedded": _count_produced(report, "embeddings"),
        "n_summarized": _count_produced(report, "summaries"),
        "n_answers_kept": report.n_kept_answers,
        "seconds": round(seconds, 3),
        "run_ids": report.run_ids,
    }


def _count_produced(report: BuildReport, kind: str) -> int:
    return sum(
        count for asset, count in report.n_produced_by_asset.items() if asset.endswith(f"/{kind}")
    )


def _print_report(report: BuildReport, home: Home, seconds: float) -> None:
    _print_names([f"skipped {item.name}: {item.reason}" for item in report.skipped], "files")
    _print_unchanged(report.changes)
    _print_names(describe_unmatched_rules(report.unmatched_rules), "rules")
    _print_names(join_reasons(report.odd_documents.items()), "partitions")
    _print_failed(report, "partitions")
    _print_waiting([*report.changes.partitions_in(PartitionChange.WAITING), *report.waiting])
    counts = [
        f"{len(report.built)} built",
        f"{len(report.unchanged)} unchanged" if report.unchanged else "",
        f"{len(report.dropped)} dropped" if report.dropped else "",
        f"{len(report.failed)} failed" if report.failed else "",
        f"{len(report.waiting)} to approve" if report.waiting else "",
        f"{count_phrase(len(report.skipped), 'file')} skipped" if report.skipped else "",
    ]
    say(
        f"partitions: {', '.join(filter(None, counts))}; "
        f"{count_phrase(_count_produced(report, 'embeddings'), 'text')} embedded, "
        f"{_summary_count_phrase(_count_produced(report, 'summaries'))} written in {seconds:.1f} s"
    )
    if report.n_kept_answers:
        kept = count_phrase(report.n_kept_answers, "answer")
        say(f"{kept} of the model are kept: the next build continues from there")
    if report.run_ids and not home.read_names().corpus:
        say(f"see the run in the UI: {command_hint('ui', home.path)}", dim=True)


def _print_unchanged(changes: Changes) -> None:
    """Print which partitions and trees stay as they are, and which pins end."""
    why = (
        "as published: a document of it cannot be read now, and until then only readers whom a "
        "rule or the broken item names may read it"
    )
    _print_names(
        [f"kept {name} {why}" for name in changes.partitions_in(PartitionChange.UNKNOWN)],
        "partitions",
    )
    pinned = [
        f"pinned {tree} to an earlier build: {note}" for tree, note in changes.pin_notes.items()
    ]
    pinned += [
        f"the pin of {tree} ends, because none of its documents has this name any more: {note}"
        for tree, note in changes.ended_pin_notes.items()
    ]
    _print_names(pinned, "trees")


def _print_waiting(partitions: Sequence[str]) -> None:
    why = "waits for approval: `raptor versions diff TREE --staged` shows it"
    _print_names([f"{name} {why}" for name in partitions], "partitions")


def _print_failed(report: BuildReport, plural: str) -> None:
    lines = [
        f"failed {join_first(names, NAMED)} at {failure.asset}: {failure.reason}"
        for names, failure in group_by_cause(report.failed)
    ]
    _print_names(lines, plural, "red")


def _print_names(lines: list[str], plural: str, color: str = "yellow") -> None:
    for line in lines[:NAMED]:
        say(line, fg=color, err=True)
    if len(lines) > NAMED:
        more = f"and {len(lines) - NAMED} more {plural}; --json names all"
        say(more, fg=color, err=True)


@click.command(epilog="\b\nExample:\n  raptor drop guides/pumps.md --yes")
@click.argument("trees", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation; required with --json.")
@home_and_json
def drop_command(trees: tuple[str, ...], yes: bool, home: Path, as_json: bool) -> None:
    """Remove trees with their vectors, tables and partitions, in a Dagster run.

    If the source still contains the documents of a tree, the next `raptor build` builds the tree
    again. With `grouping.shards`, a partition contains several trees; name the partition.
    """
    if as_json and not yes:
        raise click.UsageError("--json cannot ask whether to remove; add --yes")
    opened, settings = Home.open_with_settings(home)
    names = _find_partitions_to_drop(trees, opened, settings)
    prompt = escape_control_characters(
        f"remove {', '.join(names)} from {opened.path}?", lines=False
    )
    if not (yes or click.confirm(prompt, err=True)):
        raise SystemExit("nothing was removed")

    report = drop_partitions(opened, settings, names)
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
        raise SystemExit(exit_code_of_failures(errors, partly=bool(report.dropped)))


def _find_partitions_to_drop(trees: tuple[str, ...], home: Home, settings: Settings) -> list[str]:
    grouping = settings.grouping
    by_tree = not grouping.shards
    known = CorpusAccess(settings, home).find_begun_or_published(read_begun_partitions(home))
    keys = {
        name: partition_key(name, grouping) if by_tree and name not in known else name
        for name in trees
    }
    kind = "tree is called" if by_tree else "partition (with grouping.shards, name those) is called"
    require_existing(kind, [name for name, key in keys.items() if key not in known], known)
    return list(dict.fromkeys(keys.values()))


def _open_home_and_scan(path: Path, sources: Sequence[str]) -> tuple[Home, Settings, Scan]:
    """Return a home, its settings with further sources, and a scan of all, without writing."""
    added = absolute_sources(sources)
    home, settings = open_home_and_settings(path, needed=not added)
    paths = dict.fromkeys((*settings.source.paths, *added))
    source = settings.source.model_copy(update={"paths": tuple(paths)})
    scan = rescan(home.table_store(settings), source, is_whole=bool(added))
    return home, settings.model_copy(update={"source": source}), scan


def _to_partition_keys(
    names: Sequence[str], inventory: Inventory, settings: Settings
) -> tuple[str, ...] | None:
    """Return the keys of named partitions; the name of a partition's only tree counts, too."""
    if not names:
        return None
    known = inventory.group_into_partitions(settings.grouping)
    of_tree = {name: partition_key(name, settings.grouping) for name in names}
    is_tree = {name for name in names if name in known.get(of_tree[name], {})}
    keys = [of_tree[n] if n in is_tree and n not in known else n for n in names]
    require_existing("partition of the source is called", keys, known)
    return tuple(keys)
