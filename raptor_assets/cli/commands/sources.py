"""A home and what it reads: `raptor init` and `raptor documents`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from raptor_assets.cli.options import home_and_json, home_settings, is_missing, kept_sources
from raptor_assets.cli.output import print_json, told_together
from raptor_assets.cli.terminal import say, say_text
from raptor_assets.project.home import Home
from raptor_core.errors import SourceError
from raptor_core.home.folder import hint
from raptor_core.nodes import format_pages
from raptor_core.quality.document_text import describe_repeated_lines
from raptor_core.settings import CheckSettings
from raptor_core.tree.components import Components
from raptor_core.tree.preview import Previews


@click.command(epilog="\b\nExample:\n  raptor init docs/ --group-by folder")
@click.argument("sources", nargs=-1)
@click.option("--preset", default="default", show_default=True, help="Settings to start from.")
@click.option(
    "--group-by",
    type=click.Choice(["document", "folder", "corpus"]),
    default="document",
    show_default=True,
    help="Which documents make one tree.",
)
@click.option("--all", "is_complete", is_flag=True, help="Write every setting, advanced ones too.")
@home_and_json
def init_command(
    sources: tuple[str, ...],
    preset: str,
    group_by: str,
    is_complete: bool,
    home: Path,
    as_json: bool,
) -> None:
    """Make a home with a commented settings file. An existing file is never overwritten."""
    if missing := [source for source in sources if is_missing(source)]:
        raise SourceError(f"there is no file or folder {missing[0]!r}; nothing was written")
    opened = Home.at(home)
    created = opened.create(
        sources=kept_sources(sources), preset=preset, group_by=group_by, is_complete=is_complete
    )
    if as_json:
        print_json({"home": str(opened.path), "settings": str(opened.settings), "created": created})
        return
    if created:
        say(f"wrote {opened.settings}")
    else:
        say(
            f"kept {opened.settings} as it is: edit it, or add sources with "
            f"`{hint('build SOURCE', opened.path)}`",
            fg="yellow",
        )
    build = "build" if sources or not created else "build SOURCE"
    say(f"next: {hint(build, opened.path)}")


NAMED = 20
"""Reasons for leaving something out that are told; ``--json`` names all."""

_ROW = "{:>10}  {:>6}  {:>8}  {:>9}  {:>7}  {:<10}  {}"
_COLUMNS = ("size", "pages", "sections", "tokens", "chunks", "language", "document")


@click.command(epilog="\b\nExample:\n  raptor documents docs/ guide/pumps.pdf")
@click.argument("source", required=False)
@click.argument("name", required=False)
@home_and_json
def documents_command(source: str | None, name: str | None, home: Path, as_json: bool) -> None:
    """Show what a build would read. Nothing is written, and no model is called.

    SOURCE is a file, a folder or a URL, without one the source of the home; the settings are the
    home's where there is one. With the NAME of a document: its text as it will be cut into chunks.
    What is no file, folder or URL is taken for a NAME in the home's source.
    """
    if source and not name and is_missing(source):
        source, name = None, source
    _, settings = home_settings(home, needed=not source)
    previews = Previews([source] if source else [], Components(settings))
    if name:
        told = _document(previews, name)
        print_json(told) if as_json else _print_document(told)
    elif as_json:
        print_json({"documents": list(previews), **_together(previews, settings.checks)})
    else:
        _print(previews, settings.checks)


def _document(previews: Previews, name: str) -> dict[str, Any]:
    preview, document, chunks = previews.document(name)
    cut = [
        {
            "start": chunk.start,
            "end": chunk.end,
            "n_tokens": chunk.n_tokens,
            "pages": sorted({document.page(chunk.start), document.page(chunk.end - 1)} - {0}),
            "section": list(chunk.section),
            "text": chunk.text,
        }
        for chunk in chunks
    ]
    return {**asdict(preview), "title": document.title, "chunks": cut}


def _print_document(told: dict[str, Any]) -> None:
    for chunk in told["chunks"]:
        place = f"[{chunk['start']}:{chunk['end']}]{format_pages(chunk['pages'])}"
        path = " > ".join(chunk["section"])
        say(f"{place}, {chunk['n_tokens']} tokens  {path}".rstrip(), fg="cyan")
        say_text(chunk["text"])
        say()
    say(
        f"{told['document']}: {told['n_chunks']} chunks, {told['n_tokens']:,} tokens, "
        f"{told['n_sections']} sections",
        dim=True,
    )
    if told["doubt"]:
        say(f"doubtful: {told['doubt']}", fg="yellow", err=True)


def _together(previews: Previews, checks: CheckSettings) -> dict[str, Any]:
    """What is known once all documents were gone through."""
    common = previews.common
    return {
        "languages": dict(common.languages.most_common()),
        "other_languages": _others(previews, checks),
        "repeated_lines": dict(common.repeated_lines(checks.repeated_line)),
        "skipped": [{"name": s.name, "reason": s.reason} for s in previews.skipped],
        "omitted": [{"name": s.name, "reason": s.reason} for s in previews.omitted],
    }


def _others(previews: Previews, checks: CheckSettings) -> dict[str, list[str]]:
    """The first documents of each language but the one that prevails."""
    main = previews.common.main_language(checks.main_language)
    return {k: ids for k, ids in previews.common.named.items() if main and k != main}


def _print(previews: Previews, checks: CheckSettings) -> None:
    totals: Counter[str] = Counter()
    say(_ROW.format(*_COLUMNS), dim=True)
    for preview in previews:
        size = "" if preview.size_bytes is None else f"{preview.size_bytes / 1000:,.1f} kB"
        counts = (preview.n_pages or "", preview.n_sections or "", f"{preview.n_tokens:,}")
        told = (preview.n_chunks, preview.language, preview.document)
        say(_ROW.format(size, *counts, *told))
        if preview.doubt:
            say(f"{'':>10}  {preview.doubt}", fg="yellow")
        numbers = {k: v for k, v in asdict(preview).items() if isinstance(v, int)}
        totals.update(numbers, documents=1, doubtful=bool(preview.doubt))
    for line in _told(previews, checks):
        say(line, fg="yellow")
    say(_total(previews, totals))


def _told(previews: Previews, checks: CheckSettings) -> Iterator[str]:
    both = (*previews.skipped, *previews.omitted)
    left_out = told_together((item.name, item.reason) for item in both)
    yield from (f"left out {line}" for line in left_out[:NAMED])
    if len(left_out) > NAMED:
        yield f"and more for {len(left_out) - NAMED} other reasons; --json names all"
    for language, ids in _others(previews, checks).items():
        count = previews.common.languages[language]
        yield f"{count} of {previews.common.n_documents} in {language}: {', '.join(ids)}"
    repeated = previews.common.repeated_lines(checks.repeated_line)
    if repeated:
        yield describe_repeated_lines(repeated, previews.common.n_documents)


def _total(previews: Previews, totals: Counter[str]) -> str:
    counts = [
        (totals["n_pages"], "pages"),
        (totals["n_sections"], "sections"),
        (totals["n_chars"], "characters"),
        (totals["n_tokens"], "tokens"),
        (totals["n_chunks"], "chunks"),
        (totals["doubtful"], "doubtful"),
        (len(previews.skipped) + len(previews.omitted), "left out"),
    ]
    told = ", ".join(f"{count:,} {what}" for count, what in counts if count)
    return f"{totals['documents']:,} documents: {told}"
