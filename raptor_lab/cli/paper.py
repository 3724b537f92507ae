"""`raptor eval paper`: the paper's tables and figures as Markdown, pictures, and one page."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
from markdown_it import MarkdownIt

from raptor_assets.cli.options import bounded, budget_options, home_and_json
from raptor_assets.cli.output import print_json
from raptor_assets.cli.terminal import say
from raptor_assets.drawing import (
    ACCENT,
    HEIGHT,
    PALETTE,
    REFERENCE,
    ROW,
    SMALL,
    TEXT,
    WIDTH,
    Drawing,
    Panel,
    ticks,
)
from raptor_core.errors import SettingsError
from raptor_core.models.money.ledger import Ledger
from raptor_core.settings import Settings
from raptor_core.tree.sqlite_cache import SqliteCache
from raptor_lab.cli import common
from raptor_lab.cli.reader import make_reader, parse_readers
from raptor_lab.comparison.contexts import Measurer
from raptor_lab.comparison.index import Index
from raptor_lab.comparison.measures import ContextMeasurer
from raptor_lab.comparison.tables import Table, table_markdown
from raptor_lab.pages import render_tables
from raptor_lab.paper import tables
from raptor_lab.paper.study import (
    CONTIGUOUS,
    Study,
    is_local,
    measure_study,
    time_builds,
    with_contiguous,
)
from raptor_lab.readers import AnswerMeasurer

FIGURES = "figures.json"
README = "README.md"
INDEX = "index.html"
TITLE = "The RAPTOR paper, measured here"


@click.command(epilog="\b\nExample:\n  raptor eval paper tables/ qasper.jsonl quality.jsonl")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@common.budgets_option("400,1000,2000")
@common.ENCODERS
@click.option(
    "--reader",
    "readers",
    metavar="KIND[:MODEL]",
    callback=lambda context, option, item: parse_readers(context, option, (item,) if item else ()),
    help="Draw Figure 3 by the answers of a reader of `raptor eval reader`: thirteen contexts for "
    "each question.",
)
@budget_options("the reader")
@click.option("--no-contiguous", is_flag=True, help="Leave the ablation with contiguous trees out.")
@click.option("--no-timing", is_flag=True, help="Leave the timed builds (Figure 6) out.")
@common.dataset_options
@home_and_json
def paper_command(
    folder: Path, files: tuple[Path, ...], home: Path, as_json: bool, **values: Any
) -> None:
    """Write the tables and figures of the RAPTOR paper into FOLDER, as Markdown and pictures.

    FILE is as for `raptor eval retrieval`. For each there are the retrievers with and without the
    tree, the ablation with contiguous trees, the subsets of layers, the nodes by layer, the sizes
    of the trees, and what builds take by length of the document, beside the paper's own figures.
    FOLDER/README.md says which tables need a reader; FOLDER/figures.json holds everything. The
    files are written again after each data set.
    """
    studies: list[Study] = []
    written: Sequence[Path] = ()
    for file in files:
        study, settings = _measure(file, home, values)
        studies.append(study)
        written = _write_tables(folder, files, studies, settings)
    if as_json:
        print_json({"folder": str(folder), "files": [path.name for path in written]})
    else:
        for path in written:
            say(str(path))


def _measure(file: Path, home: Path, values: Mapping[str, Any]) -> tuple[Study, Settings]:
    """Measure one data set, without contiguous trees where they would be the same."""
    budgets = values["budgets"]
    with common.open_evaluation(file, home, values) as index:
        settings = index.components.settings
        measurer = ContextMeasurer.of(index, pooled=False)
        read = _answer_measurer(index, home, values)
        study = measure_study(index, budgets, measurer, values["encoders"], _print_system, read)
        components, documents = index.components, index.dataset.documents
    if is_local(components) and not values["no_timing"]:
        times = time_builds(
            documents, components, lambda n: say(f"building {n:,} tokens", err=True)
        )
        study = replace(study, times=tuple(times))
    if values["no_contiguous"] or settings.clustering.method == CONTIGUOUS:
        return study, settings
    with common.open_evaluation(file, home, {**values, "clustering": CONTIGUOUS}) as index:
        return with_contiguous(study, index, budgets, measurer, _print_system), settings


def _answer_measurer(index: Index, home: Path, values: Mapping[str, Any]) -> Measurer | None:
    """Return the measurer by the answers of ``--reader``; None without a reader."""
    for kind, model in values["readers"]:
        settings = bounded(index.components.settings, values)
        reader = make_reader(settings.reader, Ledger.of(settings), kind, model)
        log = SqliteCache(common.cache_of(home, values) / "read")
        return AnswerMeasurer(index.dataset.name, reader, log)
    return None


def _print_system(system: str, budget_tokens: int) -> None:
    say(f"{system} at {budget_tokens:,} tokens", err=True)


@dataclass(frozen=True)
class StudyFile:
    """File of the study: name, heading, items ``of`` the paper, tables, and SVG texts by name."""

    file: str
    title: str
    of: str
    tables: Sequence[Table]
    pictures: Mapping[str, str] = field(default_factory=dict)


def _write_tables(
    folder: Path, files: Sequence[Path], studies: Sequence[Study], settings: Settings
) -> list[Path]:
    sections = list(_sections(studies))
    readme = _readme(_measured(files, studies), sections, settings)
    texts = {
        README: readme,
        INDEX: _page(readme, sections),
        **{section.file: _markdown(section) for section in sections},
        **{name: svg for section in sections for name, svg in section.pictures.items()},
        FIGURES: json.dumps([study.values() for study in studies], indent=2) + "\n",
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"cannot write {folder}: {error}; name another folder") from error
    return [folder / name for name in texts]


def _sections(studies: Sequence[Study]) -> Iterator[StudyFile]:
    retrievers = [table for study in studies for table in tables.retriever_tables(study)]
    curved = [study for study in studies if study.curve_measure]
    yield StudyFile(
        "retrievers.md", "Retrievers with and without the tree", "Tables 1 to 7 and 9", retrievers
    )
    yield StudyFile(
        "curve.md",
        "The collapsed tree and traversal by length of the context",
        "Figure 3",
        tables.curve_tables(studies),
        {f"curve-{at}.svg": curve_svg(study) for at, study in enumerate(curved, 1)},
    )
    yield StudyFile(
        "layers.md", "Subsets of layers", "Tables 8 and 14 to 17", tables.layer_tables(studies)
    )
    yield StudyFile(
        "shares.md",
        "Nodes by layer",
        "Tables 18 to 21, Figure 7",
        tables.share_tables(studies),
        {f"shares-{at}.svg": shares_svg(study) for at, study in enumerate(studies, 1)},
    )
    yield StudyFile(
        "compression.md", "Sizes of the trees", "Table 10", tables.compression_tables(studies)
    )
    yield StudyFile(
        "scaling.md",
        "Tokens and time by length of the document",
        "Figures 5 and 6",
        tables.scaling_tables(studies),
        {f"scaling-{at}.svg": scaling_svg(study) for at, study in enumerate(studies, 1)},
    )


def _markdown(section: StudyFile) -> str:
    pictures = (f"![{section.title}]({name})" for name in section.pictures)
    tables = map(table_markdown, dict.fromkeys(section.tables))
    return "\n\n".join([f"# {section.title} ({section.of})", *pictures, *tables]) + "\n"


def _page(readme: str, sections: Sequence[StudyFile]) -> str:
    body = _html(readme)
    for section in sections:
        anchor = section.file.removesuffix(".md")
        body = body.replace(f'href="{section.file}"', f'href="#{anchor}"')
        text = _html(_markdown(section)).replace("h2>", "h3>").replace("/h1>", "/h2>")
        for name, svg in section.pictures.items():
            shown = f'<p><img src="{name}" alt="{escape(section.title)}" /></p>'
            text = text.replace(shown, f'<div class="wide" tabindex="0">{svg}</div>')
        body += text.replace("<h1>", f'<h2 id="{anchor}">')
    return render_tables(TITLE, body)


def _html(markdown: str) -> str:
    """Render Markdown with tables; HTML in it is shown as text."""
    html: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    html = html.replace("<table>", '<div class="wide" tabindex="0"><table>')
    return html.replace("</table>", "</table></div>").replace("<th>", '<th scope="col">')


def _readme(measured: Table, sections: Sequence[StudyFile], settings: Settings) -> str:
    contents = [f"- [{item.title}]({item.file}): {item.of}" for item in sections]
    contents += [f"- [All of it as one page]({INDEX})", f"- [Everything, as JSON]({FIGURES})"]
    text = (resources.files("raptor_lab.paper") / "readme.txt").read_text("utf-8")
    return text.format(
        title=TITLE,
        measured=table_markdown(measured),
        settings=_describe(settings),
        contents="\n".join(contents),
    )


def _measured(files: Sequence[Path], studies: Sequence[Study]) -> Table:
    head = ("data set", "file", "documents", "questions", "nodes by layer")
    rows = (
        (
            study.name,
            file.name,
            f"{study.n_documents:,}",
            f"{study.n_questions:,}",
            ", ".join(f"{n:,}" for n in study.trees.nodes_by_layer),
        )
        for file, study in zip(files, studies, strict=False)
    )
    return Table("Measured on", head, tuple(rows))


def _describe(settings: Settings) -> str:
    summarizer, embedder, custom = settings.summarizer, settings.embedder, settings.components
    summaries = summarizer.shown_model if summarizer.kind != "extractive" else "extracted sentences"
    model = "all-MiniLM-L6-v2 (bundled)" if embedder.kind == "bundled" else embedder.model
    return (
        f"Embedder {custom.embedder or model}; summaries: {custom.summarizer or summaries}; "
        f"chunks of {settings.chunking.max_tokens} tokens; "
        f"clustering {settings.clustering.method}; "
        f"default strategy {settings.retrieval.strategy}."
    )


Points = Sequence[tuple[float, float]]

_DOT = 5.0
_TITLE = 76.0  # pixels of a panel of rows that are none


def scaling_svg(study: Study) -> str:
    """Draw tokens of calls, and seconds where they were measured, in panels side by side."""
    drawing = Drawing(WIDTH * (2 if study.times else 1), HEIGHT)
    prompts = [(p.document_tokens / 1000, p.prompt_tokens / 1000) for p in study.tokens]
    completions = [(p.document_tokens / 1000, p.completion_tokens / 1000) for p in study.tokens]
    title = f"{study.name}: thousand tokens of calls"
    x_label = "thousand tokens of the document"
    _scatter(Panel(drawing, 0), title, x_label, {"prompts": prompts, "completions": completions})
    if study.times:
        timed = [(p.document_tokens / 1000, p.seconds) for p in study.times]
        _scatter(Panel(drawing, 1), f"{study.name}: seconds", x_label, {"seconds": timed})
    return drawing.svg()


def curve_svg(study: Study) -> str:
    """Draw the measure by the length of the context: collapsed tree and traversal (Figure 3)."""
    drawing = Drawing(WIDTH, HEIGHT)
    series: dict[str, list[tuple[float, float]]] = {}
    for line in study.curve:
        value = line.figures[study.curve_measure].mean.value or 0.0
        series.setdefault(line.system.partition(":")[0], []).append((line.mean_tokens, value))
    title = f"{study.name}: {study.curve_measure.replace('_', ' ')}"
    _scatter(Panel(drawing, 0), title, "tokens of a context", series, joined=True)
    return drawing.svg()


def shares_svg(study: Study) -> str:
    """Draw the nodes of a context by layer at the largest budget, by strategy (Figure 7)."""
    budget = max(study.retrievers.budgets)
    at_budget = study.retrievers.at(budget).values()
    lines = [line for line in at_budget if line.system in tables.SPREAD and line.layers]
    height = _TITLE + ROW * study.n_layers
    drawing = Drawing(WIDTH * len(lines), height)
    for at, line in enumerate(lines):
        panel = Panel(drawing, at, height)
        panel.title(f"{study.name}: {line.system}, {budget:,} tokens")
        shares = [line.layers.get(layer, 0.0) for layer in range(study.n_layers)]
        panel.rows(
            [(f"layer {layer}", share, f"{share:.1%}") for layer, share in enumerate(shares)]
        )
    return drawing.svg()


def _scatter(
    panel: Panel, title: str, x_label: str, series: Mapping[str, Points], *, joined: bool = False
) -> None:
    """Draw points with both axes from 0, and the names of several series on the left."""
    drawing = panel.drawing
    panel.title(title, x_label)
    everything = [point for points in series.values() for point in points]
    furthest = max(x for x, _ in everything)
    highest = max(y for _, y in everything) or 1.0
    across, up = panel.width / furthest, panel.heights(highest, integer=False)
    panel.baseline()
    for value in ticks(0.0, furthest, 5):
        place = panel.x_min + value * across
        drawing.text(place, panel.bottom + 16, f"{value:g}", TEXT, size=SMALL, anchor="middle")
    colors = (ACCENT, REFERENCE, *PALETTE[2:])
    for at, ((name, points), color) in enumerate(zip(series.items(), colors, strict=False)):
        places = [(panel.x_min + x * across, panel.bottom - y * up) for x, y in points]
        for start, end in pairwise(places) if joined else ():
            drawing.line(start, end, color, 1.5)
        drawing.dots(places, _DOT, color)
        if len(series) > 1:
            drawing.text(panel.x_min + 8, panel.top + 12 + 15 * at, name, color, size=SMALL)
