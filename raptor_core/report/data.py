"""Conversion of a report to plain values for the page's script.

Keys are short, because every node repeats them. Read ``web/model.js`` next, which uses them.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from raptor_core.audit.base import SentenceFinding
from raptor_core.checks.sizes import PAPER_CHILDREN, PAPER_RATIO, compression_ratios, count_parents
from raptor_core.documents.base import Document
from raptor_core.identity import FALLBACK, KEPT_MARKS
from raptor_core.nodes import Node, group_nodes
from raptor_core.redaction import hide_credentials
from raptor_core.report.layout import map_column_values, tree_titles
from raptor_core.report.values import Figure, RebuildChange, Report, ReportTree
from raptor_core.settings import Settings

Values = dict[str, Any]


def layer_statistics(nodes: Sequence[Node]) -> list[Values]:
    """Return the statistics of each layer, from the leaves up.

    Mean children and mean compression (ratio of a summary's tokens to those of its children) are
    None for the leaves. Mean parents, above 1 with soft assignment, are None for the top layer.
    """
    by_id, parents = {node.id: node for node in nodes}, count_parents(nodes)
    values = []
    for layer, members in sorted(group_nodes(nodes, lambda node: node.layer).items()):
        n = len(members)
        ratios = [ratio for _, ratio in compression_ratios(members, by_id)] if layer else []
        row = {
            "layer": layer,
            "nodes": n,
            "tokens": sum(node.n_tokens for node in members),
            "children": sum(len(node.children) for node in members) / n if layer else None,
            "compression": sum(ratios) / len(ratios) if ratios else None,
            "parents": sum(parents[node.id] for node in members) / n or None,
        }
        values.append(row)
    return values


def reassemble_documents(nodes: Iterable[Node]) -> tuple[Document, ...]:
    """Rebuild the documents of published leaves, with the text of each leaf at its offset.

    A gap between two leaves is filled with white space, or "…" if chunks omit some of its text.
    """
    leaves = group_nodes((node for node in nodes if node.is_leaf), lambda leaf: leaf.documents[0])
    return tuple(
        Document(name, _join_leaf_texts(members), title=str(members[0].metadata.get("title", "")))
        for name, members in leaves.items()
    )


def _join_leaf_texts(leaves: Sequence[Node]) -> str:
    text, paragraph = "", -1
    for leaf in sorted(leaves, key=lambda leaf: leaf.start):
        gap, paragraphs = leaf.start - len(text), [start for start, _ in leaf.paragraphs]
        space = " " if paragraphs and paragraphs[0] == paragraph else "\n"
        text += _gap_filler(gap, space) + leaf.text[max(0, -gap) :]
        paragraph = paragraphs[-1] if paragraphs else -1
    return text


def _gap_filler(n_chars: int, space: str) -> str:
    """Return a text of ``n_chars`` to fill a gap between two leaves."""
    return f"\n\n…{'':{n_chars - 5}}\n\n" if n_chars > 8 else space * n_chars


def published_findings(
    findings: Iterable[SentenceFinding], nodes: Iterable[Node]
) -> tuple[SentenceFinding, ...]:
    """Return the findings whose sentence and evidence are in these nodes.

    Nodes of different builds may have the same id and different texts.
    """
    texts = {node.id: node.text for node in nodes}

    def is_published(finding: SentenceFinding) -> bool:
        evidence = texts.get(finding.evidence_child or "", "")
        return finding.sentence in texts.get(finding.node_id, "") and finding.evidence in evidence

    return tuple(filter(is_published, findings))


def utf16_offsets(text: str, places: Collection[int]) -> dict[int, int]:
    """Convert character offsets in ``text`` to UTF-16 offsets, by character offset.

    JavaScript counts UTF-16 units, of which an emoji or a rare Chinese character has two.
    """
    offsets: dict[int, int] = {}
    at = units = 0
    for place in sorted(places):
        units += len(text[at:place].encode("utf-16-le", "surrogatepass")) // 2
        offsets[place], at = units, place
    return offsets


def report_values(report: Report) -> Values:
    """Return the report as JSON values; nodes and documents refer to each other by index."""
    documents = _document_values(report.trees)
    places = {document["id"]: place for place, document in enumerate(documents)}
    nodes = [node for tree in report.trees for node in tree.nodes]
    indexes = {node.id: index for index, node in enumerate(nodes)}
    titles = tree_titles(nodes)
    shown: list[Values] = []
    for number, tree in enumerate(report.trees):
        shown += _node_values(number, tree, indexes, places, report.link_of)
    return {
        "name": report.name,
        "paper": {"children": PAPER_CHILDREN, "compression": PAPER_RATIO},
        "trees": [_tree_values(tree, titles) for tree in report.trees],
        "documents": documents,
        "nodes": shown,
        "findings": _finding_values(report, indexes),
        "settings": report.settings,
        "cost": _cost_values(report.cost),
        "atlas": None if report.points is None else map_column_values(nodes, report.points, titles),
    }


def _cost_values(cost: Mapping[str, Figure] | None) -> list[tuple[str, Figure]] | None:
    return None if cost is None else list(cost.items())


def _tree_values(tree: ReportTree, titles: Mapping[str, str]) -> Values:
    return {
        "name": tree.name,
        "title": titles.get(tree.name, ""),
        "build": tree.build_id,
        "published": tree.published_at,
        "ended": tree.ended,
        "layers": layer_statistics(tree.nodes),
        "change": _change_values(tree.change),
    }


def _change_values(change: RebuildChange | None) -> Values | None:
    if change is None:
        return None
    return {"previous": change.previous, "added": len(change.added), "removed": change.n_removed}


def _document_values(trees: Sequence[ReportTree]) -> list[Values]:
    """Return the documents of the leaves, with their texts ("x") if the report has them."""
    documents: dict[str, Values] = {}
    for tree in trees:
        for node in tree.nodes:
            if node.is_leaf:
                source = {"id": node.documents[0], "source": node.source}
                documents.setdefault(node.documents[0], source)
        for document in tree.documents:
            if document.id in documents:
                documents[document.id] |= {"title": document.title, "x": document.text}
    return list(documents.values())


def _node_values(
    number: int,
    tree: ReportTree,
    indexes: Mapping[str, int],
    places: Mapping[str, int],
    link_of: Callable[[Node], str],
) -> Iterator[Values]:
    """Yield the values of each node of a tree.

    All nodes: "t" number of the tree, "l" layer, "n" tokens, "x" text; "w" is 1 for a new node.
    Summaries: "c" children, "m" name (of a leaf of the corpus tree, its title), "f" mark of one
    that the model did not write completely. Leaves: "d" document, "a" its address, "o" span, "h"
    section, "p" first and last page, and the offsets "s" and "e" in the document instead of "x" if
    the document's text is in the report.
    """
    spans = _utf16_leaf_offsets(tree)
    added = set(tree.change.added) if tree.change else set()
    for node in tree.nodes:
        values: Values = {"id": node.id, "t": number, "l": node.layer, "n": node.n_tokens}
        if node.id in added:
            values["w"] = 1
        values |= _mark_values(node)
        if name := str(node.metadata.get("title", "")) if node.copied_node_id else node.name:
            values["m"] = name
        if node.is_leaf:
            values |= {"d": places[node.documents[0]], "o": [node.start, node.end]}
            if link := link_of(node):
                values["a"] = link
            if node.pages:
                values["p"] = list(range(node.pages[0], node.pages[-1] + 1))
            if node.section:
                values["h"] = list(node.section)
        if node.id in spans:
            values["s"], values["e"] = spans[node.id]
        else:
            values["x"] = node.text
        if not node.is_leaf:
            values["c"] = [indexes[child] for child in node.children if child in indexes]
        yield values


def _mark_values(node: Node) -> Values:
    return next(({"f": mark} for mark in (FALLBACK, *KEPT_MARKS) if mark in node.quality), {})


def _utf16_leaf_offsets(tree: ReportTree) -> dict[str, tuple[int, int]]:
    """Return the UTF-16 offsets of leaves in their documents, for leaves that agree with these."""
    documents = {document.id: document for document in tree.documents}
    leaves: dict[str, list[Node]] = {}
    for node in tree.nodes:
        document = documents.get(node.documents[0]) if node.is_leaf else None
        if document and document.text[node.start : node.end] == node.text:
            leaves.setdefault(node.documents[0], []).append(node)
    spans: dict[str, tuple[int, int]] = {}
    for name, members in leaves.items():
        ends = {place for leaf in members for place in (leaf.start, leaf.end)}
        places = utf16_offsets(documents[name].text, ends)
        spans |= {leaf.id: (places[leaf.start], places[leaf.end]) for leaf in members}
    return spans


def _finding_values(report: Report, indexes: Mapping[str, int]) -> list[Values] | None:
    if report.findings is None:
        return None
    return [
        {
            "node": indexes[finding.node_id],
            "sentence": finding.sentence,
            "judgement": finding.judgement,
            "score": round(finding.score, 3),
            "missing": list(finding.missing),
            "child": indexes.get(finding.evidence_child or "", -1),
            "passage": finding.evidence,
            "reason": finding.reason,
        }
        for finding in report.findings
        if finding.node_id in indexes
    ]


SHOWN = ("grouping", "chunking", "tokens", "embedder", "clustering", "summarizer", "tree")
"""Sections of the settings that change the content of a tree; none contains a secret."""


def settings_text(settings: Settings) -> str:
    """Format the sections ``SHOWN`` as TOML; ``***`` replaces credentials in a URL."""
    lines: list[str] = []
    for part in SHOWN:
        values = getattr(settings, part).model_dump(mode="json", exclude_none=True)
        lines += ["", f"[{part}]"]
        for name, value in values.items():
            text = json.dumps(value, ensure_ascii=False)
            lines.append(f"{name} = {hide_credentials(text)}")
    return "\n".join(lines[1:])
