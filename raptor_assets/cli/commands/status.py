"""State of a home: `raptor status`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raptor_assets.assets.names import TREE, counted
from raptor_assets.cli.options import home_and_json
from raptor_assets.cli.output import join_reasons, print_json, usd_text
from raptor_assets.home.folder import Home
from raptor_assets.local.status import (
    HomeStatus,
    LastCheckResult,
    TreeStatus,
    read_costs,
    read_status,
)
from raptor_assets.shown.markdown import shorten
from raptor_assets.shown.rights import published_findings
from raptor_assets.shown.terminal import say
from raptor_core.home.folder import command_hint
from raptor_core.store.base import Manifest
from raptor_core.tree.corpus_tree import is_corpus_tree

if TYPE_CHECKING:
    from raptor_assets.shown.tree_records import Cost

_TITLE_CHARS = 40


@click.command(epilog="\b\nExample:\n  raptor status --json | jq '.trees[].layer_sizes'")
@click.option("--check", is_flag=True, help="Exit with code 5 if a structural check failed.")
@click.option("--cost", is_flag=True, help="List each tree with the cost of its last build.")
@home_and_json
def status_command(check: bool, cost: bool, home: Path, as_json: bool) -> None:
    """Show the published trees, the results of their checks, and their costs."""
    opened, settings = Home.open_with_settings(home)
    state = read_status(opened, settings)
    partitions = dict.fromkeys(tree.partition for tree in state.trees)
    costs = read_costs(opened, settings, partitions) if cost else None
    sources = settings.source.shown_paths()
    manifests = (t.manifest for t in state.trees if not is_corpus_tree(t.name))
    rights = published_findings(manifests, settings)
    if as_json:
        values = {**_values(state, opened.path, sources), "rights": rights}
        print_json(values if costs is None else {**values, "costs": costs})
    else:
        _print(state, opened.path, sources)
        for finding in rights:
            say(finding, fg="yellow")
        for tree, figures in (costs or {}).items():
            say(f"{tree}: {_cost_text(figures)}")
    if check and not state.structural_passed:
        raise SystemExit(5)


def _values(state: HomeStatus, home: Path, sources: Sequence[str]) -> dict[str, Any]:
    return {
        "home": str(home),
        "sources": sources,
        "trees": [
            {
                **{field.name: getattr(tree.manifest, field.name) for field in fields(Manifest)},
                "partition": tree.partition,
                "published": True,
                "structural_checks_passed": tree.structural_passed,
                "checks": tree.checks,
            }
            for tree in state.trees
        ],
        "unpublished": state.unpublished,
        "waiting": state.waiting,
        "failures": state.failures,
        "withheld": state.withheld,
        "set_aside": state.set_aside,
        "checks": state.checks,
        "n_trees": len(state.trees),
        "all_structural_checks_passed": state.structural_passed,
    }


def _cost_text(figures: Cost) -> str:
    texts = []
    for name, figure in figures.items():
        if name.endswith("_usd"):
            texts.append(usd_text(None if figure is None else float(figure)))
        elif figure is not None:
            texts.append(f"{figure:,} {name.replace('_', ' ')}")
    return ", ".join(texts)


def _print(state: HomeStatus, home: Path, sources: Sequence[str]) -> None:
    say(f"{home} contains {', '.join(sources) or 'no source yet'}", dim=True)
    _print_rows(state.trees)
    results = ((tree.partition, result) for tree in state.trees for result in tree.checks)
    for partition, result in dict.fromkeys(results):
        if not result.passed:
            _print_check(partition, result)
    for result in state.checks:
        if not result.passed:
            group = result.asset.partition("/")[0]
            _print_check("all trees" if group == TREE else group, result)
    for tree in (tree for tree in state.trees if tree.manifest.pin):
        say(f"{tree.name}: pinned to an earlier build: {tree.manifest.pin}", fg="yellow")
    for name in state.waiting:
        say(
            f"{name}: waits for approval; `raptor versions diff TREE --staged` shows it",
            fg="yellow",
        )
    for name, reason in state.withheld.items():
        say(
            f"{name}: stays as published, because a document of it is not read: {reason}",
            fg="yellow",
        )
    for name in state.set_aside:
        say(f"{name}: nothing of it is published, since people set chunks of it aside", fg="yellow")
    _print_unpublished(state, home)
    _print_totals(state.trees)
    if not (state.trees or state.unpublished):
        say(f"next: {command_hint('build' if sources else 'build SOURCE', home)}")


def _print_unpublished(state: HomeStatus, home: Path) -> None:
    """Print why partitions are not published or not updated; one line for each reason."""
    if state.is_building:
        say("a build is running")
    begun = "the build that started it has not finished"
    if not state.is_building:
        begun = f"the build that started it was interrupted; `{command_hint('build', home)}` "
        "continues it"
    lines = []
    for name in sorted({*state.unpublished, *state.failures} - {*state.waiting}):
        what = "not published" if name in state.unpublished else "not updated"
        lines.append((name, f"{what}: {state.failures.get(name, begun)}"))
    for line in join_reasons(lines):
        say(line, fg="yellow")


def _print_totals(trees: Sequence[TreeStatus]) -> None:
    counts = (
        (len(trees), "tree"),
        (sum(tree.n_nodes for tree in trees), "node"),
        (sum(tree.n_tokens for tree in trees), "token"),
    )
    say(", ".join(counted(*count) for count in counts))


def _print_rows(trees: Sequence[TreeStatus]) -> None:
    """Print a table with full names, which can be copied into a command, unless it is empty."""
    from rich.cells import cell_len, set_cell_size

    if not trees:
        return
    head = ("title", "tree", "nodes by layer", "tokens", "published", "checks")
    rows: list[Sequence[str]] = [head, *map(_row, trees)]
    if not any(title for title, *_ in rows[1:]):
        rows = [row for _, *row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for tree, row in zip((None, *trees), rows, strict=True):
        padded = [set_cell_size(text, width) for text, width in zip(row, widths, strict=True)]
        say("  ".join(padded).rstrip(), bold=tree is None, fg=tree and _color(tree))


def _color(tree: TreeStatus) -> str | None:
    if all(check.passed for check in tree.checks):
        return None
    return "yellow" if tree.structural_passed else "red"


def _row(tree: TreeStatus) -> tuple[str, ...]:
    failed = sum(not check.passed for check in tree.checks)
    checks = f"{failed} of {len(tree.checks)} failed" if failed else f"{len(tree.checks)} passed"
    published = tree.published_at.partition(".")[0].replace("+00:00", "") + "Z"
    sizes = " → ".join(map(str, tree.manifest.layer_sizes))
    title = shorten(tree.manifest.title, _TITLE_CHARS)
    return title, tree.name, sizes, f"{tree.n_tokens:,}", published, checks


def _print_check(where: str, result: LastCheckResult) -> None:
    text = f"{where}: {result.severity}: {result.name} of {result.asset}"
    color = "red" if result.severity == "error" else "yellow"
    say(f"{text}: {result.description}" if result.description else text, fg=color)
