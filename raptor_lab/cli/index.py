"""Recall of the search by vectors: `raptor eval index`."""

from pathlib import Path

import click

from raptor_assets.cli.options import home_and_json
from raptor_assets.cli.output import print_json
from raptor_assets.home.folder import Home
from raptor_assets.shown.terminal import say
from raptor_core.home.published import open_published
from raptor_lab.search_recall import search_recall


@click.command(epilog="\b\nExample:\n  raptor eval index --samples 500")
@click.option("--samples", type=click.IntRange(min=1), default=200, show_default=True)
@click.option("--top", type=click.IntRange(min=1), default=20, show_default=True)
@home_and_json
def index_command(samples: int, top: int, home: Path, as_json: bool) -> None:
    """Measure the recall of the search by vectors.

    Vectors of sampled nodes plus noise are searched for as usual and by comparing every vector,
    over all trees and within their tree. A higher store.hnsw_ef raises the recall.
    """
    opened, settings = Home.open(home)
    with open_published(opened, settings) as store:
        recall = search_recall(store, samples, top)
    if as_json:
        print_json(recall)
        return
    say(f"{recall.n_samples} searches for the nearest {top} nodes")
    for name, part in (("all trees", recall.all_trees), ("one tree", recall.one_tree)):
        say(
            f"{name}: recall@{top} {part.recall:.3f}, median {part.milliseconds:.1f} ms; "
            f"comparing every vector {part.exact_milliseconds:.1f} ms"
        )
