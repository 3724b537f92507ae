"""Views of a tree: `raptor tree` and `raptor report`."""

import shlex
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from raptor_assets.cli.options import home_and_json
from raptor_assets.cli.output import node_values, print_json, print_wide
from raptor_assets.serving.values import TraceResponse
from raptor_assets.shown.markdown import shorten
from raptor_assets.shown.terminal import say
from raptor_core.checks.sizes import count_parents
from raptor_core.disk import replace_file, translate_disk_errors
from raptor_core.errors import UnknownTreeError
from raptor_core.home import HomeRetriever
from raptor_core.home.published import require_trees
from raptor_core.identity import safe_name
from raptor_core.nodes import Node, format_label, format_pages
from raptor_core.redaction import escape_control_characters
from raptor_core.report.page import render_report
from raptor_core.retrieval import Trace
from raptor_core.settings import SourceSettings
from raptor_core.store.base import Where


@click.command(epilog="\b\nExample:\n  raptor tree guides/pumps.md --depth 2")
@click.argument("tree")
@click.option(
    "--depth", type=click.IntRange(min=1), help="Number of layers to print, from the top."
)
@click.option("--ids", is_flag=True, help="Show the ids of nodes.")
@click.option("--trace", "traced", metavar="NODE", help="Show the passages below a node.")
@home_and_json
def tree_command(
    tree: str, depth: int | None, ids: bool, traced: str | None, home: Path, as_json: bool
) -> None:
    """Print a tree, from its top layer to its chunks.

    A node with several parents is printed below each parent, but its children are printed once.
    """
    retriever = HomeRetriever(home, is_operator=True)
    if traced:
        retriever.call_with_home(
            tree, lambda _home, _settings, store: require_trees(store, (tree,))
        )
        origin = retriever.trace(traced)
        _print_trace(origin, tree, retriever.settings.source, as_json=as_json)
        return
    manifest, nodes = retriever.call_with_home(
        tree,
        lambda _home, _settings, store: (
            require_trees(store, (tree,))[0],
            store.nodes(Where(trees=(tree,))),
        ),
    )
    if as_json:
        print_json({**asdict(manifest), "nodes": [node_values(node) for node in nodes]})
        return
    sizes = " → ".join(str(size) for size in manifest.layer_sizes)
    named = format_label(manifest.title, tree)
    say(f"{named}: {sizes} nodes, {manifest.n_tokens:,} tokens", bold=True)
    say(f"layer {len(manifest.layer_sizes) - 1} is the top layer: {manifest.end}", dim=True)
    if manifest.pin:
        say(f"pinned to an earlier build: {manifest.pin}", fg="yellow")
    if parents := count_parents(nodes):
        several = sum(n > 1 for n in parents.values())
        say(f"{several} of {len(parents)} nodes have several parents", dim=True)
    _print_tree(nodes, depth, ids)


def _print_tree(nodes: Sequence[Node], depth: int | None, ids: bool) -> None:
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
        label = _describe_node(node, ids=ids, several=several, again=again)
        child_branch = branch.add(Text(label, no_wrap=True, overflow="ellipsis"))
        if not again and (depth is None or top - node.layer + 1 < depth):
            shown.add(node.id)
            stack += [(child_branch, by_id[child]) for child in reversed(node.children)]
    print_wide(root)


def _describe_node(node: Node, *, ids: bool, several: bool, again: bool) -> str:
    """Describe a node in one line: title, place, id, size and the beginning of its text."""
    place = f"layer {node.layer}"
    if node.copied_node_id:
        place = f"the top of {node.documents[0]}"
    elif node.is_leaf:
        place = f"{node.documents[0] if several else ''}[{node.start}:{node.end}]"
    name = f" {node.id}" if ids else ""
    text = "(its children are above)" if again else shorten(node.text)
    titled = node.copied_node_id or (several and node.is_leaf)
    about = node.name or (str(node.metadata.get("title", "")) if titled else "")
    place = format_label(about, f"{place}{name}")
    return escape_control_characters(f"{place} ({node.n_tokens} tokens) {text}", lines=False)


def _print_trace(origin: Trace, tree: str, source: SourceSettings, *, as_json: bool) -> None:
    node = origin.node
    if node.tree != tree:
        raise UnknownTreeError(f"node {node.id} is of tree {node.tree!r}, not of {tree!r}")
    if as_json:
        print_json(TraceResponse.of(origin, 0, len(origin.spans), source))
        return
    say(format_label(node.label, f"{node.id}, layer {node.layer} of {node.tree}"), bold=True)
    say(shorten(node.text, 2000))
    for span in origin.spans:
        place = f"{span.document}[{span.start}:{span.end}]{format_pages(span.pages)}"
        say(f"  {format_label(span.title, place)}", fg="cyan")
        say(f"    {shorten(span.text)}")


@click.command(epilog="\b\nExample:\n  raptor report guides/pumps.md --output pumps.html --no-open")
@click.argument("tree")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write; by default a file in the current folder, named like the tree.",
)
@click.option("--node", metavar="NODE", help="Open the page at this node.")
@click.option("--no-open", is_flag=True, help="Write the page without opening a browser.")
@home_and_json
def report_command(
    tree: str,
    output: Path | None,
    node: str | None,
    no_open: bool,
    *,
    home: Path,
    as_json: bool,
) -> None:
    """Show a published tree as one HTML page that needs no network.

    In a terminal, the command also opens a browser. With --node, the printed address opens the page
    at this node.
    """
    from raptor_assets.serving.window import call_on_corpus_of, read_report

    retriever = HomeRetriever(home, is_operator=True)
    report = call_on_corpus_of(retriever, tree, partial(read_report, tree=tree, with_map=True))
    shown = {shown.id for tree in report.trees for shown in tree.nodes}
    if node is not None and node not in shown:
        raise UnknownTreeError(
            f"the published tree {report.name!r} has no node {node}; "
            f"raptor tree {shlex.quote(report.name)} --ids lists its nodes"
        )
    path = _write_page(output, tree, render_report(report))
    url = path.as_uri() if node is None else f"{path.as_uri()}#node={node}"
    findings = report.findings
    n_findings = None if findings is None else sum(item.node_id in shown for item in findings)
    values = {"tree": tree, "n_findings": n_findings}
    _print_and_open_page(path, url, values, as_json=as_json, no_open=no_open)


def _print_and_open_page(
    path: Path, url: str, values: dict[str, Any], *, as_json: bool, no_open: bool
) -> None:
    """Print the address of a page, and open it if a person sees the output."""
    if as_json:
        print_json({**values, "path": str(path), "url": url, "n_bytes": path.stat().st_size})
    else:
        say(url if "#" in url else str(path))
    if is_at_terminal() and not (no_open or as_json):
        webbrowser.open(url)


def _write_page(output: Path | None, name: str, page: str) -> Path:
    """Replace a file by a page atomically; create missing folders."""
    path = (output or Path(f"{safe_name(name)}.html")).absolute()
    with translate_disk_errors(path):
        replace_file(path, page.encode())
    return path


def is_at_terminal() -> bool:
    """Return whether a person sees the output."""
    return sys.stdout.isatty()
