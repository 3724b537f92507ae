"""``layer_k/summaries``: one summary node for each cluster, and the checks on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raptor_assets import keys
from raptor_assets.bench import Bench
from raptor_assets.costliest import paid_metadata
from raptor_assets.costs import add_usages, is_metered, keep_usages, read_usages
from raptor_assets.metadata import summaries_metadata
from raptor_assets.opening import KnownStore
from raptor_assets.report_links import node_link
from raptor_assets.steps.base import Record, inputs_digest, recorded, save
from raptor_assets.versions import clusters_version, nodes_version
from raptor_assets.work import Outcome, Work
from raptor_core.errors import SummaryError
from raptor_core.money import AUDITS, Usage
from raptor_core.nodes import Node
from raptor_core.quality.registry import layer_means, layer_verdicts
from raptor_core.quality.subjects import CheckedLayer
from raptor_core.quality.verdicts import Verdict
from raptor_core.summarizing.base import FailedSummary, remedy_of
from raptor_core.tables import nodes_to_table
from raptor_core.tree.steps import Summarized, summarize_clusters

NAMED_FAILURES = 3


class SummariesStep:
    """Summarizes the clusters of all partitions at once."""

    def __init__(self, layer: int) -> None:
        self.layer = layer
        self.key = keys.summaries(layer)

    def run(self, bench: Bench, works: Sequence[Work]) -> list[Outcome]:
        """See ``Step.run``."""
        inputs = {work.name: self._inputs(bench, work) for work in works}
        records = {work.name: recorded(bench, self.key, work) for work in works}
        versions = {
            name: record.data_version if record and record.inputs == inputs[name] else None
            for name, record in records.items()
        }
        fresh = [work for work in works if versions[work.name] is None]
        done = self._summarize(bench, fresh)
        outcomes = []
        for work in works:
            version = versions[work.name]
            if version is None:
                version = self._keep(bench, work, done, inputs[work.name], records[work.name])
            if version is not None:
                reused = versions[work.name] is not None
                outcomes.append(self._outcome(bench, work, version, reused, done.known))
        return outcomes

    def _inputs(self, bench: Bench, work: Work) -> str:
        clusterings = list(work.clusterings(bench, self.layer).values())
        below = work.flat_nodes(bench, self.layer - 1)
        return inputs_digest(bench, self.key, clusters_version(clusterings), nodes_version(below))

    def _summarize(self, bench: Bench, works: Sequence[Work]) -> Summarized:
        pairs = [
            (work.layers(bench, self.layer - 1)[tree], clustering)
            for work in works
            for tree, clustering in work.clusterings(bench, self.layer).items()
            if clustering.groups
        ]
        paid: dict[str, dict[str, Usage]] = {}

        def tell(node: Node, usage: Usage) -> None:
            paid.setdefault(node.tree, {})[node.content_key] = usage

        audited = bench.tools.ledger.spent(AUDITS)
        try:
            return summarize_clusters(pairs, bench.tools, KnownStore(bench.store), tell)
        finally:
            self._account(bench, works, paid, bench.tools.ledger.spent(AUDITS) - audited)

    def _account(
        self,
        bench: Bench,
        works: Sequence[Work],
        paid: Mapping[str, Mapping[str, Usage]],
        judged: Usage,
    ) -> None:
        """Count and keep what was paid, by tree, also where an error ended the work.

        What judging took before summaries were kept is shared out by their number.
        """
        by_work = [
            {
                key: usage
                for tree in work.clusterings(bench, self.layer)
                for key, usage in paid.get(tree, {}).items()
            }
            for work in works
        ]
        shares = judged.shares([len(found) for found in by_work])
        for work, found, share in zip(works, by_work, shares, strict=True):
            work.pay(self.layer, found, share)
            work.charge(self.layer, share)
            if is_metered(bench.settings):
                work.charge(self.layer, sum(found.values(), Usage()))
                add_usages(bench.tables, work.name, self.layer, found)

    def _keep(
        self, bench: Bench, work: Work, done: Summarized, inputs: str, before: Record | None
    ) -> str | None:
        """Save the new layer and return its version; None when a summary of it failed."""
        trees = work.clusterings(bench, self.layer)
        failed = [failure for tree in trees for failure in done.failed.get(tree, ())]
        if failed:
            work.fail(self.key, _summary_error(failed))
            return None
        nodes = [node for tree in trees for node in done.layers.get(tree, ())]
        version = nodes_version(nodes)
        work.put_nodes(self.layer, nodes)
        self._keep_usages(bench, work, {node.content_key for node in nodes})
        means = layer_means(CheckedLayer(nodes, self._below(bench, work), bench.settings))
        kept = list(before.history if before else ())[-bench.settings.checks.history_builds :]
        history = [*kept, means] if means else kept
        save(bench, self.key, work, nodes_to_table(nodes), version, inputs, history)
        return version

    def _keep_usages(self, bench: Bench, work: Work, content_keys: set[str]) -> None:
        """Forget what gone summaries cost; those of a tree that was renamed bring theirs."""
        others: dict[str, Usage] = {}
        if is_metered(bench.settings) and content_keys - work.paid.get(self.layer, {}).keys():
            for name in work.sources(bench):
                others |= read_usages(bench.tables, name, [self.layer])
        keep_usages(bench.tables, work.name, self.layer, content_keys, others)

    def _outcome(
        self, bench: Bench, work: Work, version: str, reused: bool, reusable: frozenset[str]
    ) -> Outcome:
        nodes = work.nodes(bench, self.layer)
        verdicts = self.verdicts(bench, work)
        known = None if reused else reusable
        below = work.nodes(bench, self.layer - 1)
        paid, judged = work.paid.get(self.layer, {}), work.judged.get(self.layer, Usage())
        metadata = {
            **summaries_metadata(nodes, below, known),
            **paid_metadata(
                nodes, paid, judged, bench.settings, node_link(bench.settings, work.name)
            ),
        }
        work.n_summarized += metadata.get("n_made", 0)
        return Outcome(work, version, metadata, metadata["n_nodes"], reused, verdicts)

    def verdicts(self, bench: Bench, work: Work) -> list[Verdict]:
        """Verdicts of the layer's checks, made once in a run."""
        return work.verdicts(self.layer, lambda: self._verdicts(bench, work))

    def _verdicts(self, bench: Bench, work: Work) -> list[Verdict]:
        nodes = work.flat_nodes(bench, self.layer)
        record = recorded(bench, self.key, work)
        past = record.history[:-1] if record else ()
        below, quotes = self._below(bench, work), bench.tools.quotes
        return layer_verdicts(CheckedLayer(nodes, below, bench.settings, past, quotes))

    def _below(self, bench: Bench, work: Work) -> dict[str, Node]:
        return {node.id: node for node in work.flat_nodes(bench, self.layer - 1)}


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMED_FAILURES
    listed = ", ".join(names[:NAMED_FAILURES])
    return f"{listed} and {more} more" if more > 0 else listed


def _summary_error(failed: Sequence[FailedSummary]) -> SummaryError:
    by_reason: dict[str, list[str]] = {}
    for failure in failed:
        by_reason.setdefault(failure.reason, []).append(failure.name)
    told = list(by_reason.items())[:NAMED_FAILURES]
    named = "; ".join(f"{_listed(names)}: {reason}" for reason, names in told)
    more = len(failed) - sum(len(names) for _, names in told)
    rest = f"; and {more} more" if more > 0 else ""
    return SummaryError(
        f"{len(failed)} summaries failed ({named}{rest}). The finished ones are kept; "
        f"{remedy_of(failed)}"
    )
