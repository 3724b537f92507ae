"""Export and import of trees: `raptor export` and `raptor import`."""

from pathlib import Path

import click

from raptor_assets.assets.names import counted
from raptor_assets.cli.options import home_and_json
from raptor_assets.cli.output import print_json
from raptor_assets.home.folder import Home
from raptor_assets.shown.terminal import say
from raptor_core.home.folder import command_hint
from raptor_core.home.published import open_published
from raptor_core.redaction import hide_credentials
from raptor_core.transfer.exports import ExportFolder, read_export
from raptor_core.tree.components import Components


@click.command(epilog="\b\nExample:\n  raptor export backups/monday")
@click.argument("folder")
@click.argument("trees", nargs=-1)
@home_and_json
def export_command(folder: str, trees: tuple[str, ...], home: Path, as_json: bool) -> None:
    """Write all published trees, or the named TREES, into FOLDER, which may be an fsspec URL.

    FOLDER then contains a Parquet file with the nodes and vectors of each tree, the decisions of
    `raptor curate`, and an index. `raptor import` imports FOLDER into a home or server with the
    same embedder.
    """
    from raptor_assets.local.transfer import export_home

    opened, settings = Home.open_with_settings(home)
    with open_published(opened, settings):
        pass  # raises an error with the next step if nothing is published
    export = export_home(opened, settings, folder, trees)
    shown = hide_credentials(folder)
    n_decisions = len(export.decisions)
    if as_json:
        names = [file.tree for file in export.trees]
        sizes = {"n_nodes": export.n_nodes, "n_bytes": export.n_bytes, "decisions": n_decisions}
        print_json({"folder": shown, "trees": names, **sizes})
        return
    say(
        f"exported {len(export.trees)} trees with {export.n_nodes:,} nodes, and "
        f"{counted(n_decisions, 'decision')}: {export.n_bytes:,} bytes in {shown}"
    )


@click.command(name="import", epilog="\b\nExample:\n  raptor import backups/monday --home restored")
@click.argument("folder")
@click.argument("trees", nargs=-1)
@click.option(
    "--replace", is_flag=True, help="Replace published trees that differ from the export."
)
@home_and_json
def import_command(
    folder: str, trees: tuple[str, ...], replace: bool, home: Path, as_json: bool
) -> None:
    """Verify an export, and publish all its trees or the named TREES.

    All files are verified before the first tree is published. A second import changes nothing. The
    home's settings must name the same embedder; a missing home is created with default settings.
    """
    from raptor_assets.local.transfer import import_home

    target = Home.at(home)
    if not (target.settings_path.exists() or target.declaration_path.exists()):
        read_export(ExportFolder(folder))  # fails first, so that a mistyped path creates no home
        target.create()
    opened, settings = Home.open_with_settings(home)
    identity = Components(settings).store_identity
    report = import_home(opened, settings, folder, identity, trees, replace=replace)
    changed = [each.manifest.tree for each in report.trees if each.counts.has_changes]
    if as_json:
        names = [each.manifest.tree for each in report.trees]
        print_json({"trees": names, "changed": changed, "decisions": report.n_decisions})
        return
    say(
        f"imported {counted(len(report.trees), 'tree')}, {len(changed)} of them new or changed, "
        f"and {counted(report.n_decisions, 'decision')}"
    )
    say(f"the next `{command_hint('build', opened.path)}` reuses their vectors and summaries")
