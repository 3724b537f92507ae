"""`raptor drop`."""

from __future__ import annotations

from pathlib import Path

import click

from dagster_project.cli.exits import failures_code
from dagster_project.cli.options import home_and_json
from dagster_project.cli.output import print_json
from dagster_project.execute import drop
from dagster_project.status import read_partitions
from raptor_assets.project.home import Home
from raptor_core.documents import partition_key
from raptor_core.home.published import refuse_unknown
from raptor_core.settings import Settings


@click.command(epilog="\b\nExample:\n  raptor drop guides/pumps.md --yes")
@click.argument("trees", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask; needed with --json.")
@home_and_json
def command(trees: tuple[str, ...], yes: bool, home: Path, as_json: bool) -> None:
    """Remove trees: their vectors, tables and partitions, through a Dagster run.

    A tree whose documents are still in the source is built again by the next `raptor build`.
    With `grouping.shards` a partition holds several trees; name the partition then.
    """
    if as_json and not yes:
        raise click.UsageError("--json cannot ask whether to remove; add --yes")
    opened, settings = Home.open(home)
    names = _partitions(trees, opened, settings)
    if not yes:
        click.confirm(f"remove {', '.join(names)} from {opened.path}?", abort=True, err=True)

    report = drop(opened, settings, names)
    if as_json:
        failed = {name: failure.reason for name, failure in report.failed.items()}
        print_json({"dropped": report.dropped, "failed": failed, "run_ids": report.run_ids})
    else:
        for name in report.dropped:
            click.echo(f"dropped {name}")
        for name, failure in report.failed.items():
            click.secho(f"failed {name}: {failure.reason}", fg="red", err=True)
    if not report.succeeded:
        errors = {failure.error for failure in report.failed.values()}
        raise SystemExit(failures_code(errors, partly=bool(report.dropped)))


def _partitions(trees: tuple[str, ...], home: Home, settings: Settings) -> list[str]:
    """Keys of the partitions to drop, each once."""
    known = read_partitions(home)
    own = not settings.grouping.shards
    keys = {
        name: partition_key(name, settings.grouping) if own and name not in known else name
        for name in trees
    }
    what = "tree is called" if own else "partition (with grouping.shards, name those) is called"
    refuse_unknown(what, [name for name, key in keys.items() if key not in known], known)
    return list(dict.fromkeys(keys.values()))
