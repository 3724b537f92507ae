"""``layer_k/findings``: the audit of a sample of the layer's summaries, and its check."""

from __future__ import annotations

from collections.abc import Sequence

from raptor_assets import keys
from raptor_assets.metadata import findings_metadata
from raptor_assets.partition_state import PartitionState, Record, StepResult
from raptor_assets.report import read_findings
from raptor_assets.report_pages import node_link
from raptor_assets.run_context import RunContext
from raptor_assets.steps.base import inputs_digest
from raptor_assets.versions import findings_version, nodes_version
from raptor_core.audit.report import Audit, AuditReport, run_audits
from raptor_core.models.money.usage import AUDITS, Usage
from raptor_core.quality.checks import Verdict
from raptor_core.quality.hallucination import evaluate_audit
from raptor_core.tables.values import audit_to_table, known_findings


class FindingsStep:
    """Audits the summaries of all partitions at once; nothing is judged twice."""

    def __init__(self, layer: int) -> None:
        self.layer = layer
        self.key = keys.findings(layer)

    def run(self, context: RunContext, states: Sequence[PartitionState]) -> list[StepResult]:
        """See ``Step.run``."""
        spent = context.components.ledger.spent(AUDITS)
        records = [state.recorded(self.key) for state in states]
        audits = [self._audit(*pair) for pair in zip(states, records, strict=True)]
        reports = _run(audits, context)
        usage = context.components.ledger.spent(AUDITS) - spent
        shares = usage.shares([report.n_judged for report in reports])
        return [
            self._result(*parts) for parts in zip(states, records, reports, shares, strict=True)
        ]

    def check(self, state: PartitionState) -> list[Verdict]:
        """See ``CheckedStep.check``; what no run has judged yet is judged, and not kept."""
        context = state.context
        audit = self._audit(state, state.recorded(self.key))
        (report,) = _run([audit], context)
        shown = report.marked(context.components.curation)
        return [evaluate_audit(shown, context.settings, audit.nodes)]

    def _audit(self, state: PartitionState, before: Record | None) -> Audit:
        table = state.context.tables.read(self.key.path, state.name) if before else None
        return Audit(
            nodes=state.flat_nodes(self.layer),
            below={node.id: node for node in state.flat_nodes(self.layer - 1)},
            known={} if table is None else known_findings(table),
        )

    def _result(
        self, state: PartitionState, before: Record | None, report: AuditReport, usage: Usage
    ) -> StepResult:
        context, nodes = state.context, state.flat_nodes(self.layer)
        shown = report.marked(context.components.curation)
        state.audits[self.layer] = shown
        state.audit_usage += usage
        state.charge(self.layer, usage)
        judge = f"{report.judge} {report.version}"
        inputs = inputs_digest(context, self.key, nodes_version(nodes), judge)
        version = findings_version(report)
        state.put_audited(self.layer, version)
        if before is None or (before.data_version, before.inputs) != (version, inputs):
            state.save(self.key, audit_to_table(report), version, inputs)
        verdicts = [evaluate_audit(shown, context.settings, nodes)]
        metadata = findings_metadata(shown, usage, node_link(context.settings, state.name))
        n_rows, reused = len(shown.findings), report.n_judged == 0
        return StepResult(state, version, metadata, n_rows, reused, verdicts)


def _run(audits: Sequence[Audit], context: RunContext) -> list[AuditReport]:
    checks = context.settings.checks
    return run_audits(audits, context.components.judge, checks.audit_rate, checks.audit_minimum)


def quarantined(state: PartitionState, max_layers: int) -> set[str]:
    """Ids of the partition's summaries that no search may find, as the settings say."""
    context = state.context
    if context.settings.audit.on_unsupported != "quarantine":
        return set()
    layers = state.summary_layers(max_layers)
    curation = context.components.curation
    findings = read_findings(context.tables, state.name, layers, curation) or ()
    return {finding.node_id for finding in findings if finding.judgement == "unsupported"}
