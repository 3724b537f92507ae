"""Results of the checks of a home over time, as a data frame.

The last results alone are in ``status``.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raptor_assets import names
from raptor_assets.project.home import Home
from raptor_assets.standalone.instance import open_instance
from raptor_core.home.published import has_corpus_tree
from raptor_core.settings import Settings
from raptor_core.tree.corpus_tree import corpus_tree_settings

if TYPE_CHECKING:
    import dagster as dg
    import pandas as pd

COLUMNS = (
    *("time", "asset", "check", "partition", "passed", "severity", "blocking", "description"),
    "run_id",
)
_PAGE = 1000  # results that one query reads


def check_history(home: str | Path | None = None) -> pd.DataFrame:
    """Return every result of the checks of a home that Dagster recorded, oldest first.

    ``COLUMNS`` come first: ``time`` in UTC, ``asset`` as its key in Dagster, ``partition`` None for
    a check of all trees. Each figure that a check measures has a column of its name after them.
    Checks that a failed build did not reach are left out, as ``raptor status`` does.

    Args:
        home: folder of the home; None for the one that ``RAPTOR_HOME`` names, else ``.raptor``.

    Raises:
        SettingsError: there is no home, or ``DAGSTER_HOME`` does not name its instance.
    """
    opened, settings = Home.open(Home.at(home).path if home else Home.at().path)
    return history_frame(opened, settings)


def history_frame(home: Home, settings: Settings) -> pd.DataFrame:
    """Return the results of an opened home, see ``check_history``."""
    import pandas as pd

    with open_instance(home) as instance:
        rows = list(_rows(instance, home.names(), settings))
        if has_corpus_tree(home, settings):
            above = home.corpus_tree.names()
            rows += _rows(instance, above, corpus_tree_settings(settings))
    rows.sort(key=lambda row: row["time"])
    figures = sorted({name for row in rows for name in row}.difference(COLUMNS))
    return pd.DataFrame(rows, columns=[*COLUMNS, *figures])


def _rows(
    instance: dg.DagsterInstance, corpus: names.CorpusNames, settings: Settings
) -> Iterator[dict[str, Any]]:
    import dagster as dg

    from raptor_assets.project.records import JUDGED

    checks = names.partition_checks(settings) + names.golden_checks(settings)
    for asset, check in checks:
        key = dg.AssetCheckKey(dg.AssetKey.from_user_string(corpus.shown(asset)), check.name)
        cursor: int | None = None
        while records := instance.event_log_storage.get_asset_check_execution_history(
            key, limit=_PAGE, cursor=cursor, status=JUDGED
        ):
            cursor = records[-1].id
            for record in records:
                result = record.evaluation
                moment = datetime.fromtimestamp(record.create_timestamp, UTC)
                if isinstance(result, dg.AssetCheckEvaluation) and _is_result(result):
                    yield _row(result, moment, record.run_id)


def _is_result(evaluation: dg.AssetCheckEvaluation) -> bool:
    return not (evaluation.description or "").startswith(names.NOT_EXECUTED)


def _row(result: dg.AssetCheckEvaluation, time: datetime, run_id: str) -> dict[str, Any]:
    figures = {name: entry.value for name, entry in result.metadata.items()}
    return {
        **{name: value for name, value in figures.items() if isinstance(value, int | float)},
        "time": time,
        "asset": result.asset_key.to_user_string(),
        "check": result.check_name,
        "partition": result.partition,
        "passed": result.passed,
        "severity": result.severity.value.lower(),
        "blocking": result.blocking,
        "description": result.description,
        "run_id": run_id,
    }
