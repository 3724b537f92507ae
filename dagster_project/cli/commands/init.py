"""`raptor init`."""

from __future__ import annotations

from pathlib import Path

import click

from dagster_project.cli.options import home_and_json


@click.command(epilog="\b\nExample:\n  raptor init docs/ --group-by folder")
@click.argument("sources", nargs=-1)
@click.option("--preset", default="default", show_default=True, help="Settings to start from.")
@click.option(
    "--group-by",
    type=click.Choice(["document", "folder", "corpus"]),
    default="document",
    show_default=True,
    help="Which documents make one tree.",
)
@home_and_json
def command(
    sources: tuple[str, ...], preset: str, group_by: str, home: Path, as_json: bool
) -> None:
    """Make a home with a commented settings file. An existing file is never overwritten."""
    from dagster_project.cli.output import print_json
    from dagster_project.cli.session import kept_sources
    from raptor_assets.project.home import Home

    opened = Home.at(home)
    created = opened.create(sources=kept_sources(sources), preset=preset, group_by=group_by)
    if as_json:
        print_json({"home": str(opened.path), "settings": str(opened.settings), "created": created})
        return
    if created:
        click.echo(f"wrote {opened.settings}")
    else:
        click.secho(
            f"kept {opened.settings} as it is: edit it, or add sources with `raptor build SOURCE`",
            fg="yellow",
        )
    where = "" if opened.path == Home.at().path else f" --home {home}"
    click.echo(f"next: raptor build{'' if sources or not created else ' SOURCE'}{where}")
