"""`raptor report`."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dagster_project.cli.options import STRATEGY, home_and_json

if TYPE_CHECKING:
    from raptor_assets.project.home import Home
    from raptor_core.report import Chosen, Report
    from raptor_core.settings import Settings


@click.command(epilog="\b\nExample:\n  raptor report guides/pumps.md --output pumps.html --no-open")
@click.argument("tree")
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
    tree: str,
    output: Path | None,
    node: str | None,
    question: str | None,
    strategies: tuple[str, ...],
    no_open: bool,
    home: Path,
    as_json: bool,
) -> None:
    """Show a published tree as one HTML page, which needs no network.

    The browser is opened only where the command was typed at a terminal. With --node the page's
    address at that node is printed, to be opened in any browser.
    """
    from dagster_project.cli.output import print_json
    from raptor_assets.project.home import Home
    from raptor_assets.report_pages import write_page
    from raptor_core.report import render_report

    opened, settings = Home.open(home)
    report = read_report(opened, settings, tree)
    if question is not None:
        report = replace(report, chosen=_chosen(home, tree, question, strategies))
    if node is not None:
        _require_node(report, node)
    path = (output or default_path(opened, settings, tree)).absolute()
    write_page(path, render_report(report))
    url = path.as_uri() if node is None else f"{path.as_uri()}#node={node}"
    if as_json:
        values = {"tree": tree, "path": str(path), "url": url}
        print_json({**values, "n_bytes": path.stat().st_size, "n_findings": _n_findings(report)})
    else:
        click.echo(str(path) if node is None else url)
    if at_terminal() and not (no_open or as_json):
        webbrowser.open(url)


def _chosen(home: Path, tree: str, question: str, strategies: Sequence[str]) -> tuple[Chosen, ...]:
    """What each strategy chooses from a tree."""
    from dagster_project.cli.questions import require_words
    from raptor_core import HomeRetriever
    from raptor_core.report import Chosen
    from raptor_core.store.base import Where

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
    from raptor_core.errors import UnknownTreeError

    if not any(shown.id == node for tree in report.trees for shown in tree.nodes):
        raise UnknownTreeError(
            f"the published tree {report.name!r} has no node {node}; "
            f"raptor tree {report.name} --ids lists those it has"
        )


def at_terminal() -> bool:
    """Whether a person reads what is printed."""
    return sys.stdout.isatty()


def default_path(home: Home, settings: Settings, tree: str) -> Path:
    """Where a tree's page is kept: its partition's file, or beside it where it holds several."""
    from raptor_assets.report_pages import ReportFolder
    from raptor_core.documents import partition_key

    partition = partition_key(tree, settings.grouping)
    return ReportFolder(home.reports).path(partition, tree if settings.grouping.shards else None)


def read_report(home: Home, settings: Settings, tree: str) -> Report:
    """A published tree, with what the tables know of it.

    Raises:
        UnknownTreeError: nothing is published under this name.
        StoreError, TableError: what is kept cannot be read.
    """
    from raptor_assets import keys
    from raptor_assets.costs import node_usages, read_usages
    from raptor_assets.project.resources import TablesResource
    from raptor_assets.report import read_findings, read_records
    from raptor_core.documents import partition_key
    from raptor_core.home.published import published, require_trees
    from raptor_core.report import Report, ReportTree, settings_text
    from raptor_core.store.base import Where
    from raptor_core.tables import read_curation, table_to_documents

    with published(home, settings) as store:
        require_trees(store, (tree,))
        manifest = store.manifests([tree])[0]
        nodes = store.nodes(Where(trees=(tree,)))
    tables = TablesResource(settings, home).tables()
    partition = partition_key(tree, settings.grouping)
    table = tables.find(keys.DOCUMENTS.path, partition)
    documents = {} if table is None else table_to_documents(table)
    layers = range(1, len(manifest.layer_sizes))
    record = read_records(tables, partition).get(tree)
    if record and record.build_id != manifest.build_id:
        record = None
    shown = ReportTree(
        name=tree,
        build_id=manifest.build_id,
        published_at=manifest.published_at,
        ended=manifest.end,
        nodes=tuple(nodes),
        documents=documents.get(tree, ()),
        change=record.change if record else None,
    )
    return Report(
        name=tree,
        trees=(shown,),
        findings=read_findings(tables, partition, layers, read_curation(tables)),
        settings=settings_text(settings),
        cost=record.cost if record else None,
        usages=node_usages(nodes, read_usages(tables, partition, layers)),
    )


def _n_findings(report: Report) -> int | None:
    """Findings that the page shows; None where no audit is known."""
    if report.findings is None:
        return None
    ids = {node.id for tree in report.trees for node in tree.nodes}
    return sum(finding.node_id in ids for finding in report.findings)
