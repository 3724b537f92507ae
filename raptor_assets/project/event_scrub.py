"""Texts of documents in Dagster's event log, in SQLite or PostgreSQL, and their removal.

Events lose texts in place: rows, numbers and versions stay, so no partition looks unmaterialized.
``standalone.forgetting`` searches for what remains.
"""

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

_TEXTS = ("entry_data", "metadata", "description", "message", "user_message", "error", "error_info")
"""Fields of an event in which texts of documents may stand."""

_NAMES = ("AssetKey", "TableSchema", "TableColumnLineage")
"""Classes of Dagster in metadata that hold names alone; an event needs them to be read."""

_RECORDED = ("ASSET_MATERIALIZATION", "ASSET_OBSERVATION")
_BLOCK_ROWS = 1000
_CACHE_SCHEMA = "raptor"
_Test = Callable[[str], bool]


_EVENTS, _CHECKS, _ASSETS = (
    sa.table(name, *map(sa.column, ("id", "asset_key", *columns.split(), event)))
    for name, columns, event in (
        ("event_logs", "partition dagster_event_type", "event"),
        ("asset_check_executions", "partition evaluation_event_storage_id", "evaluation_event"),
        ("asset_keys", "", "last_materialization"),
    )
)


def forget_texts(
    instance: dg.DagsterInstance, corpus: names.CorpusNames, run_id: str, partition: str
) -> None:
    """Remove the texts of a partition from the events of all runs except this one."""
    chain = keys.chain_keys(names.MAX_LAYERS)
    stored = [keys.shown(corpus, key).to_string() for key in chain]
    mark = f'"partition": {json.dumps(partition)}'

    events, checks = (
        table.c.asset_key.in_(stored) & (table.c.partition == partition)
        for table in (_EVENTS, _CHECKS)
    )
    evaluations = sa.select(_CHECKS.c.evaluation_event_storage_id).where(checks)
    rows = (
        (_EVENTS, events & _EVENTS.c.dagster_event_type.in_(_RECORDED)),
        (_EVENTS, _EVENTS.c.id.in_(evaluations)),
        (_CHECKS, checks),
        (_ASSETS, _ASSETS.c.asset_key.in_(stored)),
    )
    _rewrite_log(instance, rows, lambda text: mark in text and run_id not in text, bool)


def erase_texts(instance: dg.DagsterInstance, is_removed: _Test) -> None:
    """Remove texts from the events of all runs."""
    rows = [(table, sa.true()) for table in (_EVENTS, _CHECKS, _ASSETS)]
    _rewrite_log(instance, rows, is_removed, is_removed)


def _rewrite_log(
    instance: dg.DagsterInstance,
    rows: Iterable[tuple[Any, Any]],
    is_chosen: _Test,
    is_removed: _Test,
) -> None:
    """Remove texts from chosen events, also in the files of runs that a default log has."""
    log: Any = instance.event_log_storage
    if not hasattr(log, "index_connection"):  # a service keeps the log, and offers no change of it
        return
    with log.index_connection() as connection:
        for table, where in rows:
            _rewrite(connection, table, where, is_chosen, is_removed)
    for run_id in instance.get_run_ids() if log.is_run_sharded else ():
        with log.run_connection(run_id) as connection:
            _rewrite(connection, _EVENTS, sa.true(), is_chosen, is_removed)


def _rewrite(connection: Any, table: Any, where: Any, is_chosen: _Test, is_removed: _Test) -> None:
    if connection.dialect.name == "sqlite":  # without it, free pages keep the texts
        connection.exec_driver_sql("PRAGMA secure_delete=ON")
    event, last = list(table.c)[-1], -1
    rows = sa.select(table.c.id, event).where(where, event.is_not(None))
    rows = rows.order_by(table.c.id).limit(_BLOCK_ROWS)
    while block := connection.execute(rows.where(table.c.id > last)).all():
        last = block[-1][0]
        for row_id, text in block:
            if is_chosen(text) and (changed := _scrub(text, is_removed)) != text:
                update = sa.update(table).where(table.c.id == row_id)
                connection.execute(update.values({event.name: changed}))


def _scrub(text: str, is_removed: _Test) -> str:
    """Return an event's JSON without texts in its metadata and messages."""

    def scrub(value: Any, is_text: bool) -> Any:
        if isinstance(value, str):
            return REMOVED if is_text and is_removed(value) else value
        if isinstance(value, list):
            return [scrub(item, is_text) for item in value]
        if isinstance(value, dict) and value.get("__class__") not in _NAMES:
            return {
                name: item if name.startswith("__") else scrub(item, is_text or name in _TEXTS)
                for name, item in value.items()
            }
        return value

    return json.dumps(scrub(json.loads(text), False))


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
