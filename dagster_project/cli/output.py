"""What commands print: JSON for machines, short text for people."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import zip_longest
from typing import Any

import click
from pydantic_core import to_json

from raptor_core.evaluation.tables import Table as EvaluationTable
from raptor_core.models.reading.reader import Passage, Quote
from raptor_core.nodes import Node, told_pages
from raptor_core.retrieval import Retrieval
from raptor_core.store.base import Hit

TEXT_CHARS = 300
PIPE_COLUMNS = 160
"""Width of a line where there is no terminal."""

NAMED_DOCUMENTS = 3
_INTERNAL = ("content_key", "embedding_key", "fingerprint", "context", "paragraphs")


def print_json(value: Any) -> None:
    """One JSON value, indented; dataclasses by their fields.

    Python's own encoder takes twenty times as long once it indents.
    """
    click.echo(to_json(value, indent=2, inf_nan_mode="constants"))


def shorten(text: str, chars: int = TEXT_CHARS) -> str:
    """One line of at most ``chars`` characters, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= chars:
        return line
    return line[:chars].rsplit(" ", 1)[0] + " …"


def told_usd(usd: float | None, digits: str = ".6g") -> str:
    """Money in words; ``digits`` is the format of the amount."""
    return "money unknown (no price is set)" if usd is None else f"{usd:{digits}} USD"


def told_together(reasons: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each reason, with the first name that has it, and how many more do."""
    alike: dict[str, list[str]] = {}
    for name, reason in reasons:
        alike.setdefault(reason, []).append(name)
    return [
        f"{names[0]} and {len(names) - 1} more: {reason}" if names[1:] else f"{names[0]}: {reason}"
        for reason, names in alike.items()
    ]


def node_values(node: Node) -> dict[str, Any]:
    """A node as plain values, without the keys that are the store's own."""
    values = asdict(node)
    for internal in _INTERNAL:
        del values[internal]
    return values


def retrieval_values(retrieval: Retrieval) -> dict[str, Any]:
    """A retrieval as plain values."""
    return {
        "question": retrieval.question,
        "strategy": retrieval.query.strategy,
        "budget_tokens": retrieval.query.budget_tokens,
        "n_tokens": retrieval.n_tokens,
        "n_candidates": retrieval.n_candidates,
        "n_passed_over": retrieval.n_passed_over,
        "n_paragraphs": retrieval.n_paragraphs,
        "nodes": [
            {"score": round(hit.score, 4), "why": dict(hit.why), **node_values(hit.node)}
            for hit in retrieval.hits
        ],
    }


def passage_values(passage: Passage) -> dict[str, Any]:
    """Where a passage comes from, as plain values; ``span`` is null for a summary."""
    return {
        "node": passage.node_id,
        "documents": list(passage.documents),
        "span": passage.span and list(passage.span),
        "pages": list(passage.pages),
    }


def quote_values(quote: Quote) -> dict[str, Any]:
    """A quoted sentence as plain values; ``span`` is the sentence's own."""
    return {
        "text": quote.text,
        "similarity": round(quote.similarity, 4),
        **passage_values(quote.passage),
        "span": quote.span and list(quote.span),
    }


def place(hit: Hit) -> str:
    """Where a node comes from, in one line."""
    node = hit.node
    if node.stands_for:
        return f"the top of {node.documents[0]}"
    if node.is_leaf:
        title = str(node.metadata.get("title", ""))
        path = " > ".join(dict.fromkeys(name for name in (title, *node.section) if name))
        where = f"{node.documents[0]}[{node.start}:{node.end}]{told_pages(node.pages)}"
        return f"{where} {path}" if path else where
    names = ", ".join(node.documents[:NAMED_DOCUMENTS])
    hidden = len(node.documents) - NAMED_DOCUMENTS
    more = f" and {hidden} more" if hidden > 0 else ""
    return f"summary of {len(node.children)} nodes of {names}{more}"


def print_hits(retrieval: Retrieval) -> None:
    """The hits of a retrieval, readable."""
    for rank, hit in enumerate(retrieval.hits, 1):
        kind = "chunk" if hit.node.is_leaf else f"layer {hit.node.layer}"
        click.secho(f"{rank:>2}. {hit.score:.3f}  {kind:<8} {place(hit)}", fg="cyan")
        click.secho(f"    {hit.node.id}", dim=True)
        click.echo(f"    {shorten(hit.node.text)}")
    budget = retrieval.query.budget_tokens
    told = f"{len(retrieval.hits)} nodes, {retrieval.n_tokens} of {budget} tokens"
    click.secho(told, dim=True)


def print_beside(retrievals: Sequence[Retrieval]) -> None:
    """Contexts side by side, each text whole; a node that all have is marked with "="."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    everywhere = set.intersection(*({hit.node.id for hit in one.hits} for one in retrievals))
    table = Table(show_lines=True, expand=True)
    for one in retrievals:
        tokens = f"{one.n_tokens:,} of {one.query.budget_tokens:,} tokens"
        table.add_column(f"{one.query.strategy}: {len(one.hits)} nodes, {tokens}", ratio=1)
    for row in zip_longest(*(one.hits for one in retrievals)):
        cells = [
            Text(
                f"{'= ' if hit.node.id in everywhere else ''}{hit.score:.3f} {place(hit)}\n", "cyan"
            ).append(" ".join(hit.node.text.split()), "default")
            if hit
            else Text()
            for hit in row
        ]
        table.add_row(*cells)
    Console(width=None if sys.stdout.isatty() else PIPE_COLUMNS).print(table)


def print_table(given: EvaluationTable) -> None:
    """A table with its title above and its note below, in full where it goes into a pipe."""
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=given.title, caption=given.note, title_justify="left", caption_justify="left"
    )
    for name in given.head:
        table.add_column(name, justify="right" if table.columns else "left", no_wrap=True)
    for row in given.rows:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else PIPE_COLUMNS).print(table)


def print_quotes(quotes: Sequence[Quote]) -> None:
    """The sentences nearest to a question, with their places."""
    for quote in quotes:
        where = quote.passage.place
        if quote.span:
            where = f"{quote.passage.documents[0]}[{quote.span[0]}:{quote.span[1]}]"
        click.echo(f"  “{shorten(quote.text)}”")
        click.secho(f"      {where}", fg="cyan")
