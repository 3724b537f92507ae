"""Access to Dagster's records, and the errors of their database."""

import os
import re
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError
from yaml import YAMLError

from raptor_assets import names
from raptor_assets.dagster_private import (
    AssetCheckExecutionRecordStatus,
    CheckError,
    PartitionKeyFilter,
)
from raptor_assets.project.home import unreadable_config
from raptor_core.disk import disk_remedy, file_lock
from raptor_core.errors import RecordsError, SettingsError
from raptor_core.tree.cache import NodeCache

URL_VARIABLE = "DAGSTER_POSTGRES_URL"  # address of the database, see deploy/dagster.yaml
BROKER_VARIABLE = "CELERY_BROKER_URL"  # address of the workers' broker
_OPENING_SECONDS = 60.0  # to wait while other processes open the records
JUDGED = {AssetCheckExecutionRecordStatus.SUCCEEDED, AssetCheckExecutionRecordStatus.FAILED}
"""States of a check that has a result."""

_EXAMPLE = (
    "expected postgresql+psycopg2://user:password@host:5432/database, or for several hosts "
    "postgresql+psycopg2://user:password@/database?host=one:5432&host=two:5432"
)
_DRIVER = "psycopg2"
_TRIED = ("connection to server", "could not translate host name")
_QUOTE = "write @ in a password as %40"


@contextmanager
def open_records(folder: Path) -> Iterator[dg.DagsterInstance]:
    """Open the instance that ``dagster.yaml`` in a folder describes, and close it afterwards.

    Raises:
        SettingsError: the file, a class, an entry, a variable or the database's address is wrong.
        RecordsError: the database does not answer, or refuses; a file of it is damaged; or another
            process did not finish opening it.
    """
    if os.environ.get(URL_VARIABLE, "").count("@") > 1:  # part of the password would be shown
        raise SettingsError(f"the address in {URL_VARIABLE} has more than one @; {_QUOTE}")
    with damage_named(folder):
        with _explained(folder / "dagster.yaml"), damage_named(folder), _opening_lock(folder):
            instance = dg.DagsterInstance.from_config(str(folder))
        with instance:
            if is_postgres(instance):
                storage: Any = instance.event_log_storage
                _require_driver(sa.make_url(storage.postgres_url).get_driver_name())
            yield instance


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """Last result of a check, without details if it passed; severity is error or warn."""

    passed: bool = True
    severity: str = "warn"
    description: str = ""


CheckOutcomes = Mapping[tuple[str, str, str | None], CheckOutcome]
"""Results by asset (as "layer_1/summaries"), name of the check, and partition or None."""


def read_outcomes(
    instance: dg.DagsterInstance, corpus: names.CorpusNames, checks: names.Checks
) -> CheckOutcomes:
    """Return the last result of each check by partition or None, none of a planned check."""
    keys = {
        dg.AssetCheckKey(dg.AssetKey.from_user_string(corpus.shown(asset)), check.name): asset
        for asset, check in checks
    }
    outcomes: dict[tuple[str, str, str | None], CheckOutcome] = {}
    for info in instance.event_log_storage.get_asset_check_partition_info(list(keys)):
        key, partition = info.check_key, info.partition_key
        passed = info.latest_execution_status == AssetCheckExecutionRecordStatus.SUCCEEDED
        last = CheckOutcome() if passed and partition else _last(instance, key, partition)
        if last is not None:
            outcomes[keys[key], key.name, partition] = last
    return outcomes


def _last(
    instance: dg.DagsterInstance, key: dg.AssetCheckKey, partition: str | None
) -> CheckOutcome | None:
    """Return the last result of a check, None if it was only planned."""
    history = instance.event_log_storage.get_asset_check_execution_history(
        key, limit=1, status=JUDGED, partition_filter=PartitionKeyFilter(key=partition)
    )
    last = history[0].evaluation if history else None
    if not isinstance(last, dg.AssetCheckEvaluation):
        return None
    if last.passed and partition is not None:
        return CheckOutcome()
    return CheckOutcome(last.passed, last.severity.value.lower(), last.description or "")


