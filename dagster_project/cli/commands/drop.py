"""`raptor drop`."""

from __future__ import annotations

from pathlib import Path

import click

from dagster_project.cli.options import home_and_json


@click.command(epilog="\b\nExample:\n  raptor drop guides/pumps.md --yes")
@click.argument("trees", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_and_json
def command(trees: tuple[str, ...], yes: bool, home: Path, as_json: bool) -> None:
    """Remove trees: their vectors, tables and partitions, through a Dagster run.

    A tree whose documents are still in the source is built again by the next `raptor build`.
    With `grouping.shards` a partition holds several trees; name the partition then.
    """
    from dagster_project.cli.output import print_json
    from dagster_project.cli.session import open_home
    from dagster_project.execute import drop
    from raptor_core.documents import partition_key

    opened, settings = open_home(home)
    shards = settings.grouping.shards
    names = [tree if shards else partition_key(tree, settings.grouping) for tree in trees]
    if not (yes or as_json):
        click.confirm(f"remove {', '.join(names)} from {opened.path}?", abort=True)
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
        raise SystemExit(5)
