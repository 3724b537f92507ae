"""Interface of the steps, and the loop over partitions that most of them use."""

from collections.abc import Sequence

from raptor_assets.assets.names import ChainAsset
from raptor_assets.chain.context import RunContext
from raptor_assets.chain.state import PartitionState, StepResult
from raptor_core.checks.base import CheckResult, apply_severities
from raptor_core.errors import RaptorError
from raptor_core.identity import digest


class Step:
    """Step that makes one asset for many partitions; a subclass may override ``run`` to batch."""

    def __init__(self, asset: ChainAsset) -> None:
        self.asset = asset
        self.layer = asset.layer

    def run(self, _context: RunContext, states: Sequence[PartitionState]) -> list[StepResult]:
        """Make the asset for every partition; a failed partition is marked and has no result."""
        results = []
        for state in states:
            try:
                results.append(self.make_asset(state))
            except RaptorError as error:
                state.fail(self.asset, error)
        return results

    def make_asset(self, state: PartitionState) -> StepResult:
        """Make the asset of a partition; an error says why it failed."""
        raise NotImplementedError

    def check_recorded(self, state: PartitionState) -> list[CheckResult]:
        """Return the results of the checks on a partition's recorded asset, which stays as it is.

        A run executes each check once; later calls return the same results.
        """
        if self.asset not in state.check_results:
            results = self._run_checks(state)
            state.check_results[self.asset] = apply_severities(
                results, state.context.settings.checks
            )
        return state.check_results[self.asset]

    def _run_checks(self, _state: PartitionState) -> list[CheckResult]:
        """Execute the checks on a partition's recorded asset."""
        return []


def inputs_digest(context: RunContext, asset: ChainAsset, *parts: str) -> str:
    """Return the digest of a step's code version and of its inputs."""
    return digest("inputs", context.versions[asset.kind], *parts)
