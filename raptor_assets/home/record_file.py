"""Partitions and check results of a home, read from Dagster's SQLite file.

Importing Dagster takes most of the time of ``raptor status``, so the rows are read here without it.
``records`` asks Dagster itself where there is another database, or where these statements fail.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from raptor_assets.assets import names
from raptor_assets.home.folder import Home

_WAIT_SECONDS = 60.0  # for another process that writes


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """Last result of a check, without details if it passed; severity is error or warn."""

    passed: bool = True
    severity: str = "warn"
    description: str = ""


CheckOutcomes = Mapping[tuple[str, str, str | None], CheckOutcome]
"""Results by asset (as "layer_1/summaries"), name of the check, and partition or None."""


def read_record_file(home: Home, checks: names.Checks) -> tuple[list[str], CheckOutcomes] | None:
    """Return the partitions that builds have begun, sorted, and the last results of checks.

    None means that the records are not in the file of a home, or that the file cannot be read.
    """
    owner = home.owner
    if owner.names().corpus or not owner.has_default_instance():
        return None
    path = owner.dagster / "history" / "runs" / "event_log.db"
    if not path.exists():
        return [], {}
    try:
        return _read(path, home.names().partitions, checks)
    except (sqlite3.Error, ValueError, LookupError):
        return None


def _read(
    path: Path, partitions: str, checks: names.Checks
) -> tuple[list[str], dict[tuple[str, str, str | None], CheckOutcome]]:
    with closing(
        sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=_WAIT_SECONDS)
    ) as opened:
        opened.execute("BEGIN")
        begun = opened.execute(_PARTITIONS, (partitions,)).fetchall()
        rows = opened.execute(_OUTCOMES).fetchall()
    known = {(json.dumps(asset.shown.split("/")), check.name): asset for asset, check in checks}
    outcomes = {
        (known[key, name].name, name, partition): _outcome(event) if event else CheckOutcome()
        for key, name, partition, event in rows
        if (key, name) in known  # a later result replaces an earlier one
    }
    return [name for (name,) in begun], outcomes


_PARTITIONS = (
    "SELECT partition FROM dynamic_partitions WHERE partitions_def_name = ? ORDER BY partition"
)

# Sorting by id is free; grouping by check and partition would triple the time.
_OUTCOMES = (
    "SELECT asset_key, check_name, partition, CASE WHEN execution_status = 'FAILED' OR partition "
    "IS NULL THEN evaluation_event END FROM asset_check_executions WHERE execution_status IN "
    "('SUCCEEDED', 'FAILED') ORDER BY id"
)


def _outcome(event: str) -> CheckOutcome:
    result = json.loads(event)["dagster_event"]["event_specific_data"]
    severity = result["severity"]["__enum__"].rpartition(".")[2].lower()
    return CheckOutcome(result["success"], severity, result["description"] or "")
