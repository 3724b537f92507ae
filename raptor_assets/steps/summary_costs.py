"""Accounting of a layer's summaries: usages by tree while they are written, then by partition."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Self

from raptor_assets.costs import add_usages, is_metered, keep_usages, read_usages
from raptor_assets.partition_state import PartitionState
from raptor_assets.run_context import RunContext
from raptor_core.models.money.usage import Usage
from raptor_core.nodes import Node


class SummaryCosts:
    """Costs of one layer's summaries for many partitions, kept at the end, also after an error."""

    def __init__(self, context: RunContext, layer: int, states: Sequence[PartitionState]) -> None:
        self._context = context
        self._layer = layer
        self._states = states
        self._paid: defaultdict[str, dict[str, Usage]] = defaultdict(dict)

    def __enter__(self) -> Self:
        return self

    def add(self, node: Node, usage: Usage) -> None:
        """Count the usage of one summary."""
        self._paid[node.tree][node.content_key] = usage

    def __exit__(self, *_error: object) -> None:
        """Keep the usages of all partitions."""
        metered = is_metered(self._context.settings)
        for state in self._states:
            usages = self._paid_by(state)
            state.costs.add_summaries(self._layer, usages, is_metered=metered)
            if metered:
                add_usages(self._context.tables, state.name, self._layer, usages)

    def _paid_by(self, state: PartitionState) -> Mapping[str, Usage]:
        trees = state.clusterings(self._layer)
        return {key: usage for tree in trees for key, usage in self._paid[tree].items()}


def keep_layer_usages(state: PartitionState, layer: int, content_keys: set[str]) -> None:
    """Forget the costs of removed summaries; a renamed tree takes its costs along."""
    context, moved = state.context, dict[str, Usage]()
    if is_metered(context.settings) and content_keys - state.costs.paid.get(layer, {}).keys():
        for name in state.sources():
            moved |= read_usages(context.tables, name, [layer])
    keep_usages(context.tables, state.name, layer, content_keys, moved)
