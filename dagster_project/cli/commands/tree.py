"""`raptor tree`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from dagster_project.cli.options import home_and_json
from raptor_core.tree.values import Node


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

    A node under several summaries stands under each of them.
    """
    from dagster_project.cli.output import print_json
    from dagster_project.cli.session import open_home, published, require_trees
    from raptor_core.retrieval import trace
    from raptor_core.store.base import Where

    opened, settings = open_home(home)
    with published(opened, settings) as store:
        require_trees(store, (tree,))
        if traced:
            found = trace(store, traced)
            values = [asdict(span) for span in found.spans]
            if as_json:
                print_json({"node": found.node.id, "text": found.node.text, "spans": values})
            else:
                _print_spans(found.node, values)
            return
        manifest = store.manifests([tree])[0]
        nodes = store.nodes(Where(trees=(tree,)))
    if as_json:
        print_json({**asdict(manifest), "nodes": [asdict(node) for node in nodes]})
        return
    sizes = " → ".join(str(size) for size in manifest.layer_sizes)
    click.secho(
        f"{tree}: {sizes} nodes, {manifest.n_tokens} tokens; ends: {manifest.end}", bold=True
    )
    _print_tree(nodes, depth, ids)


def _print_tree(nodes: Sequence[Node], depth: int | None, ids: bool) -> None:
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree

    by_id = {node.id: node for node in nodes}
    top = max(node.layer for node in nodes)
    root = Tree("", hide_root=True)
    stack = [(root, node) for node in reversed(nodes) if node.layer == top]
    while stack:
        branch, node = stack.pop()
        child_branch = branch.add(Text(_label(node, ids)))
        if depth is None or top - node.layer + 1 < depth:
            stack += [(child_branch, by_id[child]) for child in reversed(node.children)]
    Console().print(root)


def _label(node: Node, ids: bool) -> str:
    from dagster_project.cli.output import shorten

    place = (
        f"{node.documents[0]}[{node.start}:{node.end}]" if node.is_leaf else f"layer {node.layer}"
    )
    name = f" {node.id}" if ids else ""
    return f"{place}{name} ({node.n_tokens} tokens) {shorten(node.text, 120)}"


def _print_spans(node: Node, spans: Sequence[Mapping[str, object]]) -> None:
    from dagster_project.cli.output import shorten

    click.secho(f"{node.id} layer {node.layer} of {node.tree}", bold=True)
    click.echo(shorten(node.text, 2000))
    for span in spans:
        click.secho(f"  {span['document']}[{span['start']}:{span['end']}]", fg="cyan")
        click.echo(f"    {shorten(str(span['text']))}")
