"""A home's records: Dagster's instance of it, or its files alone where those say all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from raptor_assets.project.home import Home
from raptor_assets.project.record_files import RecordFiles, Records, is_readable, reading

if TYPE_CHECKING:
    import dagster as dg


@contextmanager
def open_instance(home: Home) -> Iterator[dg.DagsterInstance]:
    """Dagster's instance of a home, made where it is new; runs that were killed are closed.

    Raises:
        SettingsError, RecordsError: as ``open_records``.
    """
    from raptor_assets.project.dead_runs import fail_dead_runs
    from raptor_assets.project.records import open_records

    home.ensure()
    with open_records(home.dagster) as instance:
        fail_dead_runs(instance)
        yield instance


@contextmanager
def recorded(home: Home) -> Iterator[Records]:
    """The records of a home, which is made ready where it is new.

    Raises:
        SettingsError, RecordsError: as ``open_records``.
    """
    files = home.dagster / "history"
    if home.has_own_instance() and is_readable(files):
        with reading(files / "runs" / "index.db") as read:
            yield RecordFiles(read)
        return
    from raptor_assets.project.records import DagsterRecords

    with open_instance(home) as instance:
        yield DagsterRecords(instance)
