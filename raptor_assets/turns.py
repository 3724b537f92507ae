"""Turns: while one run builds or drops a partition, no other run does, on any machine."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import Protocol

import dagster as dg

from raptor_assets.process import is_in_process, process_tags

TURN_TAG = ".dagster/raptor-turn"
"""Tag of a run that began its turn: its own id. A run that is tried again inherits its first
attempt's tags, this one with another id."""


class Turn(Protocol):
    """One run's turn at partitions."""

    def take(self, partitions: Collection[str]) -> AbstractContextManager[None]:
        """Wait until no other run has one of these, and keep them to the end of the context."""

    def require(self) -> None:
        """Refuse to go on when what was taken was lost.

        Raises:
            RecordsError: the database that kept it was restarted, or the network was cut.
        """


def turn_tags(context: dg.OpExecutionContext | dg.AssetExecutionContext) -> dict[str, str]:
    """Tags of a run that began its turn in this process; none where it is a process of a step."""
    return {**process_tags(), TURN_TAG: context.run.run_id} if is_in_process(context) else {}


class Turns(Protocol):
    """Gives each run its turn."""

    def begin(self, instance: dg.DagsterInstance, run_id: str, tell: Callable[[str], None]) -> Turn:
        """The turn of a run in this process; ``tell`` is told when it waits, and for whom."""
