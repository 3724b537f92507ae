"""Strategies side by side: `raptor eval retrieval` and `raptor eval reader`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from raptor_assets.cli.evals.common import (
    cache_of,
    comparison_options,
    dataset_options,
    make_systems,
    open_beside,
    open_evaluation,
    show,
)
from raptor_assets.cli.options import home_and_json
from raptor_core.evaluation.compare import compare, compare_preset
from raptor_core.evaluation.index import tree_statistics
from raptor_core.settings import preset


@click.command(
    epilog="\b\nExample:\n  raptor eval retrieval qasper.jsonl --strategy collapsed@0 "
    "--strategy collapsed"
)
@click.argument("file", type=click.Path(path_type=Path))
@comparison_options("400,1000,2000")
@click.option(
    "--beside",
    "presets",
    multiple=True,
    metavar="PRESET",
    help="A preset to compare with: its own strategy over trees of its own, such as simple. May "
    "be repeated.",
)
@dataset_options
@home_and_json
def retrieval_command(file: Path, home: Path, as_json: bool, **values: Any) -> None:
    """Compare strategies on questions whose answers are known, at equal token budgets.

    FILE is QASPER, QuALITY or the folder of NarrativeQA as they are published, documents with
    their questions (JSON Lines), or your own questions, as for `raptor eval golden`, with --source
    naming the documents. Trees are built by the home's settings, and kept in the cache.

    A difference is to the first strategy. Intervals are of 95 %, p is two-sided; both are
    bootstrapped over documents.
    """
    systems = make_systems(values)
    presets = {name: preset(name) for name in values["presets"]}
    with open_evaluation(file, home, values) as index:
        comparison = compare(index, systems, values["budgets"], pooled=values["pooled"])
        trees = tree_statistics(index)
    beside = {}
    for name in presets:
        with open_beside(index, name, cache_of(home, values)) as there:
            comparison = compare_preset(comparison, name, there)
            beside[name] = tree_statistics(there)
    show(file, index.dataset, trees, comparison, values, beside=beside, as_json=as_json)