@contextmanager
def damage_named(folder: Path) -> Iterator[None]:
    """Raise a RecordsError that names the damaged or unwritable file if a statement fails."""
    try:
        yield
    except (sqlite3.DatabaseError, DBAPIError) as error:
        for path in sorted(folder.rglob("*.db")):
            if fault := _fault(path):
                raise RecordsError(f"{path}, a file of Dagster's records, {fault}") from error
        raise


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
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as opened:
            (answer,) = opened.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError:  # it is locked, or the disk is full: not damaged
        return ""
    except sqlite3.DatabaseError as error:
        answer = str(error)
    return "" if answer == "ok" else f"is damaged: {answer}. {remedy}"


def is_postgres(instance: dg.DagsterInstance) -> bool:
    """Return whether an instance keeps its events in PostgreSQL."""
    return type(instance.event_log_storage).__module__.startswith("dagster_postgres")


def _require_driver(name: str | None) -> None:
    """Refuse other drivers, such as psycopg, SQLAlchemy 2.1's default."""
    if name != _DRIVER:
        raise SettingsError(
            f"the address of Dagster's database asks for the driver {name}; begin it with "
            f"postgresql+{_DRIVER}://"
        )


def shared_cache(instance: dg.DagsterInstance, corpus: str) -> NodeCache | None:
    """Return the cache of unfinished work beside an instance's events; None without PostgreSQL."""
    if not is_postgres(instance):
        return None
    storage: Any = instance.event_log_storage
    return NodeCache(storage.postgres_url, corpus, explain=_cache_error)


def _cache_error(error: Exception) -> RecordsError:
    why = explain_database_error(error)
    return RecordsError(f"the cache of unfinished work cannot be used: {why}")


def explain_database_error(error: BaseException) -> str:
    """Return the message and the remedy of an error of PostgreSQL, without a password."""
    cause: BaseException | None = error
    text = ""
    while cause is not None:
        text = str(getattr(cause, "orig", None) or cause).strip()
        cause = cause.__cause__
    lines = text.splitlines() or ["the connection was cut"]
    # Each host, and each try with and without TLS, has a line.
    lines = [line for line in lines if line.startswith(_TRIED)] or lines[:1]
    reasons = "; ".join(
        # The line may contain the end of a password.
        f"the host of its address is unknown; {_QUOTE}" if "translate host name" in line else line
        for line in lines
    )
    return (
        f"Dagster's database does not answer, or refused: {reasons}. Start it, or check its "
        "address, and repeat: what was published stays, and what is finished is kept"
    )


def database_errors() -> tuple[type[Exception], ...]:
    """Return the errors of PostgreSQL, if it keeps Dagster's records."""
    if "dagster_postgres.utils" not in sys.modules:
        return ()
    from dagster_postgres.utils import DagsterPostgresException

    return DagsterPostgresException, OperationalError


@contextmanager
def _opening_lock(folder: Path) -> Iterator[None]:
    """Let one process at a time open the records: two leave Dagster's tables unreadable."""
    path = folder / "opening.lock"
    with ExitStack() as lock:
        try:
            is_free = lock.enter_context(file_lock(path, _OPENING_SECONDS))
        except OSError as error:
            raise RecordsError(
                f"{path}: {error.strerror or error}; {disk_remedy(error)}, and repeat. What was "
                "published stays"
            ) from error
        if not is_free:
            raise RecordsError(
                f"another process has been opening Dagster's records for {_OPENING_SECONDS:g} s "
                f"and holds {path}; end it, and repeat"
            )
        yield


@contextmanager
def _explained(config: Path) -> Iterator[None]:
    try:
        yield
    except dg.DagsterInvalidConfigError as error:
        unset = re.search(r'environment variable "(\w+)" which is not set', str(error))
        if unset is None:
            raise unreadable_config(config, error) from None
        raise SettingsError(
            f"{config} takes the database's address from {unset[1]}, which is not set; export it"
        ) from None
    except (CheckError, YAMLError) as error:
        raise unreadable_config(config, error) from None
    except ModuleNotFoundError as error:
        _require_driver(error.name)
        raise
    except (ArgumentError, ValueError) as error:
        if not isinstance(error, ArgumentError) and "invalid literal for int" not in str(error):
            raise
        # Without its cause, since the alleged port may be a password.
        raise SettingsError(f"{config}: the database's address is none; {_EXAMPLE}") from None
    except database_errors() as error:
        raise RecordsError(explain_database_error(error)) from error
