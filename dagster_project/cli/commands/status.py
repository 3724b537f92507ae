"""`raptor status`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dagster_project.cli.options import home_and_json

if TYPE_CHECKING:
    from dagster_project.status import HomeStatus, TreeStatus


@click.command(epilog="\b\nExample:\n  raptor status --json | jq '.trees[].layer_sizes'")
@click.option("--check", is_flag=True, help="Exit with 5 if a structural check failed.")
@home_and_json
def command(check: bool, home: Path, as_json: bool) -> None:
    """Show what is published, and whether its checks passed."""
    from dagster_project.cli.output import print_json
    from dagster_project.cli.session import open_home
    from dagster_project.status import read_status

    opened, settings = open_home(home)
    found = read_status(opened, settings)
    if as_json:
        print_json(_values(found))
    else:
        _print(found)
    if check and not all(tree.structural_passed for tree in found.trees):
        raise SystemExit(5)


def _values(found: HomeStatus) -> dict[str, Any]:
    return {
        "trees": [_tree_values(tree) for tree in found.trees],
        "unpublished": list(found.unpublished),
        "n_trees": len(found.trees),
        "all_structural_checks_passed": all(tree.structural_passed for tree in found.trees),
    }


def _tree_values(tree: TreeStatus) -> dict[str, Any]:
    return {
        **asdict(tree.manifest),
        "partition": tree.partition,
        "published": True,
        "structural_checks_passed": tree.structural_passed,
        "checks": [asdict(result) for result in tree.checks],
    }


def _print(found: HomeStatus) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("tree", "nodes by layer", "tokens", "published", "checks", box=None)
    for tree in found.trees:
        manifest = tree.manifest
        sizes = " → ".join(map(str, manifest.layer_sizes))
        published = manifest.published_at.replace("+00:00", "Z")
        table.add_row(
            Text(manifest.tree), sizes, f"{manifest.n_tokens:,}", published, _checks(tree)
        )
    Console().print(table)
    for name in found.unpublished:
        click.secho(f"{name}: nothing published; `raptor build` says why", fg="yellow")
    click.echo(f"{len(found.trees)} trees")


def _checks(tree: TreeStatus) -> str:
    failed = [check for check in tree.checks if not check.passed]
    if not failed:
        return f"[green]{len(tree.checks)} passed[/green]"
    names = ", ".join(f"{check.name} ({check.asset})" for check in failed)
    color = "yellow" if tree.structural_passed else "red"
    return f"[{color}]{len(failed)} of {len(tree.checks)} failed: {names}[/{color}]"
