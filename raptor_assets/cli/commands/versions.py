"""Earlier builds of trees: `raptor versions`."""

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from raptor_assets.cli.commands.curate import user_name
from raptor_assets.cli.commands.golden import describe_changed_ranks
from raptor_assets.cli.options import combine_options, home_and_json
from raptor_assets.cli.output import print_json, print_wide, usd_text
from raptor_assets.home.folder import Home
from raptor_assets.local.versions import (
    BuildDifference,
    TreeBuild,
    approve_builds,
    compare_builds,
    list_builds,
    roll_back_or_release,
)
from raptor_assets.shown.terminal import say, say_text
from raptor_assets.shown.versions import difference_markdown
from raptor_core.evaluation.golden import golden_values
from raptor_core.evaluation.golden_file import load_golden
from raptor_core.home.folder import hint
from raptor_core.store.base import Manifest

_reason = combine_options(
    click.option("--reason", default="", help="Reason, which status, plan and the UI show."),
    click.option("--who", default="", help="Your name; by default the name of the system's user."),
)


def _example_text(arguments: str) -> str:
    return f"\b\nExample:\n  raptor versions {arguments}"


@click.group("versions", epilog=_example_text("rollback guides/pumps.md --reason 'worse answers'"))
def versions_command() -> None:
    """Compare, roll back and approve builds of a tree.

    runs.keep_builds sets how many earlier builds of each tree are kept. If a document is deleted
    from the source, kept builds that contain this document are deleted, too.
    """


@versions_command.command("list", epilog=_example_text("list guides/pumps.md"))
@click.argument("tree")
@home_and_json
def list_(tree: str, home: Path, as_json: bool) -> None:
    """List the builds of a TREE, the newest first, with run, nodes, checks and cost."""
    builds = list_builds(*Home.open(home), tree)
    if as_json:
        print_json({"tree": tree, "builds": [_build_values(build) for build in builds]})
        return
    for build in builds:
        _print_build(build)


def _build_values(build: TreeBuild) -> dict[str, Any]:
    manifest = {field.name: getattr(build.manifest, field.name) for field in fields(Manifest)}
    known = ("build_id", "layer_sizes", "n_tokens", "published_at", "documents", "pin")
    return {
        "id": build.id,
        "state": build.state,
        **{name: manifest[name] for name in known},
        **build.notes,
        "run_id": build.run_id,
        "failed_checks": build.failed_checks,
    }


def _print_build(build: TreeBuild) -> None:
    manifest, notes = build.manifest, build.notes
    sizes = " → ".join(map(str, manifest.layer_sizes))
    say(f"{build.id}  {build.state}", fg=None if build.state == "kept" else "cyan")
    parts = [f"made {manifest.published_at}", f"{sizes} nodes", f"{manifest.n_tokens:,} tokens"]
    if "n_added" in notes:
        parts.append(f"{notes['n_added']} nodes new, {notes['n_removed']} gone")
    if cost := notes.get("cost"):
        parts.append(f"{cost['summaries_made']} summaries, {usd_text(cost['spent_usd'])}")
    say(f"    {'; '.join(parts)}")
    if build.run_id:
        failed = (
            f"; failed: {', '.join(build.failed_checks)}"
            if build.failed_checks
            else "; its checks passed"
        )
        say(f"    run {build.run_id}{failed}")
    if manifest.pin:
        say(f"    pinned: {manifest.pin}", fg="yellow")


@versions_command.command(epilog=_example_text("diff guides/pumps.md --markdown"))
@click.argument("tree")
@click.argument("old", default="")
@click.argument("new", default="")
@click.option("--staged", is_flag=True, help="Compare the waiting build with the published build.")
@click.option("--markdown", is_flag=True, help="Print Markdown, for example for a pull request.")
@home_and_json
def diff(
    tree: str,
    old: str,
    new: str,
    staged: bool,
    markdown: bool,
    home: Path,
    as_json: bool,
) -> None:
    """Show what changed between two builds of a TREE, OLD and NEW.

    Name builds by the beginnings of their ids. By default, the published build is compared with the
    previous build. If checks.golden is set, both builds are searched for the questions of the
    golden set.
    """
    opened, settings = Home.open(home)
    path = opened.golden_path(settings)
    cases = () if path is None else load_golden(path)
    difference = compare_builds(opened, settings, tree, old, new, staged=staged, cases=cases)
    if as_json:
        print_json(_difference_values(tree, difference))
        return
    if markdown:
        lines = [line.strip() for line in _describe_difference(difference)]
        say_text(difference_markdown(tree, lines, difference.summaries))
        return
    _print_difference(difference)


