"""Texts of documents in Dagster's event log, in SQLite or PostgreSQL, and their removal.

Events lose texts in place: rows, numbers and versions stay, so no partition looks unmaterialized.
``standalone.forgetting`` searches for what remains.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any

import dagster as dg
import sqlalchemy as sa

from raptor_assets import keys, names
from raptor_assets.project.records import database_explained, separate_engine

REMOVED = "removed: a document was deleted"
"""Text in place of each removed one."""

_TEXTS = ("entry_data", "metadata", "description", "message", "user_message")
"""Fields of an event in which texts of documents may stand."""

_RECORDED = ("ASSET_MATERIALIZATION", "ASSET_OBSERVATION")
_BLOCK_ROWS = 1000
_CACHE_SCHEMA = "raptor"


def _table(name: str, *columns: str) -> Any:
    return sa.table(name, *map(sa.column, ("id", "asset_key", *columns)))


_EVENTS = _table("event_logs", "partition", "run_id", "dagster_event_type", "event")
_CHECKS = _table(
    *("asset_check_executions", "partition", "run_id", "evaluation_event_storage_id"),
    "evaluation_event",
)
_ASSETS = _table("asset_keys", "last_materialization")


def forget_texts(
    instance: dg.DagsterInstance, corpus: names.CorpusNames, partition: str, run_id: str
) -> None:
    """Remove the texts of a partition from the events of all runs except this one."""
    chain = keys.chain_keys(names.MAX_LAYERS)
    stored = [keys.shown(corpus, key).to_string() for key in chain]
    mark = f'"partition": {json.dumps(partition)}'

    def remove(text: str) -> str:
        is_earlier = mark in text and run_id not in text
        return _scrub(text, lambda _: True) if is_earlier else text

    log: Any = instance.event_log_storage
    with log.index_connection() as connection:
        events, checks = (
            sa.and_(
                table.c.asset_key.in_(stored),
                table.c.partition == partition,
                table.c.run_id != run_id,
            )
            for table in (_EVENTS, _CHECKS)
        )
        events &= _EVENTS.c.dagster_event_type.in_(_RECORDED)
        runs = connection.execute(sa.select(_EVENTS.c.run_id).where(events).distinct()).scalars()
        run_ids = list(runs)
        evaluations = sa.select(_CHECKS.c.evaluation_event_storage_id).where(checks)
        _rewrite(connection, _EVENTS, events, remove)
        _rewrite(connection, _EVENTS, _EVENTS.c.id.in_(evaluations), remove)
        _rewrite(connection, _CHECKS, checks, remove)
        _rewrite(connection, _ASSETS, _ASSETS.c.asset_key.in_(stored), remove)
    _rewrite_shards(log, run_ids, remove)


def erase_texts(instance: dg.DagsterInstance, is_removed: Callable[[str], bool]) -> None:
    """Remove texts, also of messages and errors, from the events of all runs."""

    def remove(text: str) -> str:
        return _scrub(text, is_removed, everywhere=True) if is_removed(text) else text

    log: Any = instance.event_log_storage
    with log.index_connection() as connection:
        for table in (_EVENTS, _CHECKS, _ASSETS):
            _rewrite(connection, table, sa.true(), remove)
    _rewrite_shards(log, instance.get_run_ids(), remove)


def _rewrite_shards(log: Any, run_ids: Iterable[str], change: Callable[[str], str]) -> None:
    """Change the events also in the files of runs, which Dagster's default SQLite log has."""
    for run_id in run_ids if log.is_run_sharded else ():
        with log.run_connection(run_id) as connection:
            _rewrite(connection, _EVENTS, sa.true(), change)


def _rewrite(connection: Any, table: Any, where: Any, change: Callable[[str], str]) -> None:
    if connection.dialect.name == "sqlite":  # without it, free pages keep the texts
        connection.exec_driver_sql("PRAGMA secure_delete=ON")
    event = list(table.c)[-1]
    rows, last = sa.select(table.c.id, event).where(where, event.is_not(None)), -1
    rows = rows.order_by(table.c.id).limit(_BLOCK_ROWS)
    while block := connection.execute(rows.where(table.c.id > last)).all():
        last = block[-1][0]
        for row_id, text in block:
            if (changed := change(text)) != text:
                values = {event.name: changed}
                connection.execute(sa.update(table).where(table.c.id == row_id).values(values))


def _scrub(text: str, is_removed: Callable[[str], bool], *, everywhere: bool = False) -> str:
    """Return an event's JSON without the texts of its metadata and messages, or of all fields."""

    def scrub(value: Any, is_text: bool) -> Any:
        if isinstance(value, str):
            return REMOVED if is_text and is_removed(value) else value
        if isinstance(value, list):
            return [scrub(item, is_text) for item in value]
        if isinstance(value, dict):
            return {
                name: item if name.startswith("__") else scrub(item, is_text or name in _TEXTS)
                for name, item in value.items()
            }
        return value

    return json.dumps(scrub(json.loads(text), everywhere))


def database_texts(instance: dg.DagsterInstance) -> Iterator[tuple[str, list[Any]]]:
    """Yield the tables of an instance's PostgreSQL, and of the cache there, by blocks of values."""
    engine = separate_engine(instance)
    with database_explained("Dagster's database cannot be searched:"), engine.connect() as opened:
        inspector = sa.inspect(opened)
        cache = set(inspector.get_table_names(_CACHE_SCHEMA))
        records = set(inspector.get_table_names()) - cache  # a role of that name sees both
        for schema, tables in ((None, records), (_CACHE_SCHEMA, cache)):
            for name in sorted(tables):
                table = sa.table(name, schema=schema)
                rows = sa.select(sa.text("*")).select_from(table)
                with closing(opened.execution_options(stream_results=True).execute(rows)) as read:
                    for block in read.partitions(_BLOCK_ROWS):
                        yield table.fullname, [value for row in block for value in row]
