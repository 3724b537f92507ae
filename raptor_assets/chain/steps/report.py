"""``tree_report``: one HTML page with the published trees of a partition."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_assets.assets.schemas import TREES
from raptor_assets.chain.state import PartitionState, StepResult
from raptor_assets.chain.steps.base import Step, inputs_digest
from raptor_assets.shown.report_records import (
    TreeRecord,
    build_cost,
    merged_cost,
    next_record,
    read_findings,
    read_records,
    records_table,
)
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
        published = state.recorded(CHAIN_NAMES.tree)
        version = published.data_version if published else ""
        shown = (version, repr(findings), settings, page_version())
        inputs = inputs_digest(context, self.asset, *shown)
        path = context.reports.path(state.name)
        last = state.recorded(self.asset)
        records = read_records(context.tables, state.name) if last else {}
        same = last is not None and last.inputs == inputs and path.exists()
        if not same:
            trees = self._trees(state)
            n_audited = sum(report.n_judged for report in state.audits.values())
            cost = build_cost(state.costs, n_audited) if state.plans else None
            records = {t.name: next_record(t, records.get(t.name), cost) for t in trees}
            report = Report(
                state.name,
                tuple(replace(tree, change=records[tree.name].change) for tree in trees),
                findings,
                settings,
                merged_cost(list(records.values())),
            )
            context.reports.write(state.name, render_report(report))
            state.save(self.asset, records_table(records.values()), inputs, inputs)
        metadata = {
            **_numbers(list(records.values()), findings),
            "uri": path.absolute().as_uri(),
            "n_bytes": path.stat().st_size,
        }
        return StepResult(state, inputs, metadata, len(records), same)

    def _trees(self, state: PartitionState) -> list[ReportTree]:
        """Read the published trees from their tables, without vectors and without the store."""
        documents, nodes = state.documents, dict[str, list[Node]]()
        for layer in (0, *state.summary_layers):
            for tree, members in state.nodes(layer).items():
                nodes.setdefault(tree, []).extend(members)
        rows = TREES.rows(state.context.tables.read(CHAIN_NAMES.tree.path, state.name))
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
