"""``tree_report``: one HTML page that shows the published trees of a partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import dagster as dg

from raptor_assets import keys
from raptor_assets.bench import Bench
from raptor_assets.columns import TREES
from raptor_assets.costs import node_usages, read_usages
from raptor_assets.report import (
    TreeRecord,
    build_cost,
    merged_cost,
    next_record,
    read_findings,
    read_records,
    records_table,
)
from raptor_assets.report_links import page_url
from raptor_assets.steps.base import inputs_digest, recorded, save
from raptor_assets.work import Outcome, Work
from raptor_core.audit.base import SentenceFinding
from raptor_core.errors import RaptorError
from raptor_core.nodes import Node
from raptor_core.report import Report, ReportTree, page_version, render_report, settings_text

Findings = tuple[SentenceFinding, ...] | None


class ReportStep:
    """Writes the page of every partition whose trees, findings or settings have changed."""

    key = keys.REPORT

    def __init__(self, max_layers: int) -> None:
        self.max_layers = max_layers

    def run(self, bench: Bench, works: Sequence[Work]) -> list[Outcome]:
        """See ``Step.run``."""
        outcomes = []
        for work in works:
            try:
                outcomes.append(self._report(bench, work))
            except RaptorError as error:
                work.fail(self.key, error)
        return outcomes

    def _report(self, bench: Bench, work: Work) -> Outcome:
        layers = work.summary_layers(bench, self.max_layers)
        findings = read_findings(bench.tables, work.name, layers)
        settings = settings_text(bench.settings)
        published = recorded(bench, keys.TREE, work)
        version = published.data_version if published else ""
        shown = (version, repr(findings), settings, page_version())
        inputs = inputs_digest(bench, self.key, *shown)
        path = bench.reports.path(work.name)
        found = recorded(bench, self.key, work)
        records = read_records(bench.tables, work.name) if found else {}
        same = found is not None and found.inputs == inputs and path.exists()
        if not same:
            trees = self._trees(bench, work)
            paid = read_usages(bench.tables, work.name, layers)
            cost = build_cost(work)
            made = [next_record(tree, records.get(tree.name), cost) for tree in trees]
            records = {record.tree: record for record in made}
            shown_trees = [replace(t, change=records[t.name].change) for t in trees]
            report = Report(
                work.name,
                tuple(shown_trees),
                findings,
                settings,
                merged_cost(made),
                node_usages((node for tree in trees for node in tree.nodes), paid),
            )
            bench.reports.write(work.name, render_report(report))
            save(bench, self.key, work, records_table(made), inputs, inputs)
        metadata = {
            **_numbers(list(records.values()), findings),
            "path": dg.MetadataValue.path(str(path)),
            "n_bytes": path.stat().st_size,
        }
        if (url := page_url(bench.settings, work.name)) is not None:
            metadata["page"] = dg.MetadataValue.url(url)
        return Outcome(work, inputs, metadata, len(records), same)

    def _trees(self, bench: Bench, work: Work) -> list[ReportTree]:
        """The published trees, from their tables: neither vectors nor the store are needed."""
        documents = work.documents(bench)
        nodes: dict[str, list[Node]] = {}
        for layer in range(self.max_layers + 1):
            for tree, members in work.nodes(bench, layer).items():
                nodes.setdefault(tree, []).extend(members)
        rows = TREES.rows(bench.tables.read(keys.TREE.path, work.name))
        return [
            ReportTree(
                name=tree,
                build_id=build_id,
                published_at=published_at,
                ended=ended,
                nodes=tuple(nodes[tree]),
                documents=documents.get(tree, ()),
            )
            for tree, build_id, _, _, _, ended, published_at in rows
        ]


def _numbers(records: Sequence[TreeRecord], findings: Findings) -> dict[str, Any]:
    found = {
        "n_trees": len(records),
        "n_nodes": sum(len(record.node_ids) for record in records),
        "n_nodes_new": sum(len(record.change.added) for record in records),
        "n_nodes_gone": sum(record.change.n_removed for record in records),
    }
    if findings is not None:
        found["n_findings"] = len(findings)
        found["n_unsupported"] = sum(f.judgement == "unsupported" for f in findings)
    return found
