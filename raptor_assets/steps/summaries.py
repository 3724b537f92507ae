"""``layer_k/summaries`` and ``layer_k/findings``: a summary for each cluster, a sample audited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from raptor_assets.cost_metadata import paid_metadata
from raptor_assets.costs import add_usages, is_metered, keep_usages, read_usages
from raptor_assets.metadata import findings_metadata, summaries_metadata
from raptor_assets.names import listed
from raptor_assets.partition_state import PartitionState, Record, StepResult
from raptor_assets.report import read_findings
from raptor_assets.report_pages import node_link
from raptor_assets.run_context import KnownStore, RunContext
from raptor_assets.steps.base import Step, inputs_digest
from raptor_assets.versions import clusters_version, findings_version, nodes_version
from raptor_core.audit.report import Audit, AuditReport, run_audits
from raptor_core.errors import SummaryError
from raptor_core.models.money.usage import AUDITS, Usage
from raptor_core.models.summarizing.base import FailedSummary, remedy_of
from raptor_core.nodes import Node
from raptor_core.quality.checks import CheckedLayer, CheckResult
from raptor_core.quality.hallucination import evaluate_audit
from raptor_core.quality.registry import check_layer, layer_means
from raptor_core.tables.values import audit_to_table, known_findings, nodes_to_table
from raptor_core.tree.naming import name_summaries
from raptor_core.tree.summarize import Summarized, summarize_clusters

NAMED_FAILURES = 3


class SummariesStep(Step):
    """Summarizes the clusters of all partitions at once."""

    def run(self, context: RunContext, states: Sequence[PartitionState]) -> list[StepResult]:
        """See ``Step.run``."""
        inputs = {state.name: self._inputs(state) for state in states}
        records = {state.name: state.recorded(self.key) for state in states}
        versions = {
            name: record.data_version if record and record.inputs == inputs[name] else None
            for name, record in records.items()
        }
        fresh = [state for state in states if versions[state.name] is None]
        done = self._summarize(context, fresh)
        results = []
        for state in states:
            version = versions[state.name]
            if version is None:
                version = self._keep(state, done, inputs[state.name], records[state.name])
            if version is not None:
                reused = versions[state.name] is not None
                results.append(self._result(state, version, reused, done.known))
        return results

    def _inputs(self, state: PartitionState) -> str:
        clusterings = list(state.clusterings(self.layer).values())
        below = state.flat_nodes(self.layer - 1)
        curation = state.context.components.curation
        decided = (curation.digest(clustering.tree) for clustering in clusterings)
        return inputs_digest(
            state.context,
            self.key,
            clusters_version(clusterings),
            nodes_version(below),
            *(decision for decision in decided if decision),
        )

    def _summarize(self, context: RunContext, states: Sequence[PartitionState]) -> Summarized:
        pairs = [
            (state.layers(self.layer - 1)[tree], clustering)
            for state in states
            for tree, clustering in state.clusterings(self.layer).items()
            if clustering.groups
        ]
        paid: dict[str, dict[str, Usage]] = {}
        n_texts = sum(len(clustering.groups) for _, clustering in pairs)
        n_done = count(1)

        def tell(node: Node, usage: Usage) -> None:
            paid.setdefault(node.tree, {})[node.content_key] = usage
            context.working(next(n_done), n_texts)

        audited = context.components.ledger.spent(AUDITS)
        try:
            return summarize_clusters(pairs, context.components, KnownStore(context.store), tell)
        finally:
            self._account(context, states, paid, context.components.ledger.spent(AUDITS) - audited)

    def _account(
        self,
        context: RunContext,
        states: Sequence[PartitionState],
        paid: Mapping[str, Mapping[str, Usage]],
        judged: Usage,
    ) -> None:
        """Count and keep what was paid, by tree, also where an error ended the work.

        What judging took before summaries were kept is shared out by their number.
        """
        by_work = [
            {
                key: usage
                for tree in state.clusterings(self.layer)
                for key, usage in paid.get(tree, {}).items()
            }
            for state in states
        ]
        shares = judged.shares([len(own) for own in by_work])
        for state, own, share in zip(states, by_work, shares, strict=True):
            state.pay(self.layer, own, share)
            state.charged[self.layer] += share
            if is_metered(context.settings):
                state.charged[self.layer] += sum(own.values(), Usage())
                add_usages(context.tables, state.name, self.layer, own)

    def _keep(
        self, state: PartitionState, done: Summarized, inputs: str, before: Record | None
    ) -> str | None:
        """Save the new layer and return its version; None when a summary of it failed."""
        trees = state.clusterings(self.layer)
        failed = [failure for tree in trees for failure in done.failed.get(tree, ())]
        if failed:
            state.fail(self.key, _summary_error(failed))
            return None
        nodes: list[Node] = []
        for tree in trees:
            if made := done.layers.get(tree):
                below = [state.nodes(layer).get(tree, ()) for layer in range(self.layer)]
                nodes += name_summaries(
                    made, below, state.earlier()[tree], state.context.components
                )
        version = nodes_version(nodes)
        state.put_nodes(self.layer, nodes)
        self._keep_usages(state, {node.content_key for node in nodes})
        means = layer_means(CheckedLayer(nodes, self._below(state), state.context.settings))
        kept = list(before.history if before else ())[
            -state.context.settings.checks.history_builds :
        ]
        history = [*kept, means] if means else kept
        state.save(self.key, nodes_to_table(nodes), version, inputs, history)
        return version

    def _keep_usages(self, state: PartitionState, content_keys: set[str]) -> None:
        """Forget what gone summaries cost; those of a tree that was renamed bring theirs."""
        context, others = state.context, dict[str, Usage]()
        if is_metered(context.settings) and content_keys - state.paid.get(self.layer, {}).keys():
            for name in state.sources():
                others |= read_usages(context.tables, name, [self.layer])
        keep_usages(context.tables, state.name, self.layer, content_keys, others)

    def _result(
        self, state: PartitionState, version: str, reused: bool, reusable: frozenset[str]
    ) -> StepResult:
        settings, nodes = state.context.settings, state.nodes(self.layer)
        verdicts = self.check(state)
        known = None if reused else reusable
        below = state.nodes(self.layer - 1)
        paid, judged = state.paid.get(self.layer, {}), state.judged[self.layer]
        metadata = {
            **summaries_metadata(nodes, below, known),
            **paid_metadata(nodes, paid, judged, settings, node_link(settings, state.name)),
        }
        state.n_summarized += metadata.get("n_made", 0)
        return StepResult(state, version, metadata, metadata["n_nodes"], reused, verdicts)

    def check(self, state: PartitionState) -> list[CheckResult]:
        """See ``Step.check``; they are made once in a run."""
        if self.layer not in state.verdicts:
            settings, quotes = state.context.settings, state.context.components.quotes
            nodes, below = state.flat_nodes(self.layer), self._below(state)
            record = state.recorded(self.key)
            past = record.history[:-1] if record else ()
            layer = CheckedLayer(nodes, below, settings, past, quotes)
            state.verdicts[self.layer] = check_layer(layer)
        return state.verdicts[self.layer]

    def _below(self, state: PartitionState) -> dict[str, Node]:
        return {node.id: node for node in state.flat_nodes(self.layer - 1)}


def _summary_error(failed: Sequence[FailedSummary]) -> SummaryError:
    by_reason: dict[str, list[str]] = {}
    for failure in failed:
        by_reason.setdefault(failure.reason, []).append(failure.name)
    told = list(by_reason.items())[:NAMED_FAILURES]
    named = "; ".join(f"{listed(names, NAMED_FAILURES)}: {reason}" for reason, names in told)
    more = len(failed) - sum(len(names) for _, names in told)
    rest = f"; and {more} more" if more > 0 else ""
    return SummaryError(
        f"{len(failed)} summaries failed ({named}{rest}). The finished ones are kept; "
        f"{remedy_of(failed)}"
    )


class FindingsStep(Step):
    """Audits the summaries of all partitions at once; nothing is judged twice."""

    def run(self, context: RunContext, states: Sequence[PartitionState]) -> list[StepResult]:
        """See ``Step.run``."""
        spent = context.components.ledger.spent(AUDITS)
        records = [state.recorded(self.key) for state in states]
        audits = [self._audit(*pair) for pair in zip(states, records, strict=True)]
        reports = _audited(audits, context)
        usage = context.components.ledger.spent(AUDITS) - spent
        shares = usage.shares([report.n_judged for report in reports])
        return [
            self._result(*parts) for parts in zip(states, records, reports, shares, strict=True)
        ]

    def check(self, state: PartitionState) -> list[CheckResult]:
        """See ``Step.check``; what no run has judged yet is judged, and not kept."""
        context = state.context
        (report,) = _audited([self._audit(state, state.recorded(self.key))], context)
        shown = report.marked(context.components.curation)
        return [evaluate_audit(shown, context.settings)]

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
        state.charged[self.layer] += usage
        judge = f"{report.judge} {report.version}"
        inputs = inputs_digest(context, self.key, nodes_version(nodes), judge)
        version = findings_version(report)
        if before is None or (before.data_version, before.inputs) != (version, inputs):
            state.save(self.key, audit_to_table(report), version, inputs)
        verdicts = [evaluate_audit(shown, context.settings)]
        metadata = findings_metadata(shown, usage, node_link(context.settings, state.name))
        n_rows, reused = len(shown.findings), report.n_judged == 0
        return StepResult(state, version, metadata, n_rows, reused, verdicts)


def _audited(audits: Sequence[Audit], context: RunContext) -> list[AuditReport]:
    checks = context.settings.checks
    return run_audits(audits, context.components.judge, checks.audit_rate, checks.audit_minimum)


def quarantined(state: PartitionState) -> set[str]:
    """Ids of the partition's summaries that no search may find, as the settings say."""
    context = state.context
    if context.settings.audit.on_unsupported != "quarantine":
        return set()
    curation = context.components.curation
    findings = read_findings(context.tables, state.name, state.summary_layers, curation) or ()
    return {finding.node_id for finding in findings if finding.judgement == "unsupported"}
