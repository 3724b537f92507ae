"""The command `raptor eval paper`, which writes the paper's tables and figures."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

import click

from raptor_assets.cli.options import apply_budget_options, budget_options, home_and_json
from raptor_assets.cli.output import print_json
from raptor_assets.shown.terminal import say
from raptor_core.errors import SettingsError
from raptor_core.models.money.ledger import Ledger
from raptor_core.settings import Settings
from raptor_lab.cli import common
from raptor_lab.cli.reader import make_answer_measurer, reader_option
from raptor_lab.clustering import METHODS
from raptor_lab.comparison.measures import ContextMeasurer
from raptor_lab.comparison.tables import Table, table_markdown
from raptor_lab.paper import tables
from raptor_lab.paper.pictures import layer_shares_svg, score_by_length_svg, tokens_and_seconds_svg
from raptor_lab.paper.study import (
    CONTIGUOUS,
    Study,
    add_contiguous_trees,
    measure_study,
    needs_no_endpoint,
    time_builds,
)

FIGURES = "figures.json"
README = "README.md"
TITLE = "The RAPTOR paper, measured here"


@click.command(epilog="\b\nExample:\n  raptor eval paper tables/ qasper.jsonl quality.jsonl")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@common.budgets_option("400,1000,2000")
@common.encoders_option
@reader_option(
    "Also draw Figure 3 from answers to thirteen contexts for each question. The model is "
)
@budget_options("the answering model")
@click.option(
    "--no-contiguous", is_flag=True, help="Omit trees over neighbouring chunks (Table 9)."
)
@click.option("--no-timing", is_flag=True, help="Omit the timed builds (Figure 6).")
@common.dataset_options
@home_and_json
def paper_command(
    folder: Path, files: tuple[Path, ...], home: Path, as_json: bool, **values: Any
) -> None:
    """Write the tables and figures of the RAPTOR paper into FOLDER, as Markdown and pictures.

    FILE is as for `raptor eval retrieval`. For each FILE, tables compare retrievers with and
    without the tree (with --dpr also DPR). Further tables show trees over neighbouring chunks,
    searches of some layers, nodes by layer, sizes of trees and the cost of builds, next to the
    paper's figures.
    FOLDER/README.md lists the tables that need an answering model; FOLDER/figures.json contains all
    figures. The files are written again after each data set.
    """
    studies: list[Study] = []
    written: Sequence[Path] = ()
    for file in files:
        study, settings = _measure_dataset(file, home, values)
        studies.append(study)
        written = _write_tables(folder, files, studies, settings)
    if as_json:
        print_json({"folder": str(folder), "files": [path.name for path in written]})
    else:
        for path in written:
            say(str(path))


def _measure_dataset(file: Path, home: Path, values: Mapping[str, Any]) -> tuple[Study, Settings]:
    """Measure a data set, without contiguous trees if they would be the same."""
    budgets = values["budgets"]
    with common.open_or_build_dataset_trees(file, home, values) as index:
        settings = index.components.settings
        measurer = ContextMeasurer.of(index.dataset, pooled=False)
        read = None
        if reader := values["reader"]:
            ledger = Ledger.from_settings(apply_budget_options(settings, values))
            read = make_answer_measurer(index, home, values, reader, ledger)
        study = measure_study(
            index, budgets, measurer, _print_measured_system, read, values["encoders"]
        )
        components, documents = index.components, index.dataset.documents
    if needs_no_endpoint(components) and not values["no_timing"]:
        times = time_builds(
            documents, components, lambda n: say(f"building {n:,} tokens", err=True)
        )
        study = replace(study, time_points=tuple(times))
    if values["no_contiguous"] or settings.components.clusterer == METHODS[CONTIGUOUS]:
        return study, settings
    with common.open_or_build_dataset_trees(
        file, home, {**values, "clustering": CONTIGUOUS}
    ) as index:
        return add_contiguous_trees(
            study, index, budgets, measurer, _print_measured_system
        ), settings


def _print_measured_system(system: str, budget_tokens: int) -> None:
    say(f"{system} at {budget_tokens:,} tokens", err=True)


@dataclass(frozen=True)
class StudyFile:
    """A file of the study, with ``paper_items`` such as "Table 5" and pictures by name."""

    file: str
    title: str
    paper_items: str
    tables: Sequence[Table]
    pictures: Mapping[str, str] = field(default_factory=dict)


def _write_tables(
    folder: Path, files: Sequence[Path], studies: Sequence[Study], settings: Settings
) -> list[Path]:
    sections = list(_make_study_files(studies))
    texts = {
        README: _readme_text(_measured_sets_table(files, studies), sections, settings),
        **{section.file: _to_markdown(section) for section in sections},
        **{name: svg for section in sections for name, svg in section.pictures.items()},
        FIGURES: json.dumps([study.to_json_values() for study in studies], indent=2) + "\n",
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"cannot write {folder}: {error}; name another folder") from error
    return [folder / name for name in texts]


def _make_study_files(studies: Sequence[Study]) -> Iterator[StudyFile]:
    retrievers = [table for study in studies for table in tables.retriever_tables(study)]
    curved = [study for study in studies if study.curve_measure]
    yield StudyFile(
        "retrievers.md", "Retrievers with and without the tree", "Tables 1 to 7 and 9", retrievers
    )
    yield StudyFile(
        "curve.md",
        "The collapsed tree and traversal by length of the context",
        "Figure 3",
        tables.score_by_length_tables(studies),
        {f"curve-{at}.svg": score_by_length_svg(study) for at, study in enumerate(curved, 1)},
    )
    yield StudyFile(
        "layers.md", "Subsets of layers", "Tables 8 and 14 to 17", tables.layer_tables(studies)
    )
    yield StudyFile(
        "shares.md",
        "Nodes by layer",
        "Tables 18 to 21, Figure 7",
        tables.layer_share_tables(studies),
        {f"shares-{at}.svg": layer_shares_svg(study) for at, study in enumerate(studies, 1)},
    )
    yield StudyFile(
        "compression.md", "Sizes of the trees", "Table 10", tables.compression_tables(studies)
    )
    yield StudyFile(
        "scaling.md",
        "Tokens and time by length of the document",
        "Figures 5 and 6",
        tables.scaling_tables(studies),
        {f"scaling-{at}.svg": tokens_and_seconds_svg(study) for at, study in enumerate(studies, 1)},
    )


def _to_markdown(section: StudyFile) -> str:
    pictures = (f"![{section.title}]({name})" for name in section.pictures)
    tables = map(table_markdown, dict.fromkeys(section.tables))
    return "\n\n".join([f"# {section.title} ({section.paper_items})", *pictures, *tables]) + "\n"


def _readme_text(measured: Table, sections: Sequence[StudyFile], settings: Settings) -> str:
    contents = [f"- [{item.title}]({item.file}): {item.paper_items}" for item in sections]
    contents.append(f"- [Everything, as JSON]({FIGURES})")
    text = (resources.files("raptor_lab.paper") / "readme.txt").read_text("utf-8")
    return text.format(
        title=TITLE,
        measured=table_markdown(measured),
        settings=_describe_settings(settings),
        contents="\n".join(contents),
    )


def _measured_sets_table(files: Sequence[Path], studies: Sequence[Study]) -> Table:
    head = ("data set", "file", "documents", "questions", "nodes by layer")
    rows = (
        (
            study.name,
            file.name,
            f"{study.n_documents:,}",
            f"{study.n_questions:,}",
            ", ".join(f"{n:,}" for n in study.tree_statistics.nodes_by_layer),
        )
        for file, study in zip(files, studies, strict=False)
    )
    return Table("Measured on", head, tuple(rows))


def _describe_settings(settings: Settings) -> str:
    summarizer, embedder, custom = settings.summarizer, settings.embedder, settings.components
    summaries = summarizer.shown_model if summarizer.kind != "extractive" else "extracted sentences"
    model = "all-MiniLM-L6-v2 (bundled)" if embedder.kind == "bundled" else embedder.model
    return (
        f"Embedder {custom.embedder or model}; summaries: {custom.summarizer or summaries}; "
        f"chunks of {settings.chunking.max_tokens} tokens; "
        f"clustering {custom.clusterer or settings.clustering.method}; "
        f"default strategy {settings.retrieval.strategy}."
    )
