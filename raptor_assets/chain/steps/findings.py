"""``layer_k/findings``: the audit of a sample of a layer's summaries."""

from collections.abc import Sequence

from raptor_assets.assets.versions import findings_version, nodes_version
from raptor_assets.chain.context import RunContext
from raptor_assets.chain.state import PartitionState, StepResult, TableRecord
from raptor_assets.chain.steps.base import Step, inputs_digest
from raptor_assets.shown.metadata import findings_metadata
from raptor_core.audit.report import AuditReport, LayerToAudit, run_audits
from raptor_core.checks.base import CheckResult, apply_severities
from raptor_core.checks.hallucination import evaluate_audit
from raptor_core.models.money.usage import AUDITS, Usage
from raptor_core.nodes import leaf_texts_by_node
from raptor_core.tables.values import audit_to_table, findings_by_audit_key


class FindingsStep(Step):
    """Step that audits the summaries of all partitions together; no summary is judged twice."""

    def run(self, context: RunContext, states: Sequence[PartitionState]) -> list[StepResult]:
        """See ``Step.run``."""
        spent = context.components.ledger.spent(AUDITS)
        records = [state.read_record(self.asset) for state in states]
        audits = [self._make_audit(*pair) for pair in zip(states, records, strict=True)]
        reports = _run_audits(audits, context)
        usage = context.components.ledger.spent(AUDITS) - spent
        shares = usage.divide_by_weights([report.n_judged for report in reports])
        return [
            self._to_result(*parts) for parts in zip(states, records, reports, shares, strict=True)
        ]

    def _run_checks(self, state: PartitionState) -> list[CheckResult]:
        """See ``Step._run_checks``; missing findings are made for the check, and not kept."""
        context = state.context
        (report,) = _run_audits([self._make_audit(state, state.read_record(self.asset))], context)
        return [
            evaluate_audit(report.with_decisions(context.components.curation), context.settings)
        ]

    def _make_audit(self, state: PartitionState, record: TableRecord | None) -> LayerToAudit:
        table = state.context.tables.read(self.asset.table_path, state.name) if record else None
        nodes, leaves = state.flat_nodes(self.layer), {}
        if self.layer > 1 and not state.context.components.is_extractive:
            leaves = leaf_texts_by_node(
                nodes, [state.flat_nodes(number) for number in range(self.layer)]
            )
        return LayerToAudit(
            nodes=nodes,
            nodes_below=state.nodes_by_id(self.layer - 1),
            earlier_findings={} if table is None else findings_by_audit_key(table),
            leaf_texts=leaves,
        )

    def _to_result(
        self, state: PartitionState, record: TableRecord | None, report: AuditReport, usage: Usage
    ) -> StepResult:
        context, nodes = state.context, state.flat_nodes(self.layer)
        marked = report.with_decisions(context.components.curation)
        state.audits[self.layer] = marked
        state.costs.audit_usage += usage
        judge = f"{report.judge} {report.version}"
        inputs = inputs_digest(context, self.asset, nodes_version(nodes), judge)
        version = findings_version(report)
        if record is None or (record.data_version, record.inputs) != (version, inputs):
            state.save_table(self.asset, audit_to_table(report), version, inputs)
        verdict = evaluate_audit(marked, context.settings)
        verdicts = apply_severities([verdict], context.settings.checks)
        metadata = findings_metadata(marked, usage)
        n_rows, reused = len(marked.findings), report.n_judged == 0
        return StepResult(state, version, metadata, n_rows, reused, verdicts)


def _run_audits(audits: Sequence[LayerToAudit], context: RunContext) -> list[AuditReport]:
    checks = context.settings.checks
    return run_audits(audits, context.components.judge, checks.audit_rate, checks.audit_minimum)
