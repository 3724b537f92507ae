"""``layer_k/summaries``: one summary for each cluster.

``findings`` audits them.
"""

from collections.abc import Sequence
from itertools import count

from raptor_assets.assets.names import join_first
from raptor_assets.assets.versions import clusters_version, nodes_version
from raptor_assets.chain.context import RunContext, StoredVectorsAndTexts
from raptor_assets.chain.state import PartitionState, StepResult
from raptor_assets.chain.steps.base import Step, inputs_digest
from raptor_assets.shown.metadata import summaries_metadata, usage_metadata
from raptor_core.checks.base import CheckedLayer, CheckResult
from raptor_core.checks.registry import check_layer
from raptor_core.errors import SummaryError
from raptor_core.identity import FALLBACK
from raptor_core.models.money.usage import Usage
from raptor_core.models.summarizing.base import FailedSummary, find_failure_remedy
from raptor_core.nodes import Node, Tree, leaf_texts_by_node
from raptor_core.tables.values import nodes_to_table
from raptor_core.tree.naming import add_names_and_key_terms
from raptor_core.tree.summarize import SummarizedLayers, summarize_clusters

NAMED_FAILURES = 3


class SummariesStep(Step):
    """Step that summarizes the clusters of all partitions together."""

    def run(self, context: RunContext, states: Sequence[PartitionState]) -> list[StepResult]:
        """See ``Step.run``."""
        inputs = {state.name: self._inputs_digest(state) for state in states}
        versions = {
            state.name: state.find_reusable_version(self.asset, inputs[state.name])
            for state in states
        }
        summarized = self._summarize(context, [s for s in states if versions[s.name] is None])
        results = []
        for state in states:
            version, known = versions[state.name], None
            if version is None:
                known = summarized.reused_keys
                version = self._save_layer(state, summarized, inputs[state.name])
            if version is not None:
                results.append(self._to_result(state, version, known))
        return results

    def _inputs_digest(self, state: PartitionState) -> str:
        clusterings = list(state.clusterings(self.layer).values())
        below = state.flat_nodes(self.layer - 1)
        curation = state.context.components.curation
        decided = curation.digest({name for node in below for name in node.documents})
        return inputs_digest(
            state.context,
            self.asset,
            clusters_version(clusterings),
            nodes_version(below),
            *([decided] if decided else ()),
        )

    def _summarize(self, context: RunContext, states: Sequence[PartitionState]) -> SummarizedLayers:
        pairs = [
            (state.layers(self.layer - 1)[tree], clustering)
            for state in states
            for tree, clustering in state.clusterings(self.layer).items()
            if clustering.groups
        ]
        n_texts = sum(len(clustering.groups) for _, clustering in pairs)
        n_done = count(1)
        costs = {tree: state.costs for state in states for tree in state.clusterings(self.layer)}

        def report(node: Node, usage: Usage) -> None:
            costs[node.tree].add_summary(self.layer, usage)
            context.working(next(n_done), n_texts)

        state_of = {tree: state for state in states for tree in state.clusterings(self.layer)}

        def lower(tree: str) -> list[Sequence[Node]]:
            return state_of[tree].nodes_below(tree, self.layer - 1)

        def earlier(tree: str) -> Tree | None:
            return state_of[tree].earlier_trees()[tree]

        known = StoredVectorsAndTexts(context.store)
        return summarize_clusters(pairs, context.components, known, report, lower, earlier)

    def _save_layer(
        self, state: PartitionState, summarized: SummarizedLayers, inputs: str
    ) -> str | None:
        """Save the new layer and return its version; None if a summary of it failed."""
        trees = state.clusterings(self.layer)
        if failed := [failure for tree in trees for failure in summarized.failed.get(tree, ())]:
            state.fail(self.asset, _summary_error(failed))
            return None
        nodes = [
            node
            for tree in trees
            if summarized.layers.get(tree)
            for node in self._name_nodes(state, tree, summarized.layers[tree])
        ]
        version = nodes_version(nodes)
        state.put_nodes(self.layer, nodes)
        # The next build of a layer with refused summaries asks the model again.
        reusable = not any(FALLBACK in node.quality for node in nodes)
        state.save_table(self.asset, nodes_to_table(nodes), version, inputs if reusable else "")
        return version

    def _name_nodes(
        self, state: PartitionState, tree: str, nodes: Sequence[Node]
    ) -> Sequence[Node]:
        below = state.nodes_below(tree, self.layer)
        return add_names_and_key_terms(
            nodes, below, state.earlier_trees()[tree], state.context.components
        )

    def _to_result(
        self, state: PartitionState, version: str, known: frozenset[str] | None
    ) -> StepResult:
        """Return the result; ``known`` is None for a table that was reused."""
        settings, nodes, costs = state.context.settings, state.nodes(self.layer), state.costs
        verdicts = self.check_recorded(state)
        paid = costs.paid_usage_by_layer[self.layer]
        metadata = {
            **summaries_metadata(nodes, state.nodes(self.layer - 1), known),
            **({"model": settings.summarizer.shown_model} if paid.calls else {}),
            **usage_metadata(paid),
        }
        costs.n_summarized += metadata.get("n_made", 0)
        return StepResult(state, version, metadata, metadata["n_nodes"], known is None, verdicts)

    def _run_checks(self, state: PartitionState) -> list[CheckResult]:
        """See ``Step._run_checks``."""
        settings, quotes = state.context.settings, state.context.components.is_extractive
        nodes, below = state.flat_nodes(self.layer), state.nodes_by_id(self.layer - 1)
        leaves: dict[str, tuple[str, ...]] = {}
        if state.context.components.has_chat_summaries:
            leaves = leaf_texts_by_node(nodes, [state.flat_nodes(n) for n in range(self.layer)])
        return check_layer(CheckedLayer(nodes, below, settings, quotes, leaf_texts=leaves))


def _summary_error(failed: Sequence[FailedSummary]) -> SummaryError:
    by_reason: dict[str, list[str]] = {}
    for failure in failed:
        by_reason.setdefault(failure.reason, []).append(failure.name)
    shown = list(by_reason.items())[:NAMED_FAILURES]
    named = "; ".join(f"{join_first(names, NAMED_FAILURES)}: {reason}" for reason, names in shown)
    more = len(failed) - sum(len(names) for _, names in shown)
    rest = f"; and {more} more" if more > 0 else ""
    return SummaryError(
        f"{len(failed)} summaries failed ({named}{rest}). The finished ones are kept; "
        f"{find_failure_remedy(failed)}"
    )