def _difference_values(tree: str, difference: BuildDifference) -> dict[str, Any]:
    return {
        "tree": tree,
        "old": difference.old,
        "new": difference.new,
        "chunks_added": difference.n_chunks[0],
        "chunks_removed": difference.n_chunks[1],
        "summaries": difference.summaries,
        "golden": difference.golden
        and [
            golden_values(report) for report in (difference.golden.before, difference.golden.after)
        ],
        "golden_losses": difference.golden and difference.golden.losses,
    }


def _print_difference(difference: BuildDifference) -> None:
    from rich.table import Table

    for line in _describe_difference(difference):
        say(line)
    if not difference.summaries:
        return
    table = Table("old", "new", show_lines=True)
    for change in difference.summaries:
        head = f"layer {change.layer}: {change.name}\n"
        table.add_row(*(_styled_cell(head, text) for text in (change.old, change.new)))
    print_wide(table)


def _describe_difference(difference: BuildDifference) -> list[str]:
    """Describe a difference in numbers, with the golden questions whose rank changed."""
    added, removed = difference.n_chunks
    lines = [
        f"{difference.old or 'new'} → {difference.new}",
        f"chunks: {added} new, {removed} gone; summaries that differ: {len(difference.summaries)}",
    ]
    if golden := difference.golden:
        rates = (f"{report.hit_rate:.0%}" for report in (golden.before, golden.after))
        lines.append(f"golden questions with their answer: {' → '.join(rates)}")
        lines += [f"golden questions: {golden.summary()}", *describe_changed_ranks(golden)]
    return lines


def _styled_cell(head: str, text: str) -> Any:
    from rich.text import Text

    return Text.assemble((head, "bold"), text or "–")


@versions_command.command(epilog=_example_text("rollback guides/pumps.md --reason 'worse answers'"))
@click.argument("tree")
@click.option(
    "--to", default="", metavar="BUILD", help="Id of the build; by default the previous build."
)
@_reason
@home_and_json
def rollback(tree: str, to: str, reason: str, who: str, home: Path, as_json: bool) -> None:
    """Publish an earlier build of a TREE at once, and pin the tree to it.

    No model is called. Builds do not change a pinned tree until `raptor versions release`. Texts
    that people set aside, or that were deleted from the source, are not published.
    """
    config = {"tree": tree, "to": to, "reason": reason, "who": who or user_name()}
    _change_build(home, tree, config, as_json, done="pinned to")


@versions_command.command(epilog=_example_text("release guides/pumps.md"))
@click.argument("tree")
@_reason
@home_and_json
def release(tree: str, reason: str, who: str, home: Path, as_json: bool) -> None:
    """Release a pinned TREE, so that builds change it again.

    If a kept build matches the current documents and settings, it is published at once, without
    calling a model.
    """
    config = {"tree": tree, "reason": reason, "who": who or user_name(), "release": True}
    _change_build(home, tree, config, as_json, done="released at")


@versions_command.command("approve", epilog=_example_text("approve guides/pumps.md"))
@click.argument("trees", nargs=-1, required=True)
@home_and_json
def approve_(trees: tuple[str, ...], home: Path, as_json: bool) -> None:
    """Publish the builds of TREES that wait for approval (see runs.publish)."""
    run_id = approve_builds(*Home.open(home), trees)
    if as_json:
        print_json({"published": trees, "run_id": run_id})
        return
    for tree in trees:
        say(f"{tree}: published")


def _change_build(home: Path, tree: str, config: dict[str, Any], as_json: bool, done: str) -> None:
    opened, settings = Home.open(home)
    run_id = roll_back_or_release(opened, settings, config)
    (published,) = _keep_published(list_builds(opened, settings, tree))
    if as_json:
        print_json({"tree": tree, **_build_values(published), "run_id": run_id})
        return
    say(f"{tree}: {done} {published.id}")
    if published.manifest.pin:
        say(f"    {published.manifest.pin}", fg="yellow")
        say(f"`{hint(f'versions release {tree}', home)}` ends the pin", dim=True)


def _keep_published(builds: Iterable[TreeBuild]) -> list[TreeBuild]:
    return [build for build in builds if build.state != "kept"]
