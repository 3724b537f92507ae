"""Dagster records of a home: its instance, or its files alone where they suffice."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from raptor_assets.project.home import Home
from raptor_assets.project.record_files import (
    RecordFiles,
    Records,
    damage_named,
    is_readable,
    reading,
)
from raptor_core.errors import SettingsError

if TYPE_CHECKING:
    import dagster as dg


@contextmanager
def open_instance(home: Home) -> Iterator[dg.DagsterInstance]:
    """Open Dagster's instance of a home, or of ``DAGSTER_HOME``, and mark killed runs as failed."""
    from raptor_assets.project.records import open_records
    from raptor_assets.project.runs import fail_dead_runs

    home = home.owner
    if corpus := home.names().corpus:
        folder = _shared_instance(corpus)
    else:
        home.ensure()
        folder = home.dagster
    with open_records(folder) as instance:
        fail_dead_runs(instance)
        yield instance


@contextmanager
def recorded(home: Home) -> Iterator[Records]:
    """Open the records of a home, which is created if it is new."""
    owner = home.owner
    files = owner.dagster / "history"
    with damage_named(owner.dagster):
        if not owner.names().corpus and owner.has_default_instance() and is_readable(files):
            with reading(files / "runs" / "event_log.db") as read:
                yield RecordFiles(read, home.names())
            return
        from raptor_assets.project.records import DagsterRecords

        with open_instance(home) as instance:
            yield DagsterRecords(instance, home.names())


def _shared_instance(corpus: str) -> Path:
    named = os.environ.get("DAGSTER_HOME")
    if not named or not Path(named).expanduser().is_dir():
        reason = "which is no folder" if named else "which is not set"
        raise SettingsError(
            f"the corpus {corpus!r} is built in a Dagster project of its own; its instance is that "
            f"of DAGSTER_HOME, {reason}: export the folder that holds dagster.yaml"
        )
    return Path(named).expanduser()
