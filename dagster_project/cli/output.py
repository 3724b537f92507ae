"""What commands print: JSON for machines, short text for people."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from raptor_core.retrieval import Retrieval
from raptor_core.store.base import Hit

TEXT_CHARS = 300


def print_json(value: Any) -> None:
    """One JSON value, indented."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def shorten(text: str, chars: int = TEXT_CHARS) -> str:
    """One line of at most ``chars`` characters, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= chars:
        return line
    return line[:chars].rsplit(" ", 1)[0] + " …"


def hit_values(hit: Hit) -> dict[str, Any]:
    """A hit as plain values: the node's fields and the score."""
    values = asdict(hit.node)
    for internal in ("content_key", "embedding_key", "fingerprint", "context"):
        del values[internal]
    return {"score": round(hit.score, 4), **values}


def retrieval_values(found: Retrieval) -> dict[str, Any]:
    """A retrieval as plain values."""
    return {
        "question": found.question,
        "strategy": found.query.strategy,
        "budget_tokens": found.query.budget_tokens,
        "n_tokens": found.n_tokens,
        "n_candidates": found.n_candidates,
        "n_passed_over": found.n_passed_over,
        "nodes": [hit_values(hit) for hit in found.hits],
    }


def place(hit: Hit) -> str:
    """Where a node comes from, in one line."""
    node = hit.node
    if node.is_leaf:
        path = " > ".join(node.section)
        where = f"{node.documents[0]}[{node.start}:{node.end}]"
        return f"{where} {path}" if path else where
    names = ", ".join(node.documents[:3])
    more = f" and {len(node.documents) - 3} more" if len(node.documents) > 3 else ""
    return f"summary of {len(node.children)} nodes of {names}{more}"


def print_hits(found: Retrieval) -> None:
    """The hits of a retrieval, readable."""
    for rank, hit in enumerate(found.hits, 1):
        kind = "chunk" if hit.node.is_leaf else f"layer {hit.node.layer}"
        click.secho(f"{rank:>2}. {hit.score:.3f}  {kind:<8} {place(hit)}", fg="cyan")
        click.secho(f"    {hit.node.id}", dim=True)
        click.echo(f"    {shorten(hit.node.text)}")
    click.secho(
        f"{len(found.hits)} nodes, {found.n_tokens} of {found.query.budget_tokens} tokens",
        dim=True,
    )
