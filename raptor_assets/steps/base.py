"""What the steps share: their seam, and the rule by which a step's earlier result is reused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import dagster as dg

from raptor_assets.partition_state import PartitionState, StepResult
from raptor_assets.run_context import RunContext
from raptor_core.errors import DamagedTableError
from raptor_core.identity import digest
from raptor_core.quality.checks import Verdict

if TYPE_CHECKING:
    import pyarrow as pa


class Step(Protocol):
    """Makes one asset of many partitions."""

    @property
    def key(self) -> dg.AssetKey:
        """The asset."""

    def run(self, context: RunContext, states: Sequence[PartitionState]) -> list[StepResult]:
        """Make the asset for every partition; one that fails is marked and has no outcome.

        Raises:
            RaptorError: something that concerns all partitions failed, such as the store.
        """


@runtime_checkable
class CheckedStep(Step, Protocol):
    """A step whose asset has checks."""

    def check(self, context: RunContext, state: PartitionState) -> list[Verdict]:
        """Verdicts on what is recorded of a partition; the asset is not made.

        Raises:
            RaptorError: what they are about cannot be read.
        """


def inputs_digest(context: RunContext, key: dg.AssetKey, *parts: str) -> str:
    """Digest of all that a step's result depends on: its code version and its input."""
    return digest("inputs", context.versions[key], *parts)


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of a partition's table: its data version, and of what it was made.

    ``history`` are means of the tables that stood here, oldest first, this one's last.
    """

    data_version: str
    inputs: str
    history: Sequence[Mapping[str, float]] = field(default=())


def recorded(context: RunContext, key: dg.AssetKey, state: PartitionState) -> Record | None:
    """The record of the partition's table; None where there is none.

    A damaged table counts as none and is warned of: the step writes it anew.
    """
    try:
        found = context.tables.properties(key.path, state.name)
    except DamagedTableError as error:
        context.warn(f"{error} It is made again now.")
        return None
    if found is None:
        return None
    history = json.loads(found.get("history", "[]"))
    return Record(found.get("data_version", ""), found.get("inputs", ""), history)


def recorded_version(
    context: RunContext, key: dg.AssetKey, state: PartitionState, inputs: str
) -> str | None:
    """Data version of the partition's table when it was made from the same inputs, else None."""
    found = recorded(context, key, state)
    return found.data_version if found and found.inputs == inputs else None


def save(
    context: RunContext,
    key: dg.AssetKey,
    state: PartitionState,
    table: pa.Table,
    version: str,
    inputs: str,
    history: Sequence[Mapping[str, float]] = (),
) -> None:
    """Write the partition's table with what ``recorded`` gives back of it."""
    properties = {"data_version": version, "inputs": inputs}
    if history:
        properties["history"] = json.dumps([dict(means) for means in history])
    context.tables.write(key.path, state.name, table, properties)
