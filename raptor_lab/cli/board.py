"""The command `raptor eval board`, which writes a table over all public data sets."""

from pathlib import Path
from typing import Any

import click

from raptor_assets.cli.options import home_and_json, open_home_and_settings
from raptor_assets.cli.output import print_json
from raptor_assets.shown.terminal import say, say_text
from raptor_core.errors import SourceError
from raptor_core.settings import preset
from raptor_core.tree.components import Components
from raptor_lab.cli.common import budgets_option, cache_folder, print_built_count
from raptor_lab.comparison.board import (
    SETS,
    BoardRow,
    board_tables,
    find_dataset_files,
    keep_first_questions,
    load_dataset_file,
    measure_dataset,
)
from raptor_lab.comparison.index import open_or_build_index
from raptor_lab.comparison.systems import IN_ORDER, make_system
from raptor_lab.comparison.tables import table_markdown

STRATEGIES = ("hybrid", "flat", IN_ORDER, "collapsed", "traversal")


@click.command(epilog="\b\nExample:\n  raptor eval board data/ --sets qmsum,musique --limit 100")
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--sets",
    default="",
    help=f"Data sets or files, separated by commas; by default {', '.join(SETS)}.",
)
@click.option(
    "--strategy",
    "strategies",
    multiple=True,
    default=STRATEGIES,
    show_default=True,
    help="As for `raptor eval retrieval`; the first is the baseline.",
)
@budgets_option("400,1000,2000")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N questions of each set.")
@click.option("--preset", "preset_name", help="Use the settings of this preset, not of the home.")
@click.option(
    "--cache",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the trees; by default 'evaluation' in the home.",
)
@home_and_json
def board_command(
    data: Path,
    sets: str,
    strategies: tuple[str, ...],
    budgets: list[int],
    limit: int | None,
    preset_name: str | None,
    home: Path,
    as_json: bool,
    **values: Any,
) -> None:
    """Measure strategies on public data sets, and write a table in Markdown.

    DATA is a folder of files in the formats of `raptor eval retrieval`. The name of a file begins
    with the name of its data set, such as qmsum-val.jsonl. The command reports data sets without a
    file. Trees are built with the home's settings, and cached.
    """
    files, missing = find_dataset_files(data, list(filter(None, map(str.strip, sets.split(",")))))
    for name in missing:
        say(f"{name}: no file in {data}", fg="yellow", err=True)
    if not files:
        raise SourceError(f"{data} contains no set; name files like their sets: {', '.join(SETS)}")
    systems = [make_system(name) for name in strategies]
    settings = preset(preset_name) if preset_name else open_home_and_settings(home, needed=False)[1]
    components = Components(settings)
    rows: list[BoardRow] = []
    sizes = {}
    for name, file in files.items():
        dataset = keep_first_questions(load_dataset_file(file), limit)
        sizes[name] = len(dataset.documents), len(dataset.questions)
        say(name, err=True)
        with open_or_build_index(
            dataset, components, cache_folder(home, values), print_built_count
        ) as index:
            rows += measure_dataset(name, index, systems, budgets)
    if as_json:
        print_json(
            {"missing": missing, "sizes": sizes, "rows": [row.to_json_values() for row in rows]}
        )
    else:
        say_text("\n\n".join(map(table_markdown, board_tables(rows, sizes, budgets))))
