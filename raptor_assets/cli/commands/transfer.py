"""Trees in and out of a home: `raptor export` and `raptor import`."""

from __future__ import annotations

from pathlib import Path

import click

from raptor_assets.cli.options import home_and_json
from raptor_assets.cli.output import print_json
from raptor_assets.cli.terminal import say
from raptor_assets.names import counted
from raptor_assets.project.home import Home
from raptor_core.home.folder import hint
from raptor_core.home.published import open_published
from raptor_core.redaction import hide_credentials
from raptor_core.tables.curation import KEY
from raptor_core.transfer.importing import read_export
from raptor_core.transfer.values import ExportFolder
from raptor_core.tree.components import Components


@click.command(epilog="\b\nExample:\n  raptor export backups/monday")
@click.argument("folder")
@click.argument("trees", nargs=-1)
@home_and_json
def export_command(folder: str, trees: tuple[str, ...], home: Path, as_json: bool) -> None:
    """Write published trees into FOLDER, or an fsspec URL: all of them, or those that are named.

    Nodes and vectors go as Parquet, a file for each tree, with the tables of their partitions,
    what people decided about them (`raptor curate`) and a manifest. `raptor import` reads it into
    any home or server with the same embedder.
    """
    from raptor_assets.standalone.transfer import export_home

    opened, settings = Home.open(home)
    with open_published(opened, settings):
        """Said in its own words where nothing is published."""
    export = export_home(opened, settings, folder, trees)
    shown = hide_credentials(folder)
    partitions = sorted({table.partition for table in export.tables if table.key != KEY})
    n_acts = sum(table.key == KEY for table in export.tables)
    if as_json:
        names = [file.manifest.tree for file in export.trees]
        sizes = {"n_nodes": export.n_nodes, "n_bytes": export.n_bytes}
        told = {"tables_of": partitions, "decisions": n_acts}
        print_json({"folder": shown, "trees": names, **sizes, **told})
        return
    say(
        f"exported {len(export.trees)} trees with {export.n_nodes:,} nodes, the tables of "
        f"{len(partitions)} partitions and {counted(n_acts, 'decision')}: "
        f"{export.n_bytes:,} bytes in {shown}"
    )


@click.command(name="import", epilog="\b\nExample:\n  raptor import backups/monday --home restored")
@click.argument("folder")
@click.argument("trees", nargs=-1)
@click.option("--replace", is_flag=True, help="Also trees published with other content.")
@home_and_json
def import_command(
    folder: str, trees: tuple[str, ...], replace: bool, home: Path, as_json: bool
) -> None:
    """Publish the trees of an export: all of them, or those that are named.

    Every file is verified before the first is published, each tree is published whole or not at
    all, and importing again changes nothing. The home's settings must name the same embedder; a
    home is made with the default settings where there is none.
    """
    from raptor_assets.standalone.transfer import import_home

    fresh = Home.at(home)
    if not (fresh.settings.exists() or fresh.declaration.exists()):
        read_export(ExportFolder(folder))  # a mistyped one makes no home
        fresh.create()
    opened, settings = Home.open(home)
    identity = Components(settings).store_identity
    report = import_home(opened, settings, folder, identity, trees, replace=replace)
    changed = [done.tree for done in report.trees if done.published.changed]
    if as_json:
        names = [done.tree for done in report.trees]
        told = {"tables_of": list(report.tables), "decisions": report.n_acts}
        print_json({"trees": names, "changed": changed, **told})
        return
    say(
        f"imported {counted(len(report.trees), 'tree')}, {len(changed)} of them new or other than "
        f"before, the tables of {counted(len(report.tables), 'partition')} and "
        f"{counted(report.n_acts, 'decision')}"
    )
    say(f"the next `{hint('build', opened.path)}` takes vectors and summaries from them")
