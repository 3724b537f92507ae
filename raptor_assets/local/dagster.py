"""Dagster's instance of a home."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from raptor_assets.home.folder import Home
from raptor_core.errors import SettingsError

if TYPE_CHECKING:
    import dagster as dg

QUIET = {"console": {"config": {"log_level": "CRITICAL"}}}
"""Loggers of runs of the command, which prints their progress itself."""
CODE_LOCATION = "raptor_assets.local.definitions"
"""Module that Dagster loads for a home, and the name of that code location in its records."""


@contextmanager
def open_instance(home: Home) -> Iterator[dg.DagsterInstance]:
    """Open Dagster's instance of a home, or of ``DAGSTER_HOME``, and mark killed runs as failed."""
    from raptor_assets.chain.runs import fail_dead_runs
    from raptor_assets.home.records import open_records

    home = home.owner
    if corpus := home.names().corpus:
        folder = _shared_instance(corpus)
    else:
        home.ensure()
        folder = home.dagster
    with open_records(folder) as instance:
        fail_dead_runs(instance)
        yield instance


def begun_partitions(home: Home) -> list[str]:
    """Return the partitions that builds of a home have begun; none in a home without a build."""
    if not (home.owner.dagster.exists() or home.owner.names().corpus):
        return []
    with open_instance(home) as instance:
        return list(instance.get_dynamic_partitions(home.names().partitions))


def _shared_instance(corpus: str) -> Path:
    named = os.environ.get("DAGSTER_HOME")
    if not named or not Path(named).expanduser().is_dir():
        reason = "which is no folder" if named else "which is not set"
        raise SettingsError(
            f"the corpus {corpus!r} is built in a Dagster project of its own; its instance is that "
            f"of DAGSTER_HOME, {reason}: export the folder that holds dagster.yaml"
        )
    return Path(named).expanduser()
