"""`raptor tree`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from dagster_project.cli.options import home_and_json
from dagster_project.cli.output import PIPE_COLUMNS, node_values, print_json, shorten, told_usd
from raptor_assets.costs import read_usages
from raptor_assets.names import counted
from raptor_assets.project.home import Home
from raptor_core.documents import partition_key
from raptor_core.errors import UnknownTreeError
from raptor_core.home import HomeRetriever
from raptor_core.home.published import place_of, published, require_trees
from raptor_core.models.money.usage import Usage
from raptor_core.nodes import Node, told_pages
from raptor_core.quality.sizes import parent_counts
from raptor_core.retrieval import Trace, trace
from raptor_core.settings import Settings
from raptor_core.store.base import Where


@click.command(epilog="\b\nExample:\n  raptor tree guides/pumps.md --depth 2")
@click.argument("tree")
@click.option("--depth", type=click.IntRange(min=1), help="Layers to print, from the top.")
@click.option("--ids", is_flag=True, help="Show node ids, for tracing.")
@click.option("--trace", "traced", metavar="NODE", help="Show the source spans under one node.")
@home_and_json
def command(
    tree: str, depth: int | None, ids: bool, traced: str | None, home: Path, as_json: bool
) -> None:
    """Print a tree, from the top down to its chunks.

    A node under several summaries stands under each of them, and what is under it only once.
    """
    opened, settings = Home.open(home)
    place, own = place_of(opened, settings, tree)
    with published(place, own) as store:
        require_trees(store, (tree,))
        if traced:
            traced_to = trace(store, traced)
        else:
            manifest = store.manifests([tree])[0]
            nodes = store.nodes(Where(trees=(tree,)))
    if traced:
        if place.path != opened.path:  # down to the documents, not to the nodes below it
            traced_to = HomeRetriever(opened.path).trace(traced)
        _show_trace(traced_to, tree, _usage(Home(place.path), own, traced_to.node), as_json=as_json)
        return
    if as_json:
        print_json({**asdict(manifest), "nodes": [node_values(node) for node in nodes]})
        return
    sizes = " → ".join(str(size) for size in manifest.layer_sizes)
    title = f"{manifest.title}, " if manifest.title else ""
    click.secho(f"{tree}: {title}{sizes} nodes, {manifest.n_tokens:,} tokens", bold=True)
    click.secho(f"ended at layer {len(manifest.layer_sizes) - 1}: {manifest.end}", dim=True)
    if parents := parent_counts(nodes):
        several = sum(n > 1 for n in parents.values())
        click.secho(f"{several} of {len(parents)} nodes have several parents", dim=True)
    _print_tree(nodes, depth, ids)


def _print_tree(nodes: Sequence[Node], depth: int | None, ids: bool) -> None:
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree

    by_id = {node.id: node for node in nodes}
    top = max(node.layer for node in nodes)
    several = len({document for node in nodes for document in node.documents}) > 1
    root = Tree("", hide_root=True)
    stack = [(root, node) for node in reversed(nodes) if node.layer == top]
    shown: set[str] = set()
    while stack:
        branch, node = stack.pop()
        again = node.id in shown and bool(node.children)
        label = _label(node, ids=ids, several=several, again=again)
        child_branch = branch.add(Text(label, no_wrap=True, overflow="ellipsis"))
        if not again and (depth is None or top - node.layer + 1 < depth):
            shown.add(node.id)
            stack += [(child_branch, by_id[child]) for child in reversed(node.children)]
    width = None if Console().is_terminal else PIPE_COLUMNS
    Console(width=width, highlight=False).print(root)


def _label(node: Node, *, ids: bool, several: bool, again: bool) -> str:
    """One line: what it is, its size, its id, its beginning; cut to the terminal by rich."""
    what = f"layer {node.layer}"
    if node.stands_for:
        what = f"the top of {node.documents[0]}"
    elif node.is_leaf:
        what = f"{node.documents[0] if several else ''}[{node.start}:{node.end}]"
    name = f" {node.id}" if ids else ""
    text = "(its children stand above)" if again else shorten(node.text)
    titled = node.stands_for or (several and node.is_leaf)
    about = node.name or (str(node.metadata.get("title", "")) if titled else "")
    about = f" {about}:" if about else ""
    return f"{what}{name}{about} ({node.n_tokens} tokens) {text}"


def _usage(home: Home, settings: Settings, node: Node) -> Usage | None:
    """What a summary was paid for; None where that is not known or it took nothing."""
    if node.is_leaf:
        return None
    tables = home.table_store(settings)
    partition = partition_key(node.tree, settings.grouping)
    return read_usages(tables, partition, [node.layer]).get(node.content_key)


def _show_trace(origin: Trace, tree: str, usage: Usage | None, *, as_json: bool) -> None:

    node = origin.node
    if node.tree != tree:
        raise UnknownTreeError(f"node {node.id} is of tree {node.tree!r}, not of {tree!r}")
    if as_json:
        spans = [asdict(span) for span in origin.spans]
        cost = None if usage is None else asdict(usage)
        values = {"node": node.id, "layer": node.layer, "text": node.text, "cost": cost}
        print_json({**values, "spans": spans})
        return
    click.secho(f"{node.id} layer {node.layer} of {node.tree}", bold=True)
    if usage is not None:
        click.secho(f"it took {_told_usage(usage)}", dim=True)
    click.echo(shorten(node.text, 2000))
    for span in origin.spans:
        place = f"{span.document}[{span.start}:{span.end}]{told_pages(span.pages)}"
        click.secho(f"  {place} {span.title}".rstrip(), fg="cyan")
        click.echo(f"    {shorten(span.text)}")


def _told_usage(usage: Usage) -> str:
    """In words, such as "1 call, 0 retries, 420 tokens read, 60 written, 0.0001 USD"."""
    calls = f"{counted(usage.calls, 'call')}, {counted(usage.retries, 'retry', 'retries')}"
    tokens = f"{usage.prompt_tokens:,} tokens read, {usage.completion_tokens:,} written"
    return f"{calls}, {tokens}, {told_usd(usage.usd)}"
