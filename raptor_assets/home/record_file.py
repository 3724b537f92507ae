"""Partitions and check results of a home, read from Dagster's SQLite file.

Importing Dagster takes most of the time of ``raptor status``, so the rows are read here without it.
``records`` asks Dagster itself where there is another database, or where these statements fail.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

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
    begun = _query_rows(home, _PARTITIONS, home.read_names().partitions_name)
    rows = _query_rows(home, _OUTCOMES)
    if begun is None or rows is None:
        return None
    try:
        return _to_outcomes(begun, rows, checks)
    except (ValueError, LookupError):
        return None


def read_failure_file(home: Home) -> dict[str, str] | None:
    """Return why the last build of partitions failed, see ``records.read_failures``; or None."""
    rows = _query_rows(home, _FAILURES, json.dumps(home.read_names().tree.key_text.split("/")))
    if rows is None:
        return None
    failures = {}
    for partition, event in rows:
        observed = json.loads(event)["dagster_event"]["event_specific_data"]["asset_observation"]
        if any(entry["label"] == names.FAILED_AT for entry in observed["metadata_entries"]):
            failures[partition] = observed["description"].removeprefix(names.BUILD_FAILED)
    return failures


def _query_rows(home: Home, statement: str, *values: str) -> list[Any] | None:
    """Return the rows of a statement over the file of a home; None where it cannot be read."""
    owner = home.owner
    if owner.read_names().corpus or not owner.has_default_instance():
        return None
    path = owner.dagster_home / "history" / "runs" / "event_log.db"
    if not path.exists():
        return []
    address = f"{path.as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=_WAIT_SECONDS)) as opened:
            return opened.execute(statement, values).fetchall()
    except sqlite3.Error:
        return None


def _to_outcomes(
    begun: Iterable[Any], rows: Iterable[Any], checks: names.Checks
) -> tuple[list[str], dict[tuple[str, str, str | None], CheckOutcome]]:
    known = {(json.dumps(asset.key_text.split("/")), check.name): asset for asset, check in checks}
    outcomes = {
        (known[key, name].name, name, partition): _parse_outcome(event) if event else CheckOutcome()
        for key, name, partition, event in rows
        if (key, name) in known  # a later result replaces an earlier one
    }
    return [name for (name,) in begun], outcomes


# The last event of each partition, if it is not its publication; only the index is searched.
_FAILURES = (
    "SELECT partition, event FROM event_logs WHERE dagster_event_type = 'ASSET_OBSERVATION' AND id "
    "IN (SELECT MAX(id) FROM event_logs WHERE asset_key = ? AND dagster_event_type IN "
    "('ASSET_OBSERVATION', 'ASSET_MATERIALIZATION') GROUP BY partition)"
)

_PARTITIONS = (
    "SELECT partition FROM dynamic_partitions WHERE partitions_def_name = ? ORDER BY partition"
)

# Sorting by id is free; grouping by check and partition would triple the time.
_OUTCOMES = (
    "SELECT asset_key, check_name, partition, CASE WHEN execution_status = 'FAILED' OR partition "
    "IS NULL THEN evaluation_event END FROM asset_check_executions WHERE execution_status IN "
    "('SUCCEEDED', 'FAILED') ORDER BY id"
)


def _parse_outcome(event: str) -> CheckOutcome:
    result = json.loads(event)["dagster_event"]["event_specific_data"]
    severity = result["severity"]["__enum__"].rpartition(".")[2].lower()
    return CheckOutcome(result["success"], severity, result["description"] or "")
