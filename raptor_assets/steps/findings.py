"""``layer_k/findings``: the audit of a sample of the layer's summaries, and its check."""

from __future__ import annotations

from collections.abc import Sequence

from raptor_assets import keys
from raptor_assets.audits import findings_metadata
from raptor_assets.bench import Bench
from raptor_assets.report import read_findings
from raptor_assets.report_links import node_link
from raptor_assets.steps.base import Record, inputs_digest, recorded, save
from raptor_assets.versions import findings_version, nodes_version
from raptor_assets.work import Outcome, Work
from raptor_core.audit.report import Audit, AuditReport, run_audits
from raptor_core.money import AUDITS, Usage
from raptor_core.quality.hallucination import evaluate_audit
from raptor_core.tables import audit_to_table, known_findings


class FindingsStep:
    """Audits the summaries of all partitions at once; nothing is judged twice."""

    def __init__(self, layer: int) -> None:
        self.layer = layer
        self.key = keys.findings(layer)

    def run(self, bench: Bench, works: Sequence[Work]) -> list[Outcome]:
        """See ``Step.run``."""
        spent = bench.tools.ledger.spent(AUDITS)
        checks = bench.settings.checks
        records = [recorded(bench, self.key, work) for work in works]
        audits = [self._audit(bench, *pair) for pair in zip(works, records, strict=True)]
        reports = run_audits(audits, bench.tools.judge, checks.audit_rate, checks.audit_minimum)
        usage = bench.tools.ledger.spent(AUDITS) - spent
        shares = usage.shares([report.n_judged for report in reports])
        return [
            self._outcome(bench, *found)
            for found in zip(works, records, reports, shares, strict=True)
        ]

    def _audit(self, bench: Bench, work: Work, before: Record | None) -> Audit:
        table = bench.tables.read(self.key.path, work.name) if before else None
        return Audit(
            nodes=work.flat_nodes(bench, self.layer),
            below={node.id: node for node in work.flat_nodes(bench, self.layer - 1)},
            known={} if table is None else known_findings(table),
        )

    def _outcome(
        self, bench: Bench, work: Work, before: Record | None, report: AuditReport, usage: Usage
    ) -> Outcome:
        nodes = work.flat_nodes(bench, self.layer)
        work.audits[self.layer] = report
        work.audit_usage += usage
        work.charge(self.layer, usage)
        judge = f"{report.judge} {report.version}"
        inputs = inputs_digest(bench, self.key, nodes_version(nodes), judge)
        version = findings_version(report)
        if before is None or (before.data_version, before.inputs) != (version, inputs):
            save(bench, self.key, work, audit_to_table(report), version, inputs)
        verdicts = [evaluate_audit(report, bench.settings, nodes)]
        metadata = findings_metadata(report, usage, node_link(bench.settings, work.name))
        n_rows, reused = len(report.findings), report.n_judged == 0
        return Outcome(work, version, metadata, n_rows, reused, verdicts)

    @staticmethod
    def quarantined(bench: Bench, work: Work, max_layers: int) -> set[str]:
        """Ids of the partition's summaries that no search may find, as the settings say."""
        if bench.settings.audit.on_unsupported != "quarantine":
            return set()
        layers = work.summary_layers(bench, max_layers)
        found = read_findings(bench.tables, work.name, layers) or ()
        return {finding.node_id for finding in found if finding.judgement == "unsupported"}
