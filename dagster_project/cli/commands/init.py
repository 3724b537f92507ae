"""`raptor init`."""

from __future__ import annotations

from pathlib import Path

import click

from dagster_project.cli.options import home_and_json
from dagster_project.cli.output import print_json
from dagster_project.cli.session import kept_sources
from raptor_assets.project.home import Home
from raptor_core.errors import SourceError
from raptor_core.home.folder import hint


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
    missing = [source for source in sources if not _is_there(source)]
    if missing:
        raise SourceError(f"there is no file or folder {missing[0]!r}; nothing was written")
    opened = Home.at(home)
    created = opened.create(sources=kept_sources(sources), preset=preset, group_by=group_by)
    if as_json:
        print_json({"home": str(opened.path), "settings": str(opened.settings), "created": created})
        return
    if created:
        click.echo(f"wrote {opened.settings}")
    else:
        click.secho(
            f"kept {opened.settings} as it is: edit it, or add sources with "
            f"`{hint('build SOURCE', opened.path)}`",
            fg="yellow",
        )
    build = "build" if sources or not created else "build SOURCE"
    click.echo(f"next: {hint(build, opened.path)}")


def _is_there(source: str) -> bool:
    return "://" in source or Path(source).expanduser().exists()
