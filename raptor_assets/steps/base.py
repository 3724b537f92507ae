"""What the steps share: their seam, and what each does for one partition after another."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from raptor_assets.names import layer_of
from raptor_assets.partition_state import PartitionState, StepResult
from raptor_assets.run_context import RunContext
from raptor_core.errors import RaptorError
from raptor_core.identity import digest
from raptor_core.quality.checks import CheckResult


class Step:
    """Makes one asset of many partitions: one after another, or all at once by its own ``run``."""

    def __init__(self, key: dg.AssetKey) -> None:
        self.key = key
        self.layer = layer_of(key.to_user_string())

    def run(self, _context: RunContext, states: Sequence[PartitionState]) -> list[StepResult]:
        """Make the asset for every partition; one that fails is marked and has no outcome.

        Raises:
            RaptorError: something that concerns all partitions failed, such as the store.
        """
        results = []
        for state in states:
            try:
                results.append(self.make(state))
            except RaptorError as error:
                state.fail(self.key, error)
        return results

    def make(self, state: PartitionState) -> StepResult:
        """Make the asset of a partition; what is raised is why it failed."""
        raise NotImplementedError

    def check(self, _state: PartitionState) -> list[CheckResult]:
        """Verdicts on what is recorded of a partition; the asset is not made.

        Raises:
            RaptorError: what they are about cannot be read.
        """
        return []


def inputs_digest(context: RunContext, key: dg.AssetKey, *parts: str) -> str:
    """Digest of all that a step's result depends on: its code version and its input."""
    return digest("inputs", context.versions[key], *parts)
