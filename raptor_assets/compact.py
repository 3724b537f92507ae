"""Compact form of a corpus: results of its layers, which ``tree`` records together.

The settings' ``runs.assets`` chooses the form, ``CorpusNames`` knows its assets.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import dagster as dg

from raptor_assets.evaluations import past_top
from raptor_assets.names import TREE, layer_of
from raptor_assets.partition_state import StepResult
from raptor_assets.tables_markdown import markdown_table
from raptor_core.quality.checks import N_WORST, CheckResult, blocking_failures


class LayerResults:
    """Results of the layers of partitions, until the results of their trees come."""

    def __init__(self) -> None:
        self._results: defaultdict[str, dict[str, StepResult]] = defaultdict(dict)
        self._discarded: set[str] = set()

    def keep(self, asset: str, results: Sequence[StepResult]) -> None:
        """Keep the results of a layer's asset."""
        for result in results:
            self._results[result.state.name][asset] = result

    def discard(self, partition: str) -> None:
        """Forget a partition, since a layer of it cannot be read."""
        self._discarded.add(partition)

    def merge(self, result: StepResult, expected: Collection[dg.AssetCheckKey] = ()) -> StepResult:
        """Add a partition's kept layers to the result of its tree, and forget them.

        ``expected`` checks that no layer has get a result, too.
        """
        layers = self._results.pop(result.state.name, {})
        if result.state.name in self._discarded or not (layers or expected):
            return result
        by_name: defaultdict[str, dict[str, CheckResult]] = defaultdict(dict)
        for asset, part in (*layers.items(), (TREE, result)):
            for verdict in part.verdicts:
                by_name[verdict.name][asset] = verdict
        verdicts = [_merge_verdicts(name, parts) for name, parts in by_name.items()]
        if result.data_version is not None:
            verdicts += past_top(check for check in expected if check.name not in by_name)
        return replace(result, verdicts=verdicts, metadata={**result.metadata, **_metadata(layers)})


def _merge_verdicts(name: str, parts: Mapping[str, CheckResult]) -> CheckResult:
    """Return one result for those of several layers; failed ones come first.

    Numbers of layers end with the layer, as ``n_chunks_layer_0``.
    """
    if list(parts) == [TREE]:
        return parts[TREE]
    failed = {asset: verdict for asset, verdict in parts.items() if not verdict.passed}
    named = failed or parts
    ordered = [*failed.values(), *(verdict for verdict in parts.values() if verdict.passed)]
    return CheckResult(
        name,
        not failed,
        "error" if blocking_failures(parts.values()) else ordered[0].severity,
        " ".join(f"{asset}: {verdict.summary}" for asset, verdict in named.items()),
        {
            number if asset == TREE else f"{number}_layer_{layer_of(asset)}": value
            for asset, verdict in parts.items()
            for number, value in verdict.numbers.items()
        },
        tuple(node for verdict in ordered for node in verdict.worst)[:N_WORST],
        " ".join(dict.fromkeys(verdict.remedy for verdict in failed.values() if verdict.remedy)),
    )


def _metadata(layers: Mapping[str, StepResult]) -> dict[str, Any]:
    """Return a table of the layers, and their metadata as ``layer_1/summaries/n_made``."""
    if not layers:
        return {}
    rows = []
    for asset, result in layers.items():
        n_new = result.metadata.get("n_made", result.metadata.get("n_computed", ""))
        state = "reused" if result.reused else "made"
        rows.append((asset, str(result.n_rows), str(n_new), state))
    return {
        "layers": dg.MetadataValue.md(markdown_table(("table", "rows", "new", "state"), rows)),
        **{
            f"{asset}/{name}": value
            for asset, result in layers.items()
            for name, value in result.metadata.items()
        },
    }
