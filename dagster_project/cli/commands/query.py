"""`raptor query`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from dagster_project.cli.options import (
    STRATEGY,
    home_and_json,
    make_query,
    query_options,
    require_words,
    why_nothing,
)
from dagster_project.cli.output import print_beside, print_hits, print_json, retrieval_values
from raptor_assets.tree_picture import tree_svg
from raptor_core.errors import SettingsError
from raptor_core.home import HomeRetriever
from raptor_core.retrieval import Retrieval


@click.command(
    epilog="\b\nExample:\n  raptor query 'why did the pump fail?' --budget-tokens 500 --layer 0"
)
@click.argument("question")
@query_options
@click.option(
    "--beside",
    multiple=True,
    type=STRATEGY,
    help="Another strategy, whose context is shown beside; may be repeated.",
)
@click.option(
    "--svg",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the trees with the nodes that were chosen into this file.",
)
@home_and_json
def command(
    question: str,
    beside: tuple[str, ...],
    svg: Path | None,
    home: Path,
    as_json: bool,
    **values: Any,
) -> None:
    """Retrieve the chunks and summaries that a question should be answered from.

    They come in the strategy's order: the default reads in document order, with scores beside.

    `raptor tree TREE --trace NODE` shows what a summary was made from.
    """
    require_words(question)
    retriever = HomeRetriever(home)
    query = make_query(retriever.settings, values)
    strategies = dict.fromkeys((query.strategy, *beside))
    retrievals = [retriever.search(question, replace(query, strategy=name)) for name in strategies]
    if svg is not None:
        _draw(svg, retriever, retrievals)
    if as_json:
        first, *others = map(retrieval_values, retrievals)
        print_json(first | ({"beside": others} if beside else {}))
    elif not any(one.hits for one in retrievals):
        click.secho(why_nothing(query), fg="yellow", err=True)
    elif beside:
        print_beside(retrievals)
    else:
        print_hits(retrievals[0])


def _draw(path: Path, retriever: HomeRetriever, retrievals: Sequence[Retrieval]) -> None:
    """Write the trees that anything was chosen from.

    Raises:
        SettingsError: the file cannot be written.
    """
    names = sorted({hit.node.tree for one in retrievals for hit in one.hits})
    trees = {name: retriever.nodes(name) for name in names}
    chosen = {one.query.strategy: [hit.node.id for hit in one.ranked] for one in retrievals}
    try:
        path.write_text(tree_svg(trees, chosen, retrievals[0].question), encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"cannot write {path}: {error}; name another file") from error
