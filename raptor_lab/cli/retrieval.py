"""Comparison of strategies: `raptor eval retrieval`; `raptor eval reader` is in ``raptor_lab``."""

from pathlib import Path
from typing import Any

import click

from raptor_assets.cli.options import home_and_json
from raptor_core.settings import preset
from raptor_lab.cli.common import (
    cache_of,
    comparison_options,
    dataset_options,
    make_systems,
    open_evaluation,
    open_preset,
    show,
)
from raptor_lab.comparison.compare import compare, compare_preset
from raptor_lab.comparison.index import tree_statistics


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
    help="Preset to compare with, such as simple: its strategy over its trees. May be repeated.",
)
@dataset_options
@home_and_json
def retrieval_command(file: Path, home: Path, as_json: bool, **values: Any) -> None:
    """Compare strategies on questions with known answers, at equal token budgets.

    FILE is QASPER, QuALITY or the folder of NarrativeQA as published, documents with their
    questions (JSON Lines), or your own questions, as for `raptor eval golden`, about the documents
    of --source. Trees are built by the home's settings, and cached.

    Differences are to the first strategy. Intervals are of 95 %, p is two-sided; both are
    bootstrapped over documents.
    """
    systems = make_systems(values)
    presets = {name: preset(name) for name in values["presets"]}
    with open_evaluation(file, home, values) as index:
        comparison = compare(index, systems, values["budgets"], pooled=values["pooled"])
        trees = tree_statistics(index)
    preset_trees = {}
    for name in presets:
        with open_preset(index, name, cache_of(home, values)) as preset_index:
            comparison = compare_preset(comparison, name, preset_index)
            preset_trees[name] = tree_statistics(preset_index)
    show(file, index.dataset, trees, comparison, values, preset_trees=preset_trees, as_json=as_json)
