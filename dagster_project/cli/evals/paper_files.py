"""The files of `raptor eval paper`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from dagster_project.cli.evals.paper_plots import scaling_svg
from raptor_assets.tables_markdown import Markdown, markdown_table
from raptor_core.errors import SettingsError
from raptor_core.evaluation.paper import (
    Study,
    Table,
    compression_tables,
    layer_tables,
    retriever_tables,
    scaling_tables,
    share_tables,
)
from raptor_core.settings import Settings

FIGURES = "figures.json"
README = "README.md"

INTRODUCTION = """\
# The tables of the RAPTOR paper, measured here

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
- Tables 11 to 13: prompts and examples, nothing to measure.
- Figure 6 where summaries or vectors come from an endpoint, which timing would pay for again."""


def write_tables(
    folder: Path, files: Sequence[Path], studies: Sequence[Study], settings: Settings
) -> list[Path]:
    """Write all tables of the studies so far, in place of those that are there.

    Raises:
        SettingsError: the folder cannot be written.
    """
    texts = {
        README: _readme(files, studies, settings),
        "retrievers.md": _page(
            "Retrievers with and without the tree (Tables 1 to 7 and 9)",
            [table for study in studies for table in retriever_tables(study)],
        ),
        "layers.md": _page("Subsets of layers (Tables 8 and 14 to 17)", layer_tables(studies)),
        "shares.md": _page("Nodes by layer (Tables 18 to 21)", share_tables(studies)),
        "compression.md": _page("Sizes of the trees (Table 10)", compression_tables(studies)),
        "scaling.md": _scaling(studies),
        **{_picture(at): scaling_svg(study) for at, study in enumerate(studies, 1)},
        FIGURES: json.dumps([study.values() for study in studies], indent=2) + "\n",
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"cannot write {folder}: {error}; name another folder") from error
    return [folder / name for name in texts]


def _page(title: str, tables: Sequence[Table]) -> str:
    """Each table once, though several data sets share one of the paper's."""
    parts = [f"# {title}", *map(_table, dict.fromkeys(tables))]
    return "\n\n".join(parts) + "\n"


def _scaling(studies: Sequence[Study]) -> str:
    pictures = [f"![{s.name}]({_picture(at)})" for at, s in enumerate(studies, 1)]
    title = "Tokens and time by length of the document (Figures 5 and 6)"
    return _page("\n\n".join((title, *pictures)), scaling_tables(studies))


def _picture(number: int) -> str:
    return f"scaling-{number}.svg"


def _table(table: Table) -> str:
    rows = [[Markdown(cell.replace("|", "\\|")) for cell in row] for row in table.rows]
    head = [Markdown(cell) for cell in table.head]
    parts = [f"## {table.title}", table.note, markdown_table(head, rows)]
    return "\n\n".join(filter(None, parts))


def _readme(files: Sequence[Path], studies: Sequence[Study], settings: Settings) -> str:
    parts = [INTRODUCTION, "## Measured on", _measured(files, studies), *_made(settings)]
    parts += ["## Tables", _contents(), LEFT_OUT]
    return "\n\n".join(parts) + "\n"


def _measured(files: Sequence[Path], studies: Sequence[Study]) -> str:
    head = ("data set", "file", "documents", "questions", "nodes by layer")
    rows = [
        (
            study.name,
            file.name,
            f"{study.n_documents:,}",
            f"{study.n_questions:,}",
            ", ".join(f"{n:,}" for n in study.trees.nodes_by_layer),
        )
        for file, study in zip(files, studies, strict=False)
    ]
    return markdown_table(head, rows)


def _made(settings: Settings) -> Iterator[str]:
    """The settings that the figures depend on most."""
    summarizer = settings.summarizer
    summaries = summarizer.model if summarizer.kind == "openai" else "extracted sentences"
    yield (
        f"Embedder {_embedder(settings)}; summaries: {summaries}; chunks of "
        f"{settings.chunking.max_tokens} tokens; clustering {settings.clustering.method}; "
        f"default strategy {settings.retrieval.strategy}."
    )


def _embedder(settings: Settings) -> str:
    embedder = settings.embedder
    return "all-MiniLM-L6-v2 (bundled)" if embedder.kind == "bundled" else embedder.model


def _contents() -> str:
    return (
        "- [Retrievers with and without the tree](retrievers.md): Tables 1 to 7 and 9\n"
        "- [Subsets of layers](layers.md): Tables 8 and 14 to 17\n"
        "- [Nodes by layer](shares.md): Tables 18 to 21\n"
        "- [Sizes of the trees](compression.md): Table 10\n"
        "- [Tokens and time by length of the document](scaling.md): Figures 5 and 6\n"
        f"- [Everything, as JSON]({FIGURES})"
    )
