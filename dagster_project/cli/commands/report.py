"""`raptor report`."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from dagster_project.cli.options import STRATEGY, home_and_json, require_words
from dagster_project.cli.output import print_json
from raptor_assets.project.home import Home
from raptor_assets.report_pages import write_page
from raptor_core.errors import UnknownTreeError
from raptor_core.home import HomeRetriever
from raptor_core.home.published import published
from raptor_core.report.page import render_corpus, render_report
from raptor_core.report.values import Chosen, Report
from raptor_core.settings import Settings
from raptor_core.store.base import Where


@click.command(epilog="\b\nExample:\n  raptor report guides/pumps.md --output pumps.html --no-open")
@click.argument("tree", required=False)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write; without it one in the home's folder `reports`.",
)
@click.option("--node", metavar="NODE", help="Open it at this node.")
@click.option("--question", help="Mark the nodes of this tree that a question chooses.")
@click.option(
    "--strategy",
    "strategies",
    multiple=True,
    type=STRATEGY,
    help="With --question: how to search; may be repeated. Else the home's.",
)
@click.option("--no-open", is_flag=True, help="Only write it; do not open a browser.")
@home_and_json
def command(
    tree: str | None,
    output: Path | None,
    node: str | None,
    question: str | None,
    strategies: tuple[str, ...],
    no_open: bool,
    home: Path,
    as_json: bool,
) -> None:
    """Show a published tree as one HTML page, which needs no network.

    Without TREE, the corpus: a list of its trees with links to their pages in the folder `reports`.

    The browser is opened only where the command was typed at a terminal. With --node the page's
    address at that node is printed, to be opened in any browser.
    """
    from dagster_project.window import read_report, report_address

    opened, settings = Home.open(home)
    if tree is None:
        if node is not None or question is not None:
            raise click.UsageError("--node and --question are of one TREE; name it")
        path = _write_corpus(opened, settings, output)
        _tell(path, path.as_uri(), {"tree": None}, as_json=as_json, no_open=no_open)
        return
    with published(opened, settings) as store:
        report = read_report(opened, settings, store, tree, with_map=True)
    if question is not None:
        report = replace(report, chosen=_chosen(home, tree, question, strategies))
    if node is not None:
        _require_node(report, node)
    path = (output or report_address(opened, settings, tree)).absolute()
    write_page(path, render_report(report))
    url = path.as_uri() if node is None else f"{path.as_uri()}#node={node}"
    values = {"tree": tree, "n_findings": _n_findings(report)}
    _tell(path, url, values, as_json=as_json, no_open=no_open)


def _tell(path: Path, url: str, values: dict[str, Any], *, as_json: bool, no_open: bool) -> None:
    """Print where the page is, and open it where a person asked for it."""
    if as_json:
        print_json({**values, "path": str(path), "url": url, "n_bytes": path.stat().st_size})
    else:
        click.echo(url if "#" in url else str(path))
    if at_terminal() and not (no_open or as_json):
        webbrowser.open(url)


def _write_corpus(home: Home, settings: Settings, output: Path | None) -> Path:
    """Write the corpus page; it links to those pages of trees that are there."""
    from dagster_project.window import corpus_values, report_address

    path = (output or home.reports / "index.html").absolute()
    with published(home, settings) as store:
        values = corpus_values(home, settings, store)
    for row in values["trees"]:
        page = report_address(home, settings, row["name"])
        if page.exists():
            row["page"] = quote(os.path.relpath(page, path.parent))
    write_page(path, render_corpus(values))
    return path


def _chosen(home: Path, tree: str, question: str, strategies: Sequence[str]) -> tuple[Chosen, ...]:
    """What each strategy chooses from a tree."""
    require_words(question)
    retriever = HomeRetriever(home)
    query = replace(retriever.query, where=Where(trees=(tree,)))
    chosen = []
    for strategy in dict.fromkeys(strategies or (query.strategy,)):
        hits = retriever.search(question, replace(query, strategy=strategy)).ranked
        chosen.append(Chosen(question, strategy, tuple(hit.node.id for hit in hits)))
    return tuple(chosen)


def _require_node(report: Report, node: str) -> None:
    """Refuse a node that the page does not show.

    Raises:
        UnknownTreeError: the published tree has no such node.
    """
    if not any(shown.id == node for tree in report.trees for shown in tree.nodes):
        raise UnknownTreeError(
            f"the published tree {report.name!r} has no node {node}; "
            f"raptor tree {report.name} --ids lists those it has"
        )


def at_terminal() -> bool:
    """Whether a person reads what is printed."""
    return sys.stdout.isatty()


def _n_findings(report: Report) -> int | None:
    """Findings that the page shows; None where no audit is known."""
    if report.findings is None:
        return None
    ids = {node.id for tree in report.trees for node in tree.nodes}
    return sum(finding.node_id in ids for finding in report.findings)
