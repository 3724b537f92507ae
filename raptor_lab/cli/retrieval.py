"""The command `raptor eval retrieval`, which compares strategies on a data set."""

from pathlib import Path
from typing import Any

import click

from raptor_assets.cli.options import home_and_json
from raptor_lab.cli.common import (
    comparison_options,
    dataset_options,
    make_systems,
    open_or_build_dataset_trees,
    print_comparisons,
)
from raptor_lab.comparison.compare import compare
from raptor_lab.comparison.index import compute_tree_statistics


@click.command(
    epilog="\b\nExample:\n  raptor eval retrieval qasper.jsonl --strategy collapsed@0 "
    "--strategy collapsed"
)
@click.argument("file", type=click.Path(path_type=Path))
@comparison_options("400,1000,2000")
@dataset_options
@home_and_json
def retrieval_command(file: Path, home: Path, as_json: bool, **values: Any) -> None:
    """Compare strategies on questions with reference answers, at equal token budgets.

    FILE is a public data set, your own documents with questions, or a golden set about the
    documents of --source; docs/evaluation.md lists the formats. Trees are built with the home's
    settings, and cached.

    Differences are relative to the first strategy. The 95 % intervals and the two-sided p values
    are computed by bootstrap over documents.
    """
    systems = make_systems(values)
    with open_or_build_dataset_trees(file, home, values) as index:
        comparison = compare(
            index,
            systems,
            values["budgets"],
            pooled=values["pooled"],
            keep_contexts=values["with_questions"],
        )
        trees = compute_tree_statistics(index)
    print_comparisons(file, index.dataset, trees, {"": comparison}, values, as_json=as_json)
