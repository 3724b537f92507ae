"""`raptor eval paper`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dagster_project.cli.evals.common import DPR, budgets_option, dataset_options, open_evaluation
from dagster_project.cli.options import home_and_json
from dagster_project.cli.output import print_json
from raptor_core.evaluation.baselines import Dpr
from raptor_core.evaluation.measures import ContextMeasurer
from raptor_core.settings import Settings

if TYPE_CHECKING:
    from raptor_core.evaluation.paper.study import Study


@click.command(epilog="\b\nExample:\n  raptor eval paper tables/ qasper.jsonl quality.jsonl")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@budgets_option("400,1000,2000")
@DPR
@click.option("--no-contiguous", is_flag=True, help="Leave the ablation with contiguous trees out.")
@click.option("--no-timing", is_flag=True, help="Leave the timed builds (Figure 6) out.")
@dataset_options
@home_and_json
def command(
    folder: Path, files: tuple[Path, ...], home: Path, as_json: bool, **values: Any
) -> None:
    """Write the tables of the RAPTOR paper that need no reader into FOLDER, as Markdown.

    FILE is as for `raptor eval retrieval`. For each there are the retrievers with and without the
    tree, the ablation with contiguous trees, the subsets of layers, the nodes by layer, the sizes
    of the trees, and what builds take by length of the document, beside the paper's own figures.
    FOLDER/README.md says which tables need a reader; FOLDER/figures.json holds everything. The
    files are written anew after each data set.
    """
    from dagster_project.cli.evals.paper_files import write_tables

    dpr = Dpr(*values["dpr"]) if values["dpr"] else None
    studies: list[Study] = []
    settings: Settings | None = None
    written: Sequence[Path] = ()
    for file in files:
        study, settings = _measure(file, home, values, dpr)
        studies.append(study)
        written = write_tables(folder, files, studies, settings)
    if as_json:
        print_json({"folder": str(folder), "files": [path.name for path in written]})
        return
    for path in written:
        click.echo(str(path))


def _measure(
    file: Path, home: Path, values: Mapping[str, Any], dpr: Dpr | None
) -> tuple[Study, Settings]:
    """One data set; the contiguous trees are left out where they would be the same."""
    from raptor_core.evaluation.paper.study import (
        CONTIGUOUS,
        calls_nothing,
        measure_study,
        time_builds,
        with_contiguous,
    )

    budgets = values["budgets"]
    with open_evaluation(file, home, values) as index:
        settings = index.components.settings
        measurer = ContextMeasurer.of(index, pooled=False)
        study = measure_study(index, budgets, measurer, dpr, _tell)
        components, documents = index.components, index.dataset.documents
    if calls_nothing(components) and not values["no_timing"]:
        study = replace(study, times=tuple(time_builds(documents, components, _tell_build)))
    if values["no_contiguous"] or settings.clustering.method == CONTIGUOUS:
        return study, settings
    with open_evaluation(file, home, {**values, "clustering": CONTIGUOUS}) as index:
        return with_contiguous(study, index, budgets, measurer, _tell), settings


def _tell(system: str, budget_tokens: int) -> None:
    click.echo(f"{system} at {budget_tokens:,} tokens", err=True)


def _tell_build(n_tokens: int) -> None:
    click.echo(f"building {n_tokens:,} tokens", err=True)
