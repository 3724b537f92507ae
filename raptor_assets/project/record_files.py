"""What Dagster recorded of the trees, read from its SQLite files without importing Dagster.

Importing Dagster and opening its instance takes four times as long as what is asked of them where
nothing is to be done. The same rows of the same tables are read here, in one transaction; nothing
is kept beside them. Where that is not sure to be the whole truth, Dagster itself is asked: another
database, settings of the instance that are not ours, tables of another version, or a run that is
under way, whose process may be dead.
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
from raptor_assets.project.event_text import unpack
from raptor_core.errors import RecordsError

if TYPE_CHECKING:
    import dagster as dg

TABLES_VERSION = "29b539ebc72a"
"""Of Dagster's tables, as its migrations call it: the one that the statements here are for."""

DATA_VERSION_TAG = "dagster/data_version"

_UNDER_WAY = ("STARTING", "STARTED", "CANCELING")

_WAIT_SECONDS = 60.0
"""How long to wait for another process that writes."""


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """The last result of a check. ``severity`` is "error" or "warn".

    Of one that passed on a partition the evaluation is not read: it says no more.
    """

    passed: bool = True
    severity: str = "warn"
    description: str = ""


CheckOutcomes = Mapping[tuple[str, str, str | None], CheckOutcome]
"""By asset (as "layer_1/summaries"), name of the check, and partition, or None."""


class Records(Protocol):
    """What is recorded of the partitions; what was wiped or dropped in Dagster is not among it."""

    @property
    def instance(self) -> dg.DagsterInstance | None:
        """Dagster's instance, where it was opened."""

    def partitions(self) -> list[str]:
        """Keys of all partitions."""

    def versions(self, asset: str) -> dict[str, str]:
        """Data version of the latest materialization by partition."""

    def latest(self, asset: str) -> dict[str, int]:
        """Number of the latest materialization by partition; a later one has a larger number."""

    def outcomes(self, checks: names.Checks) -> CheckOutcomes:
        """The last result of each of these checks, on every partition or on none.

        A run that died or failed before a check has only planned it, which is no result.
        """


Read = Callable[..., list[Any]]
"""Rows of a statement, given its parameters."""


class RecordFiles:
    """``Records`` of the file that Dagster keeps of all assets.

    Args:
        read: reads it.
        corpus: what is called how in it.
    """

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
        for key, name, partition, told in self._read(_OUTCOMES):
            if (key, name) in known:  # a later one takes the place of an earlier one
                outcomes[known[key, name], name, partition] = _outcome(told) if told else _PASSED
        return outcomes


# Dagster deletes the events of an asset that is wiped, and passes over older ones besides.
_LATEST = (
    "SELECT partition, max(id) AS id FROM event_logs WHERE asset_key = ? AND partition IS NOT NULL "
    "AND dagster_event_type = 'ASSET_MATERIALIZATION' AND timestamp > coalesce((SELECT "
    "wipe_timestamp FROM asset_keys WHERE asset_key = ?), '') GROUP BY partition"
)

_VERSIONS = (
    f"SELECT partition, value FROM ({_LATEST}) AS latest JOIN asset_event_tags AS tags "  # noqa: S608 - constants alone
    "ON tags.event_id = latest.id WHERE tags.key = ?"
)

# Sorting by number costs nothing; grouping by check and partition would three times as much.
_OUTCOMES = (
    "SELECT asset_key, check_name, partition, CASE WHEN execution_status = 'FAILED' OR partition "
    "IS NULL THEN evaluation_event END FROM asset_check_executions WHERE execution_status IN "
    "('SUCCEEDED', 'FAILED') ORDER BY id"
)

_PASSED = CheckOutcome()


def _outcome(event: bytes | str) -> CheckOutcome:
    told = json.loads(unpack(event))["dagster_event"]["event_specific_data"]
    severity = told["severity"]["__enum__"].rpartition(".")[2].lower()
    return CheckOutcome(told["success"], severity, told["description"] or "")


def is_readable(files: Path) -> bool:
    """Whether the tables are of the known version, and no run is under way."""
    runs, index = files / "runs.db", files / "runs" / "index.db"
    if not (runs.exists() and index.exists()):
        return False
    marks = ", ".join("?" * len(_UNDER_WAY))
    busy = f"SELECT 1 FROM runs WHERE status IN ({marks}) LIMIT 1"  # noqa: S608 - marks alone
    with reading(runs) as of_runs, reading(index) as of_assets:
        return _is_known(of_runs) and _is_known(of_assets) and not of_runs(busy, *_UNDER_WAY)


def _is_known(read: Read) -> bool:
    has_versions = read("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'")
    versions = read("SELECT version_num FROM alembic_version") if has_versions else []
    return versions == [(TABLES_VERSION,)]


@contextmanager
def reading(path: Path) -> Iterator[Read]:
    """Reads a database as it is now: what others write meanwhile is not seen."""
    with closing(
        sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=_WAIT_SECONDS)
    ) as opened:
        opened.execute("BEGIN")
        yield lambda statement, *values: opened.execute(statement, values).fetchall()


@contextmanager
def damage_named(folder: Path) -> Iterator[None]:
    """Name the file of Dagster's records below a folder for which a statement failed.

    Raises:
        RecordsError: a file is not a whole database, or this user cannot write it.
    """
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
    """Return what is wrong with a database file and what to do; empty for a sound one."""
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
