"""``tree_report``: one HTML page with the published trees of a partition."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import dagster as dg

from raptor_assets import keys, names
from raptor_assets.partition_state import PartitionState, StepResult
from raptor_assets.report import (
    TreeRecord,
    build_cost,
    merged_cost,
    next_record,
    read_findings,
    read_records,
    records_table,
)
from raptor_assets.report_pages import page_url
from raptor_assets.specs import TREES
from raptor_assets.steps.base import Step, inputs_digest
from raptor_core.audit.base import SentenceFinding
from raptor_core.nodes import Node
from raptor_core.report.data import settings_text
from raptor_core.report.page import page_version, render_report
from raptor_core.report.values import Report, ReportTree

Findings = tuple[SentenceFinding, ...] | None


class ReportStep(Step):
    """Step that writes the page of a partition whose trees, findings or settings changed."""

    def make(self, state: PartitionState) -> StepResult:
        """See ``Step.make``."""
        context = state.context
        layers = state.summary_layers
        curation = context.components.curation
        findings = read_findings(context.tables, state.name, layers, curation)
        settings = settings_text(context.settings)
        published = state.recorded(keys.of(names.TREE))
        version = published.data_version if published else ""
        shown = (version, repr(findings), settings, page_version())
        inputs = inputs_digest(context, self.key, *shown)
        path = context.reports.path(state.name)
        last = state.recorded(self.key)
        records = read_records(context.tables, state.name) if last else {}
        same = last is not None and last.inputs == inputs and path.exists()
        if not same:
            trees = self._trees(state)
            cost, earlier = build_cost(state), state.known_earlier_trees
            n_kept = context.settings.report.rebuilds
            for tree in trees:
                record, basis = records.get(tree.name), earlier.get(tree.name)
                records[tree.name] = next_record(tree, record, cost, basis, n_kept)
            records = {tree.name: records[tree.name] for tree in trees}
            report = Report(
                state.name,
                tuple(
                    replace(t, change=records[t.name].change, rebuilds=records[t.name].rebuilds)
                    for t in trees
                ),
                findings,
                settings,
                merged_cost(list(records.values())),
            )
            context.reports.write(state.name, render_report(report))
            state.save(self.key, records_table(records.values()), inputs, inputs)
        metadata = {
            **_numbers(list(records.values()), findings),
            "uri": path.absolute().as_uri(),
            "n_bytes": path.stat().st_size,
        }
        if (url := page_url(context.settings, state.name)) is not None:
            metadata["page"] = dg.MetadataValue.url(url)
        return StepResult(state, inputs, metadata, len(records), same)

    def _trees(self, state: PartitionState) -> list[ReportTree]:
        """Read the published trees from their tables, without vectors and without the store."""
        documents, nodes = state.documents, dict[str, list[Node]]()
        for layer in (0, *state.summary_layers):
            for tree, members in state.nodes(layer).items():
                nodes.setdefault(tree, []).extend(members)
        rows = TREES.rows(state.context.tables.read(names.TREE.split("/"), state.name))
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
    numbers = {
        "n_trees": len(records),
        "n_nodes": sum(len(record.node_ids) for record in records),
        "n_nodes_new": sum(len(record.change.added) for record in records),
        "n_nodes_gone": sum(record.change.n_removed for record in records),
    }
    if findings is not None:
        numbers["n_findings"] = len(findings)
        numbers["n_unsupported"] = sum(f.judgement == "unsupported" for f in findings)
    return numbers
