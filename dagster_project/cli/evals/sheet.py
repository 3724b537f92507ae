"""`raptor eval sheet`."""

from __future__ import annotations

from pathlib import Path

import click

from dagster_project.cli.options import home_and_json
from dagster_project.cli.output import print_json
from raptor_assets.project.home import Home
from raptor_core.audit.study import PAGE, SHEET, draw, write_sheet
from raptor_core.disk import replace_file
from raptor_core.errors import UnknownTreeError
from raptor_core.home.published import published
from raptor_core.nodes import Node
from raptor_core.report.page import render_sheet


@click.command(epilog="\b\nExample:\n  raptor eval sheet study/ --nodes 150 --trees 40 --seed 1")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--nodes", type=click.IntRange(min=1), default=150, show_default=True)
@click.option("--trees", type=click.IntRange(min=1), default=40, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True, help="Another draws other nodes.")
@home_and_json
def command(folder: Path, nodes: int, trees: int, seed: int, home: Path, as_json: bool) -> None:
    """Draw summaries for a study of hallucinations by hand, and write a sheet into FOLDER.

    sheet.html is filled in in a browser and saves filled.csv; sheet.csv in a spreadsheet. Each row
    is a sentence. `raptor eval verdicts FOLDER` reads either.
    """
    opened, settings = Home.open(home)
    by_tree: dict[str, list[Node]] = {}
    with published(opened, settings) as store:
        for node in store.nodes():
            by_tree.setdefault(node.tree, []).append(node)
    drawn = draw(by_tree, nodes, trees, seed)
    if not drawn.nodes:
        raise UnknownTreeError("no published tree has a summary; build longer documents first")
    write_sheet(folder, drawn)
    replace_file(folder / PAGE, render_sheet(drawn).encode())
    n_sentences = sum(len(node.sentences) for node in drawn.nodes)
    if as_json:
        counts = {"nodes": len(drawn.nodes), "trees": drawn.n_trees, "sentences": n_sentences}
        print_json({"folder": str(folder), "seed": seed, "population": drawn.population, **counts})
        return
    click.echo(
        f"drew {len(drawn.nodes)} of {drawn.population} summaries in {drawn.n_trees} trees, "
        f"{n_sentences} sentences: fill in {folder / PAGE} or {folder / SHEET}"
    )
