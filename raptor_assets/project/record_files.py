"""Dagster's records of the trees, read from its SQLite files without importing Dagster.

Importing Dagster takes most of the time of a command that has nothing to do, so the same rows are
read here in one transaction. ``records`` asks Dagster itself if there is another database, other
settings of the instance, another version of the tables, or a run under way.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from raptor_assets import names
from raptor_core.errors import RecordsError

if TYPE_CHECKING:
    import dagster as dg

TABLES_VERSION = "29b539ebc72a"  # migration that the statements here are for
DATA_VERSION_TAG = "dagster/data_version"

_UNDER_WAY = ("STARTING", "STARTED", "CANCELING")

_WAIT_SECONDS = 60.0  # time to wait for another process that writes


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """Last result of a check, without details if it passed; severity is error or warn."""

    passed: bool = True
    severity: str = "warn"
    description: str = ""


CheckOutcomes = Mapping[tuple[str, str, str | None], CheckOutcome]
"""Results by asset (as "layer_1/summaries"), name of the check, and partition or None."""


class Records(Protocol):
    """Records of the partitions, without those that were wiped or dropped in Dagster."""

    @property
    def instance(self) -> dg.DagsterInstance | None:
        """Dagster's instance, if it was opened."""

    def partitions(self) -> list[str]:
        """Return the keys of all partitions."""

    def versions(self, asset: str) -> dict[str, str]:
        """Return the data version of the latest materialization by partition."""

    def latest(self, asset: str) -> dict[str, int]:
        """Return the number of the latest materialization by partition; numbers grow with time."""

    def outcomes(self, checks: names.Checks) -> CheckOutcomes:
        """Return the last result of each check by partition or None, none of a planned check."""


Read = Callable[..., list[Any]]  # function that returns the rows of a statement with its parameters


class RecordFiles:
    """``Records`` from the SQLite file of all assets, which ``read`` reads."""

    instance = None

    def __init__(self, read: Read, corpus: names.CorpusNames) -> None:
        self._read = read
        self._corpus = corpus

    def _stored(self, asset: str) -> str:
        return json.dumps(self._corpus.shown(asset).split("/"))

    def partitions(self) -> list[str]:
        """See ``Records``."""
        statement = "SELECT partition FROM dynamic_partitions WHERE partitions_def_name = ?"
        rows = self._read(f"{statement} ORDER BY id", self._corpus.partitions)
        return [row[0] for row in rows]

    def versions(self, asset: str) -> dict[str, str]:
        """See ``Records``."""
        return dict(self._read(_VERSIONS, *[self._stored(asset)] * 2, DATA_VERSION_TAG))

    def latest(self, asset: str) -> dict[str, int]:
        """See ``Records``."""
        return dict(self._read(_LATEST, *[self._stored(asset)] * 2))

    def outcomes(self, checks: names.Checks) -> CheckOutcomes:
        """See ``Records``."""
        known = {(self._stored(asset), check.name): asset for asset, check in checks}
        outcomes: dict[tuple[str, str, str | None], CheckOutcome] = {}
        for key, name, partition, event in self._read(_OUTCOMES):
            if (key, name) in known:  # a later result replaces an earlier one
                outcomes[known[key, name], name, partition] = _outcome(event) if event else _PASSED
        return outcomes


# Dagster deletes the events of a wiped asset, and also ignores older ones.
_LATEST = (
    "SELECT partition, max(id) AS id FROM event_logs WHERE asset_key = ? AND partition IS NOT NULL "
    "AND dagster_event_type = 'ASSET_MATERIALIZATION' AND timestamp > coalesce((SELECT "
    "wipe_timestamp FROM asset_keys WHERE asset_key = ?), '') GROUP BY partition"
)

_VERSIONS = (
    f"SELECT partition, value FROM ({_LATEST}) AS latest JOIN asset_event_tags AS tags "  # noqa: S608 - constants alone
    "ON tags.event_id = latest.id WHERE tags.key = ?"
)

# Sorting by number is free; grouping by check and partition would triple the time.
_OUTCOMES = (
    "SELECT asset_key, check_name, partition, CASE WHEN execution_status = 'FAILED' OR partition "
    "IS NULL THEN evaluation_event END FROM asset_check_executions WHERE execution_status IN "
    "('SUCCEEDED', 'FAILED') ORDER BY id"
)

_PASSED = CheckOutcome()


def _outcome(event: str) -> CheckOutcome:
    result = json.loads(event)["dagster_event"]["event_specific_data"]
    severity = result["severity"]["__enum__"].rpartition(".")[2].lower()
    return CheckOutcome(result["success"], severity, result["description"] or "")


def is_readable(files: Path) -> bool:
    """Return whether the tables have the known version, and no run is under way."""
    runs, index = files / "runs.db", files / "runs" / "event_log.db"
    if not (runs.exists() and index.exists()):
        return False
    marks = ", ".join("?" * len(_UNDER_WAY))
    busy = f"SELECT 1 FROM runs WHERE status IN ({marks}) LIMIT 1"  # noqa: S608 - marks alone
    with reading(runs) as read_runs, reading(index) as read_assets:
        known = _is_known(read_runs) and _is_known(read_assets)
        return known and not read_runs(busy, *_UNDER_WAY)


def _is_known(read: Read) -> bool:
    has_versions = read("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'")
    versions = read("SELECT version_num FROM alembic_version") if has_versions else []
    return versions == [(TABLES_VERSION,)]


@contextmanager
def reading(path: Path) -> Iterator[Read]:
    """Open a database to read it in its present state."""
    with closing(
        sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=_WAIT_SECONDS)
    ) as opened:
        opened.execute("BEGIN")
        yield lambda statement, *values: opened.execute(statement, values).fetchall()


@contextmanager
def damage_named(folder: Path) -> Iterator[None]:
    """Raise a RecordsError that names the damaged or unwritable file if a statement fails."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, _database_errors()):
            raise
        for path in sorted(folder.rglob("*.db")):
            if fault := _fault(path):
                raise RecordsError(f"{path}, a file of Dagster's records, {fault}") from error
        raise


def _database_errors() -> tuple[type[Exception], ...]:
    """Return what SQLite raises, and SQLAlchemy where Dagster has imported it."""
    sqlalchemy = sys.modules.get("sqlalchemy.exc")
    return (sqlite3.DatabaseError, *([sqlalchemy.DBAPIError] if sqlalchemy else []))


def _fault(path: Path) -> str:
    """Return the fault of a database file and its remedy, "" for a sound one."""
    top = path.parent.parent if path.parent.name == "runs" else path.parent
    remedy = (
        f"Restore it from a copy; or move {top} away and repeat: what was published stays, and the "
        "next build takes vectors and texts from the store"
    )
    if path.is_dir():
        return f"is a folder. {remedy}"
    if not os.access(path, os.R_OK | os.W_OK):
        return "may not be written. Make it and its folder writable for this user, and repeat"
    try:
        with reading(path) as read:
            ((answer,), *_) = read("PRAGMA quick_check(1)")
    except sqlite3.OperationalError:  # it is locked, or the disk is full: not damaged
        return ""
    except sqlite3.DatabaseError as error:
        answer = str(error)
    return "" if answer == "ok" else f"is damaged: {answer}. {remedy}"
