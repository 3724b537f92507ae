"""Homes on servers: Dagster's records in PostgreSQL, as ``deploy/dagster.yaml`` keeps them."""

from __future__ import annotations

import shutil
from pathlib import Path

from raptor_assets.home.folder import Home
from raptor_assets.home.records import URL_VARIABLE

INSTANCE = Path(__file__).parents[2] / "deploy" / "dagster.yaml"


def keep_records_in(url: str, home: Home, monkeypatch) -> None:
    """Give a new home the instance settings of ``deploy/``, with a database of its own."""
    monkeypatch.setenv(URL_VARIABLE, url)
    home.dagster_home.mkdir(parents=True, exist_ok=True)
    shutil.copy(INSTANCE, home.dagster_home / "dagster.yaml")


def do_not_wait() -> None:
    """Let Dagster try a lost connection again at once, and not for eleven seconds each time."""
    import dagster_postgres.utils

    dagster_postgres.utils.calculate_delay = lambda **_: 0.0
