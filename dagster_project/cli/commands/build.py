"""`raptor build`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dagster_project.cli.options import home_and_json

if TYPE_CHECKING:
    from dagster_project.execute import BuildReport


@click.command(epilog="\b\nExample:\n  raptor build docs/ papers.jsonl --partition papers/one.md")
@click.argument("sources", nargs=-1)
@click.option("--partition", "partitions", multiple=True, help="Only these partitions.")
@click.option("--force", is_flag=True, help="Also what is up to date; finished work is reused.")
@home_and_json
def command(
    sources: tuple[str, ...],
    partitions: tuple[str, ...],
    force: bool,
    home: Path,
    as_json: bool,
) -> None:
    """Build what is new or changed in the source, and publish it.

    SOURCES are added to the home's settings; without any, the ones that stand there are used.
    Trees whose documents are gone from the source are dropped. What was published stays until
    its successor is.
    """
    from dagster_project.cli.output import print_json
    from dagster_project.cli.progress import build_progress
    from dagster_project.cli.session import home_for_build
    from dagster_project.execute import build

    opened, settings = home_for_build(home, sources)
    with build_progress(visible=not as_json) as tell:
        report = build(opened, settings, partitions or None, force=force, on_progress=tell)
    if as_json:
        print_json(_values(report))
    else:
        _print(report, opened.path)
    if not report.succeeded:
        raise SystemExit(5)


def _values(report: BuildReport) -> dict[str, Any]:
    return {
        "built": report.built,
        "unchanged": list(report.changes.unchanged),
        "dropped": report.dropped,
        "held": list(report.changes.held),
        "failed": {n: {"asset": f.asset, "reason": f.reason} for n, f in report.failed.items()},
        "skipped": [{"name": s.name, "reason": s.reason} for s in report.corpus.skipped],
        "run_ids": report.run_ids,
    }


def _print(report: BuildReport, home: Path) -> None:
    for item in report.corpus.skipped:
        click.secho(f"skipped {item.name}: {item.reason}", fg="yellow", err=True)
    for name, failure in report.failed.items():
        click.secho(f"failed {name} at {failure.asset}: {failure.reason}", fg="red", err=True)
    for name in report.changes.held:
        click.secho(
            f"kept {name} as published: its documents could not be read", fg="yellow", err=True
        )
    counts = [
        f"{len(report.built)} built",
        f"{len(report.changes.unchanged)} unchanged",
        f"{len(report.dropped)} dropped",
        f"{len(report.failed)} failed",
        f"{len(report.corpus.skipped)} files skipped",
    ]
    click.echo(f"partitions: {', '.join(counts)}")
    if report.run_ids:
        click.secho(f"see the run in the UI: raptor ui --home {home}", dim=True)
