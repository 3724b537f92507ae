"""``layer_k/summaries``: one summary node for each cluster, and the checks on them."""

from __future__ import annotations

from collections.abc import Sequence

from raptor_assets import keys
from raptor_assets.bench import Bench
from raptor_assets.evaluations import past_top
from raptor_assets.metadata import summaries_metadata
from raptor_assets.opening import HELD_NODES, StoreCache
from raptor_assets.steps.base import Record, inputs_digest, recorded, save
from raptor_assets.versions import clusters_version, nodes_version
from raptor_assets.work import Outcome, Work
from raptor_core.errors import SummaryError
from raptor_core.money.usage import Usage
from raptor_core.nodes import Node
from raptor_core.quality.registry import LAYER_CHECKS, layer_means, layer_verdicts
from raptor_core.quality.verdicts import Verdict
from raptor_core.summarizing.base import FailedSummary
from raptor_core.tables import nodes_to_frame
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
        with StoreCache(bench.store, hold=self._is_short(bench, fresh)) as cache:
            done = self._summarize(bench, fresh, cache)
        outcomes = []
        for work in works:
            version = versions[work.name]
            if version is None:
                version = self._keep(bench, work, done, inputs[work.name], records[work.name])
            if version is not None:
                reused = versions[work.name] is not None
                outcomes.append(self._outcome(bench, work, version, reused, done, cache))
        return outcomes

    def _is_short(self, bench: Bench, works: Sequence[Work]) -> bool:
        n_clusters = sum(
            len(clustering.groups)
            for work in works
            for clustering in work.clusterings(bench, self.layer).values()
        )
        return bench.settings.summarizer.kind == "extractive" and n_clusters <= HELD_NODES

    def _inputs(self, bench: Bench, work: Work) -> str:
        clusterings = list(work.clusterings(bench, self.layer).values())
        below = work.flat_nodes(bench, self.layer - 1)
        return inputs_digest(bench, self.key, clusters_version(clusterings), nodes_version(below))

    def _summarize(self, bench: Bench, works: Sequence[Work], cache: StoreCache) -> Summarized:
        pairs = [
            (work.layers(bench, self.layer - 1)[tree], clustering)
            for work in works
            for tree, clustering in work.clusterings(bench, self.layer).items()
            if clustering.groups
        ]
        return summarize_clusters(pairs, bench.tools, cache)

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
        means = layer_means(nodes, self._below(bench, work))
        kept = list(before.history if before else ())[-bench.settings.checks.history_builds :]
        history = [*kept, means] if means else kept
        save(bench, self.key, work, nodes_to_frame(nodes), version, inputs, history)
        return version

    def _outcome(
        self,
        bench: Bench,
        work: Work,
        version: str,
        reused: bool,
        done: Summarized,
        cache: StoreCache,
    ) -> Outcome:
        nodes = work.nodes(bench, self.layer)
        verdicts = self.verdicts(bench, work)
        known = None if reused else cache.known
        below = work.nodes(bench, self.layer - 1)
        metadata = summaries_metadata(nodes, below, known, done, bench.settings)
        work.n_summarized += metadata.get("n_made", 0)
        usage = sum((done.usages.get(tree, Usage()) for tree in nodes), Usage())
        work.usage += usage
        if bench.settings.summarizer.kind == "openai":
            work.pay(self.layer, usage)
        return Outcome(work, version, metadata, metadata["n_nodes"], reused, verdicts)

    def verdicts(self, bench: Bench, work: Work) -> list[Verdict]:
        """Verdicts of the layer's checks, made once in a run."""
        return work.verdicts(self.layer, lambda: self._verdicts(bench, work))

    def _verdicts(self, bench: Bench, work: Work) -> list[Verdict]:
        nodes = work.flat_nodes(bench, self.layer)
        if not nodes:
            return past_top(LAYER_CHECKS, self.layer)
        record = recorded(bench, self.key, work)
        past = record.history[:-1] if record else ()
        below = self._below(bench, work)
        return layer_verdicts(nodes, below, bench.settings, past)

    def _below(self, bench: Bench, work: Work) -> dict[str, Node]:
        return {node.id: node for node in work.flat_nodes(bench, self.layer - 1)}


def _summary_error(failed: Sequence[FailedSummary]) -> SummaryError:
    named = "; ".join(f"{failure.name}: {failure.reason}" for failure in failed[:NAMED_FAILURES])
    more = len(failed) - NAMED_FAILURES
    rest = f"; and {more} more" if more > 0 else ""
    return SummaryError(
        f"{len(failed)} summaries failed ({named}{rest}). The finished ones are kept in the "
        "store; build the partition again to make the rest"
    )
