"""`raptor export`."""

from __future__ import annotations

from pathlib import Path

import click

from dagster_project.cli.options import home_and_json
from dagster_project.cli.output import print_json
from raptor_assets.project.home import Home
from raptor_core.home.published import published
from raptor_core.redaction import hide_credentials


@click.command(epilog="\b\nExample:\n  raptor export backups/monday")
@click.argument("folder")
@click.argument("trees", nargs=-1)
@home_and_json
def command(folder: str, trees: tuple[str, ...], home: Path, as_json: bool) -> None:
    """Write published trees into FOLDER, or an fsspec URL: all of them, or those that are named.

    Nodes and vectors go as Parquet, a file for each tree, with the tables of their partitions and
    a manifest. `raptor import` reads it into any home or server with the same embedder.
    """
    from dagster_project.transfer import export_home

    opened, settings = Home.open(home)
    with published(opened, settings):
        """Said in its own words where nothing is published."""
    export = export_home(opened, settings, folder, trees)
    shown = hide_credentials(folder)
    partitions = sorted({table.partition for table in export.tables})
    if as_json:
        names = [file.manifest.tree for file in export.trees]
        sizes = {"n_nodes": export.n_nodes, "n_bytes": export.n_bytes}
        print_json({"folder": shown, "trees": names, **sizes, "tables_of": partitions})
        return
    click.echo(
        f"exported {len(export.trees)} trees with {export.n_nodes:,} nodes and the tables of "
        f"{len(partitions)} partitions: {export.n_bytes:,} bytes in {shown}"
    )
