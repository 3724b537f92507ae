"""Commands on sources: `raptor init` and `raptor documents`."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from raptor_assets.cli.options import absolute_sources, home_and_json, home_and_settings, is_missing
from raptor_assets.cli.output import join_reasons, print_json
from raptor_assets.home.folder import Home
from raptor_assets.shown.terminal import say, say_text
from raptor_core.documents.parsing.names import describe_formats
from raptor_core.errors import SourceError
from raptor_core.home.folder import command_hint
from raptor_core.models.local.files import require_model_file
from raptor_core.nodes import format_pages
from raptor_core.tree.components import Components
from raptor_core.tree.preview import Preview, Previews


@click.command(epilog="\b\nExample:\n  raptor init docs/ --group-by folder")
@click.argument("sources", nargs=-1)
@click.option("--preset", default="default", show_default=True, help="Preset for the settings.")
@click.option(
    "--group-by",
    type=click.Choice(["document", "folder", "corpus"]),
    default="document",
    show_default=True,
    help="Which documents share a tree.",
)
@click.option(
    "--all", "is_complete", is_flag=True, help="Write all settings, including advanced settings."
)
@click.option("--local", "model", metavar="MODEL.gguf", help="GGUF file of a chat model.")
@home_and_json
def init_command(
    sources: tuple[str, ...],
    preset: str,
    group_by: str,
    is_complete: bool,
    model: str | None,
    home: Path,
    as_json: bool,
) -> None:
    """Create a home with a commented settings file. An existing file is never overwritten.

    With --local, a chat model on this machine writes the summaries and answers questions. llama.cpp
    must be able to load the file of the model.
    """
    if missing := [source for source in sources if is_missing(source)]:
        raise SourceError(f"there is no file or folder {missing[0]!r}; nothing was written")
    opened = Home.at(home)
    local_model = str(_local_model(model)) if model else ""
    created = opened.create(
        sources=absolute_sources(sources),
        preset=preset,
        group_by=group_by,
        is_complete=is_complete,
        local_model=local_model,
    )
    if as_json:
        print_json(
            {"home": str(opened.path), "settings": str(opened.settings_path), "created": created}
        )
        return
    if created:
        say(f"wrote {opened.settings_path}")
    else:
        remedy = f"edit it, or add sources with `{command_hint('build SOURCE', opened.path)}`"
        say(f"kept {opened.settings_path} as it is: {remedy}", fg="yellow")
    build = "build" if sources or not created else "build SOURCE"
    say(f"next: {command_hint(build, opened.path)}")


def _local_model(model: str) -> Path:
    """Return the absolute path of a model file, after checking that llama.cpp is installed."""
    from raptor_core.models.local.engine import import_xllamacpp

    import_xllamacpp()
    return require_model_file(model, "--local").absolute()


NAMED = 20  # most reasons for omitting documents to name; ``--json`` names all

_ROW = "{:>10}  {:>6}  {:>8}  {:>9}  {:>7}  {:<10}  {}"
_COLUMNS = ("size", "pages", "sections", "tokens", "chunks", "language", "document")


@click.command(epilog="\b\nExample:\n  raptor documents docs/ guide/pumps.pdf")
@click.argument("source", required=False)
@click.argument("name", required=False)
@home_and_json
def documents_command(source: str | None, name: str | None, home: Path, as_json: bool) -> None:
    """Show which documents a build would read. Nothing is written, and no model is called.

    SOURCE is a file, a folder or a URL; the default is the home's source. If there is a home, its
    settings apply. With the NAME of a document, the command prints the chunks of the document. A
    single argument that is not a file, folder or URL is the NAME of a document in the home's
    source.
    """
    if source and not name and is_missing(source):
        source, name = None, source
    _, settings = home_and_settings(home, needed=not source)
    previews = Previews([source] if source else [], Components(settings))
    if name:
        document = _document(previews, name)
        print_json(document) if as_json else _print_document(document)
    elif as_json:
        documents = list(previews)
        skipped, omitted = (
            [{"name": item.name, "reason": item.reason} for item in items]
            for items in (previews.skipped, previews.omitted)
        )
        print_json({"documents": documents, "skipped": skipped, "omitted": omitted})
    else:
        _print(previews)


def _document(previews: Previews, name: str) -> dict[str, Any]:
    preview, document, chunks = previews.preview_document(name)
    values = [
        {
            "start": chunk.start,
            "end": chunk.end,
            "n_tokens": chunk.n_tokens,
            "pages": sorted({document.page_at(chunk.start), document.page_at(chunk.end - 1)} - {0}),
            "section": list(chunk.section),
            "text": chunk.text,
        }
        for chunk in chunks
    ]
    return {**asdict(preview), "title": document.title, "chunks": values}


def _print_document(values: dict[str, Any]) -> None:
    for chunk in values["chunks"]:
        place = f"[{chunk['start']}:{chunk['end']}]{format_pages(chunk['pages'])}"
        path = " > ".join(chunk["section"])
        say(f"{place}, {chunk['n_tokens']} tokens  {path}".rstrip(), fg="cyan")
        say_text(chunk["text"])
        say()
    say(
        f"{values['document']}: {values['n_chunks']} chunks, {values['n_tokens']:,} tokens, "
        f"{values['n_sections']} sections",
        dim=True,
    )
    if values["doubt"]:
        say(f"doubtful: {values['doubt']}", fg="yellow", err=True)


def _print(previews: Previews) -> None:
    """Print the problems, then a row for each document, then the totals."""
    rows = list(previews)
    totals: Counter[str] = Counter()
    for preview in rows:
        numbers = {k: v for k, v in asdict(preview).items() if isinstance(v, int)}
        totals.update(numbers, documents=1, doubtful=bool(preview.doubt))
    for line in _problems(previews, rows):
        say(line, fg="yellow")
    for line in _remarks(previews):
        say(line)
    say(_ROW.format(*_COLUMNS), dim=True)
    for preview in rows:
        size = "" if preview.size_bytes is None else f"{preview.size_bytes / 1000:,.1f} kB"
        counts = (preview.n_pages or "", preview.n_sections or "", f"{preview.n_tokens:,}")
        say(_ROW.format(size, *counts, preview.n_chunks, preview.language, preview.document))
    say(_total(previews, totals))


def _problems(previews: Previews, rows: Iterable[Preview]) -> Iterator[str]:
    """Yield lines on files that cannot be read, and on documents that lack something."""
    unread = [(item.name, item.reason) for item in previews.skipped if not item.kind]
    doubtful = [(preview.document, preview.doubt) for preview in rows if preview.doubt]
    for label, reasons in (("not read", unread), ("doubtful", doubtful)):
        lines = join_reasons(reasons)
        yield from (f"{label} {line}" for line in lines[:NAMED])
        if len(lines) > NAMED:
            yield f"{label}: {len(lines) - NAMED} further reasons; --json names all"


def _remarks(previews: Previews) -> Iterator[str]:
    """Yield lines on file types that are not read, and on omitted documents."""
    unsupported = {item.kind: item.reason for item in previews.skipped if item.kind}
    counts = Counter(item.kind for item in previews.skipped if item.kind)
    if counts:
        types = ", ".join(f"{kind} ({count})" for kind, count in counts.most_common())
        yield f"types that are not read: {types}; {describe_formats()}"
    yield from (reason for reason in unsupported.values() if ";" in reason)
    omitted = join_reasons((item.name, item.reason) for item in previews.omitted)
    yield from (f"left out {line}" for line in omitted[:NAMED])
    if len(omitted) > NAMED:
        yield f"left out for {len(omitted) - NAMED} further reasons; --json names all"


def _total(previews: Previews, totals: Counter[str]) -> str:
    names = ("n_pages", "n_sections", "n_chars", "n_tokens", "n_chunks", "doubtful")
    words = ("pages", "sections", "characters", "tokens", "chunks", "doubtful", "left out")
    counts = (*(totals[name] for name in names), len(previews.skipped) + len(previews.omitted))
    texts = (f"{count:,} {word}" for count, word in zip(counts, words, strict=True) if count)
    return f"{totals['documents']:,} documents: {', '.join(texts)}"
