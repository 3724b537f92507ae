"""The files of `raptor eval paper`: Markdown, pictures, and all of it as one page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt

from dagster_project.cli.evals.paper_plots import curve_svg, scaling_svg, shares_svg
from raptor_assets.tables_markdown import table_markdown
from raptor_core.errors import SettingsError
from raptor_core.evaluation.paper.study import Study
from raptor_core.evaluation.paper.tables import (
    compression_tables,
    curve_tables,
    layer_tables,
    retriever_tables,
    scaling_tables,
    share_tables,
)
from raptor_core.evaluation.tables import Table
from raptor_core.settings import Settings

FIGURES = "figures.json"
README = "README.md"
INDEX = "index.html"
TITLE = "The RAPTOR paper, measured here"

INTRODUCTION = """\
Made by `raptor eval paper`. "Paper" is Sarthi et al., RAPTOR: Recursive Abstractive Processing for
Tree-Organized Retrieval, ICLR 2024, arXiv:2401.18059.

**The paper's figures are not comparable with these.** Its tables of retrieval score answers that a
model gave, on the official data sets, with summaries by gpt-3.5-turbo. These measure what contexts
hold, with no reader, on the files and settings named below. What can be compared is the order of
the retrievers within a table, and the sizes of the trees."""

LEFT_OUT = """\
## Left out

- Tables 1 to 7 and 9 as the paper has them: they score answers, so they need a reader
  (`raptor eval reader`). The same retrievers are in `retrievers.md`, by what contexts hold; what
  the paper reports of answers stands beside them.
- DPR (Tables 1 to 4, 18 and 19) where `--dpr` names no encoders.
- Tables 11 to 13 and Figure 4: a prompt and examples. `raptor query --beside` shows two contexts
  side by side, `raptor query --svg` the nodes that a question chose.
- Figure 6 where summaries or vectors come from an endpoint, which timing would pay for again.
- Appendix E, a study by hand."""


_STYLE = """
:root { color-scheme: light dark; --text: #1d2430; --soft: #5b6472; --line: #d9dde4;
  --back: #fff; --band: #f5f6f8; --link: #2f57c4 }
@media (prefers-color-scheme: dark) { :root { --text: #e3e6eb; --soft: #a2abb8; --line: #333a45;
  --back: #14171c; --band: #1b1f26; --link: #8aa8ff } }
body { margin: 0 auto; max-width: 74rem; padding: 1rem; color: var(--text);
  background: var(--back); font: 1rem/1.5 system-ui, sans-serif }
p, nav { max-width: 46rem } h2 { margin-top: 3rem } h3 { margin: 2rem 0 .3rem }
a { color: var(--link) } h3 + p { color: var(--soft); margin: .2rem 0 .6rem }
.wide { overflow-x: auto } svg { display: block; margin: 1rem 0 }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .7rem; text-align: left; border-bottom: 1px solid var(--line);
  white-space: nowrap }
th { background: var(--band) }
"""


@dataclass(frozen=True)
class Section:
    """What one file holds.

    Attributes:
        file: its name.
        title: in words.
        of: the tables and figures of the paper that it stands for.
        given: tables; several data sets may share one of the paper's.
        pictures: SVG by the name of its file.
    """

    file: str
    title: str
    of: str
    given: Sequence[Table]
    pictures: Mapping[str, str] = field(default_factory=dict)

    @property
    def tables(self) -> list[Table]:
        """Each once, though several data sets share one of the paper's."""
        return list(dict.fromkeys(self.given))


def write_tables(
    folder: Path, files: Sequence[Path], studies: Sequence[Study], settings: Settings
) -> list[Path]:
    """Write all tables of the studies so far, in place of those that are there.

    Raises:
        SettingsError: the folder cannot be written.
    """
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


def _sections(studies: Sequence[Study]) -> Iterator[Section]:
    retrievers = [table for study in studies for table in retriever_tables(study)]
    measured = [study for study in studies if study.measure]
    yield Section(
        "retrievers.md", "Retrievers with and without the tree", "Tables 1 to 7 and 9", retrievers
    )
    yield Section(
        "curve.md",
        "The collapsed tree and traversal by length of the context",
        "Figure 3",
        curve_tables(studies),
        {f"curve-{at}.svg": curve_svg(study) for at, study in enumerate(measured, 1)},
    )
    yield Section("layers.md", "Subsets of layers", "Tables 8 and 14 to 17", layer_tables(studies))
    yield Section(
        "shares.md",
        "Nodes by layer",
        "Tables 18 to 21, Figure 7",
        share_tables(studies),
        {f"shares-{at}.svg": shares_svg(study) for at, study in enumerate(studies, 1)},
    )
    yield Section("compression.md", "Sizes of the trees", "Table 10", compression_tables(studies))
    yield Section(
        "scaling.md",
        "Tokens and time by length of the document",
        "Figures 5 and 6",
        scaling_tables(studies),
        {f"scaling-{at}.svg": scaling_svg(study) for at, study in enumerate(studies, 1)},
    )


def _markdown(section: Section) -> str:
    pictures = (f"![{section.title}]({name})" for name in section.pictures)
    tables = map(table_markdown, section.tables)
    return "\n\n".join([f"# {section.title} ({section.of})", *pictures, *tables]) + "\n"


def _page(readme: str, sections: Sequence[Section]) -> str:
    """The README with all sections below it, as HTML that needs no network."""
    body = _html(readme)
    for section in sections:
        anchor = section.file.removesuffix(".md")
        body = body.replace(f'href="{section.file}"', f'href="#{anchor}"')
        told = _html(_markdown(section)).replace("h2>", "h3>").replace("/h1>", "/h2>")
        for name, svg in section.pictures.items():
            shown = f'<p><img src="{name}" alt="{escape(section.title)}" /></p>'
            told = told.replace(shown, f'<div class="wide" tabindex="0">{svg}</div>')
        body += told.replace("<h1>", f'<h2 id="{anchor}">')
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
    )
    return (
        f"{head}<title>{TITLE}</title><style>{_STYLE}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )


def _html(markdown: str) -> str:
    """Of Markdown with tables; HTML in it is shown as text."""
    html: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    html = html.replace("<table>", '<div class="wide" tabindex="0"><table>')
    return html.replace("</table>", "</table></div>").replace("<th>", '<th scope="col">')


def _readme(measured: Table, sections: Sequence[Section], settings: Settings) -> str:
    contents = [f"- [{one.title}]({one.file}): {one.of}" for one in sections]
    contents += [f"- [All of it as one page]({INDEX})", f"- [Everything, as JSON]({FIGURES})"]
    parts = [f"# {TITLE}", INTRODUCTION, table_markdown(measured), _made(settings)]
    return "\n\n".join([*parts, "## Tables", "\n".join(contents), LEFT_OUT]) + "\n"


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


def _made(settings: Settings) -> str:
    """The settings that the figures depend on most."""
    summarizer = settings.summarizer
    summaries = summarizer.model if summarizer.kind == "openai" else "extracted sentences"
    summaries = settings.components.summarizer or summaries
    return (
        f"Embedder {_embedder(settings)}; summaries: {summaries}; chunks of "
        f"{settings.chunking.max_tokens} tokens; clustering {settings.clustering.method}; "
        f"default strategy {settings.retrieval.strategy}."
    )


def _embedder(settings: Settings) -> str:
    embedder = settings.embedder
    if settings.components.embedder:
        return settings.components.embedder
    return "all-MiniLM-L6-v2 (bundled)" if embedder.kind == "bundled" else embedder.model
