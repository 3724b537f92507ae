"""Access to Dagster's records, and the errors of their database."""

import os
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError

from raptor_assets.assets import names
from raptor_assets.dagster_private import PartitionKeyFilter
from raptor_assets.home.folder import unreadable_config
from raptor_assets.home.record_file import CheckOutcome, CheckOutcomes
from raptor_core.disk import file_lock, os_error_remedy
from raptor_core.errors import DagsterStorageError, SettingsError
from raptor_core.tree.cache import NodeCache

URL_VARIABLE = "DAGSTER_POSTGRES_URL"  # address of the database, see deploy/dagster.yaml
BROKER_VARIABLE = "CELERY_BROKER_URL"  # address of the workers' broker
PLANNED_ROWS = 20  # that may follow the last result of a check, on PostgreSQL alone
_OPENING_SECONDS = 60.0  # to wait while other processes open the records

_ADDRESS = (
    "expected postgresql+psycopg2://user:password@host:5432/database, or for several hosts "
    "postgresql+psycopg2://user:password@/database?host=one:5432&host=two:5432; write @ in a "
    "password as %40"
)


@contextmanager
def open_records(folder: Path) -> Iterator[dg.DagsterInstance]:
    """Open the instance that ``dagster.yaml`` in a folder describes, and close it afterwards.

    Raises:
        SettingsError: the file or the database's address is wrong.
        RecordsError: the database does not answer, or refuses; a file of it is damaged; or another
            process did not finish opening it.
    """
    _check_address(os.environ.get(URL_VARIABLE, ""))
    config = folder / "dagster.yaml"
    with _explain_database_errors(folder):
        with _lock_opening(folder):
            try:
                instance = dg.DagsterInstance.from_config(str(folder))
            except _database_errors():
                raise
            except (ArgumentError, ValueError):  # its message may contain a password
                message = f"{config}: an address of a database is invalid; {_ADDRESS}"
                raise SettingsError(message) from None
            except Exception as error:  # noqa: BLE001 - Dagster raises various errors
                raise unreadable_config(config, error) from None
        with instance:
            yield instance


def _check_address(address: str) -> None:
    """Raise a SettingsError, which does not show it, for an address that is not PostgreSQL's."""
    try:
        is_valid = not address or sa.make_url(address).get_driver_name() == "psycopg2"
    except (ArgumentError, ValueError):
        is_valid = False
    if not is_valid or address.count("@") > 1:  # the second @ is part of the password
        raise SettingsError(f"{URL_VARIABLE} is not the address of a database; {_ADDRESS}")


def read_outcomes(instance: dg.DagsterInstance, checks: names.Checks) -> CheckOutcomes:
    """Return the last result of each check by partition (or None), without planned checks."""
    keys = {dg.AssetCheckKey(asset.key, check.name): asset.name for asset, check in checks}
    outcomes: dict[tuple[str, str, str | None], CheckOutcome] = {}
    for info in instance.event_log_storage.get_asset_check_partition_info(list(keys)):
        key, partition = info.check_key, info.partition_key
        passed = info.latest_execution_status.value == "SUCCEEDED"
        last = (
            CheckOutcome() if passed and partition else _read_last_outcome(instance, key, partition)
        )
        if last is not None:
            outcomes[keys[key], key.name, partition] = last
    return outcomes


def read_failures(instance: dg.DagsterInstance, tree: names.ChainAsset) -> dict[str, str]:
    """Return why the last build of partitions failed, unless something was published since."""
    published = instance.get_latest_storage_id_by_partition(tree.key, _MATERIALIZED)
    observed = instance.get_latest_storage_id_by_partition(tree.key, _OBSERVED)
    ids = [i for partition, i in observed.items() if i > published.get(partition, 0)]
    if not ids:
        return {}
    chosen = dg.AssetRecordsFilter(tree.key, storage_ids=ids)
    records = instance.fetch_observations(chosen, limit=len(ids)).records
    events = (record.asset_observation for record in records)
    return {
        event.partition: (event.description or "").removeprefix(names.BUILD_FAILED)
        for event in events
        if event and event.partition and names.FAILED_AT in event.metadata
    }


_MATERIALIZED = dg.DagsterEventType.ASSET_MATERIALIZATION
_OBSERVED = dg.DagsterEventType.ASSET_OBSERVATION


def _read_last_outcome(
    instance: dg.DagsterInstance, key: dg.AssetCheckKey, partition: str | None
) -> CheckOutcome | None:
    """Return the last result of a check; None if it was only planned."""
    history = instance.event_log_storage.get_asset_check_execution_history(
        key, limit=PLANNED_ROWS, partition_filter=PartitionKeyFilter(key=partition)
    )
    results = (record.evaluation for record in history)
    last = next((each for each in results if isinstance(each, dg.AssetCheckEvaluation)), None)
    if last is None:
        return None
    if last.passed and partition is not None:
        return CheckOutcome()
    return CheckOutcome(last.passed, last.severity.value.lower(), last.description or "")


@contextmanager
def _explain_database_errors(folder: Path) -> Iterator[None]:
    """Raise a RecordsError with a remedy if one of Dagster's databases fails."""
    try:
        yield
    except _database_errors() as error:
        raise DagsterStorageError(
            f"Dagster's records refused: {explain_database_error(error)}. Start the database or "
            f"check its address; if they are files, free space, and make {folder} writable for "
            f"this user, or move {folder} away if one is damaged. Then repeat: what was published "
            "stays, and what is finished is kept"
        ) from error


def uses_postgres(instance: dg.DagsterInstance) -> bool:
    """Return whether an instance keeps its events in PostgreSQL."""
    return type(instance.event_log_storage).__module__.startswith("dagster_postgres")


def open_shared_cache(instance: dg.DagsterInstance, corpus: str) -> NodeCache | None:
    """Return the cache of unfinished work beside an instance's events; None without PostgreSQL."""
    if not uses_postgres(instance):
        return None
    storage: Any = instance.event_log_storage
    return NodeCache(storage.postgres_url, corpus, explain=_to_cache_error)


def _to_cache_error(error: Exception) -> DagsterStorageError:
    why = explain_database_error(error)
    return DagsterStorageError(
        f"the cache of unfinished work cannot be used: {why}. Start the database, and repeat: what "
        "is finished is kept"
    )


def explain_database_error(error: BaseException) -> str:
    """Return the first line of a database's error, without a password."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    # The name of an unknown host may contain the end of a password.
    reason = lines[0] if lines else "the connection was cut"
    return re.sub('host name "[^"]*"', "the name of its host", reason)


def _database_errors() -> tuple[type[Exception], ...]:
    """Return the errors of databases, with those of PostgreSQL if it keeps Dagster's records."""
    if "dagster_postgres.utils" not in sys.modules:
        return sqlite3.DatabaseError, DBAPIError
    from dagster_postgres.utils import DagsterPostgresException

    return sqlite3.DatabaseError, DBAPIError, DagsterPostgresException


@contextmanager
def _lock_opening(folder: Path) -> Iterator[None]:
    """Lock the opening of the records: two processes at once would damage Dagster's tables."""
    path = folder / "opening.lock"
    with ExitStack() as lock:
        try:
            is_free = lock.enter_context(file_lock(path, _OPENING_SECONDS))
        except OSError as error:
            raise DagsterStorageError(
                f"{path}: {error.strerror or error}; {os_error_remedy(error)}, and repeat. What "
                "was published stays"
            ) from error
        if not is_free:
            raise DagsterStorageError(
                f"another process has been opening Dagster's records for {_OPENING_SECONDS:g} s "
                f"and holds {path}; end it, and repeat"
            )
        yield
