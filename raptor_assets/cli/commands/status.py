"""`raptor status`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raptor_assets.cli.options import home_and_json
from raptor_assets.cli.output import print_json, print_orphaned, told_usd
from raptor_assets.cli.terminal import say
from raptor_assets.names import counted
from raptor_assets.project.home import Home
from raptor_assets.standalone.status import (
    CheckResult,
    HomeStatus,
    TreeStatus,
    read_costs,
    read_status,
)
from raptor_assets.tables_markdown import shorten
from raptor_core.home.folder import hint
from raptor_core.store.base import Manifest

if TYPE_CHECKING:
    from raptor_assets.report import Cost

_TITLE_CHARS = 40


@click.command(epilog="\b\nExample:\n  raptor status --json | jq '.trees[].layer_sizes'")
@click.option("--check", is_flag=True, help="Exit with 5 if a structural check failed.")
@click.option("--cost", is_flag=True, help="Add what the last build of each tree took.")
@home_and_json
def status_command(check: bool, cost: bool, home: Path, as_json: bool) -> None:
    """Show what is published, whether its checks passed, and what it took."""
    opened, settings = Home.open(home)
    state = read_status(opened, settings)
    partitions = dict.fromkeys(tree.partition for tree in state.trees)
    costs = read_costs(opened, settings, partitions) if cost else None
    sources = settings.source.shown_paths()
    if as_json:
        values = _values(state, opened.path, sources)
        print_json(values if costs is None else {**values, "costs": costs})
    else:
        _print(state, opened.path, sources)
        for tree, figures in (costs or {}).items():
            say(f"{tree}: {_told_cost(figures)}")
    if check and not all(tree.structural_passed for tree in state.trees):
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
                "n_checks_of_absent_layers": tree.n_absent_checks,
            }
            for tree in state.trees
        ],
        "unpublished": state.unpublished,
        "orphaned": state.orphaned,
        "checks": state.checks,
        "n_trees": len(state.trees),
        "all_structural_checks_passed": all(tree.structural_passed for tree in state.trees),
    }


def _told_cost(figures: Cost) -> str:
    """The figures in words, such as "53 summaries made, 0.021 USD"."""
    told = []
    for name, figure in figures.items():
        if name.endswith("_usd"):
            told.append(told_usd(None if figure is None else float(figure)))
        elif figure is not None:
            told.append(f"{figure:,} {name.replace('_', ' ')}")
    return ", ".join(told)


def _print(state: HomeStatus, home: Path, sources: Sequence[str]) -> None:
    say(f"{home} holds {', '.join(sources) or 'no source yet'}", dim=True)
    if state.trees:
        _print_trees(state.trees)
    for tree in state.trees:
        for result in tree.checks:
            if not result.passed:
                _print_check(tree.manifest.tree, result)
    for result in state.checks:
        if not result.passed:
            _print_check("all trees" if result.asset == "tree" else "evaluation", result)
    for name in state.unpublished:
        why = f"a build is at it, or `{hint('build', home)}` says why"
        say(f"{name}: nothing published yet; {why}", fg="yellow")
    print_orphaned(state.orphaned)
    n_nodes = sum(sum(tree.manifest.layer_sizes) for tree in state.trees)
    n_tokens = sum(tree.manifest.n_tokens for tree in state.trees)
    counts = ((len(state.trees), "tree"), (n_nodes, "node"), (n_tokens, "token"))
    say(", ".join(counted(*count) for count in counts))
    if not (state.trees or state.unpublished):
        say(f"next: {hint('build' if sources else 'build SOURCE', home)}")


def _print_trees(trees: Sequence[TreeStatus]) -> None:
    """A table that never shortens a name, so that it can be copied into a command."""
    from rich.cells import cell_len, set_cell_size

    rows: list[tuple[str, ...]] = [
        ("tree", "title", "nodes by layer", "tokens", "published", "checks")
    ]
    rows += [_row(tree) for tree in trees]
    if not any(tree.manifest.title for tree in trees):
        rows = [(tree, *others) for tree, _, *others in rows]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for tree, row in zip((None, *trees), rows, strict=True):
        padded = [set_cell_size(text, width) for text, width in zip(row, widths, strict=True)]
        say("  ".join(padded).rstrip(), bold=tree is None, fg=tree and _color(tree))


def _color(tree: TreeStatus) -> str | None:
    if all(check.passed for check in tree.checks):
        return None
    return "yellow" if tree.structural_passed else "red"


def _row(tree: TreeStatus) -> tuple[str, ...]:
    manifest = tree.manifest
    failed = sum(not check.passed for check in tree.checks)
    checks = f"{failed} of {len(tree.checks)} failed" if failed else f"{len(tree.checks)} passed"
    if tree.n_absent_checks:
        checks += f", {tree.n_absent_checks} of layers that the tree does not have"
    sizes = " → ".join(map(str, manifest.layer_sizes))
    published = manifest.published_at.partition(".")[0].replace("+00:00", "") + "Z"
    title = shorten(manifest.title, _TITLE_CHARS)
    return manifest.tree, title, sizes, f"{manifest.n_tokens:,}", published, checks


def _print_check(where: str, result: CheckResult) -> None:
    told = f"{where}: {result.severity}: {result.name} of {result.asset}"
    color = "red" if result.severity == "error" else "yellow"
    say(f"{told}: {result.description}" if result.description else told, fg=color)
