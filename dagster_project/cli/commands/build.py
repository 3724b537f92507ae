"""`raptor build`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from dagster_project.cli.exits import failures_code
from dagster_project.cli.options import budget_options, home_and_json
from dagster_project.cli.output import print_json, told_together
from dagster_project.cli.session import bounded, choose_partitions, read_source
from dagster_project.execute import BuildReport, build, build_above
from raptor_assets.names import counted
from raptor_assets.project.home import Home
from raptor_core.home.folder import hint

NAMED = 20
"""Skipped files and failed partitions that are named one by one."""


@click.command(epilog="\b\nExample:\n  raptor build docs/ papers.jsonl --partition docs/pumps.md")
@click.argument("sources", nargs=-1)
@click.option("--partition", "partitions", multiple=True, help="Only this one; may be repeated.")
@click.option("--force", is_flag=True, help="Also what is up to date; finished work is reused.")
@budget_options("this run")
@home_and_json
def command(
    sources: tuple[str, ...],
    partitions: tuple[str, ...],
    force: bool,
    max_calls: int | None,
    max_tokens: int | None,
    max_usd: float | None,
    home: Path,
    as_json: bool,
) -> None:
    """Build what is new or changed in the source, and publish it.

    SOURCES are added to the home's settings; without any, the ones that stand there are used.
    Trees whose documents are gone from the source are dropped. What was published stays until
    its successor is. A run stops before it would pass a bound and keeps what is finished; the
    next one goes on from there.
    """
    from dagster_project.cli.progress import build_progress

    started = time.monotonic()
    with build_progress(visible=not as_json) as progress:
        opened, settings, scan = read_source(home, sources)
        settings = bounded(settings, calls=max_calls, tokens=max_tokens, usd=max_usd)
        chosen = choose_partitions(partitions, scan.inventory, settings)

        report = build(
            opened,
            settings,
            chosen,
            force=force,
            scan=scan,
            on_plan=progress.plan,
            on_progress=progress.step,
        )
        above = None
        if settings.corpus.enabled:
            above = build_above(
                opened, settings, force=force, on_plan=progress.plan, on_progress=progress.step
            )
    seconds = time.monotonic() - started
    if as_json:
        told = {} if above is None else {"corpus": _values(above, seconds)}
        print_json(_values(report, seconds) | told)
    else:
        _print(report, opened.path, seconds)
        _print_above(above)
    failed = report.failed | (above.failed if above else {})
    if failed:
        names = {failure.error for failure in failed.values()}
        raise SystemExit(failures_code(names, partly=bool(report.built or report.dropped)))


def _print_above(above: BuildReport | None) -> None:
    """What became of the tree above the trees."""
    if above is None:
        return
    _name([f"failed {n} at {f.asset}: {f.reason}" for n, f in above.failed.items()], "trees", "red")
    made = counted(_made(above, "summaries"), "summary", "summaries")
    state = "built" if above.built else "dropped" if above.dropped else "unchanged"
    click.echo(f"the tree above the trees: {'failed' if above.failed else state}, {made} made")


def _values(report: BuildReport, seconds: float) -> dict[str, Any]:
    return {
        "built": report.built,
        "unchanged": report.unchanged,
        "dropped": report.dropped,
        "held": list(report.changes.held),
        "failed": report.failed,
        "skipped": [{"name": s.name, "reason": s.reason} for s in report.skipped],
        "odd": report.odd,
        "n_embedded": _made(report, "embeddings"),
        "n_summarized": _made(report, "summaries"),
        "seconds": round(seconds, 3),
        "run_ids": report.run_ids,
    }


def _made(report: BuildReport, kind: str) -> int:
    return sum(count for asset, count in report.made.items() if asset.endswith(f"/{kind}"))


def _print(report: BuildReport, home: Path, seconds: float) -> None:

    _name([f"skipped {item.name}: {item.reason}" for item in report.skipped], "files", "yellow")
    _name(
        [
            f"kept {name} as published: its documents could not be read"
            for name in report.changes.held
        ],
        "partitions",
        "yellow",
    )
    _name(told_together(report.odd.items()), "partitions", "yellow")
    failed = [f"failed {n} at {f.asset}: {f.reason}" for n, f in report.failed.items()]
    _name(failed, "partitions", "red")
    counts = [
        f"{len(report.built)} built",
        f"{len(report.unchanged)} unchanged" if report.unchanged else "",
        f"{len(report.dropped)} dropped" if report.dropped else "",
        f"{len(report.failed)} failed" if report.failed else "",
        f"{counted(len(report.skipped), 'file')} skipped" if report.skipped else "",
    ]
    click.echo(
        f"partitions: {', '.join(filter(None, counts))}; "
        f"{counted(_made(report, 'embeddings'), 'text')} embedded, "
        f"{counted(_made(report, 'summaries'), 'summary', 'summaries')} made in {seconds:.1f} s"
    )

    if report.run_ids and not Home(home).names().corpus:
        click.secho(f"see the run in the UI: {hint('ui', home)}", dim=True)


def _name(lines: list[str], what: str, color: str) -> None:
    """Lines on standard error, the first of them in full."""
    for line in lines[:NAMED]:
        click.secho(line, fg=color, err=True)
    if len(lines) > NAMED:
        more = f"and {len(lines) - NAMED} more {what}; --json names all"
        click.secho(more, fg=color, err=True)
