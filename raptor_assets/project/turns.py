"""Turns at partitions: locks in PostgreSQL where it keeps Dagster's records, else in files.

A lock of the database belongs to the connection that took it, and a lock of a file to the process:
both go when a run ends, however it ends, and no clock is asked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from raptor_assets.project.waiting import WaitingTurn, lock_number
from raptor_core.disk import disk_errors, file_lock

if TYPE_CHECKING:
    import dagster as dg

_SLOTS = 256
"""Files for all partitions: two that share one wait for each other, which costs only time."""

_of_thread = threading.local()
"""The turn that the latest run of a thread was given."""


class TurnsResource:
    """Turns of one home; see ``raptor_assets.process.Turns``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(
        self, instance: dg.DagsterInstance, run_id: str, tell: Callable[[str], None]
    ) -> WaitingTurn:
        """The turn of a run; what this thread's run before it still holds is given back.

        Raises:
            RecordsError: the database does not answer.
        """
        from raptor_assets.project.database_turns import DatabaseTurn
        from raptor_assets.project.records import is_postgres, keep_connections

        before: WaitingTurn | None = getattr(_of_thread, "turn", None)
        if before is not None:
            before.close()
        if is_postgres(instance):
            keep_connections(instance)  # to the end of the process: a run logs many events
            _of_thread.turn = DatabaseTurn(instance, run_id, tell)
        else:
            _of_thread.turn = _FileTurn(self._folder, tell)
        turn: WaitingTurn = _of_thread.turn
        return turn


class _FileTurn(WaitingTurn):
    """Locks of files in the home."""

    def __init__(self, folder: Path, tell: Callable[[str], None]) -> None:
        super().__init__(tell)
        self._folder = folder
        self._taken = ExitStack()

    def _key(self, partition: str) -> int:
        return lock_number(partition) % _SLOTS

    def _try(self, key: int) -> bool:
        path = self._folder / f"{key:02x}.lock"
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            return self._taken.enter_context(file_lock(path))

    def _told_holder(self, key: int) -> str:  # noqa: ARG002 - a file does not say who holds it
        return "another run on this home"

    def _release(self) -> None:
        self._taken.close()

    def require(self) -> None:
        """A file's lock goes with the process only."""

    def close(self) -> None:
        """Give everything back."""
        self._release()
