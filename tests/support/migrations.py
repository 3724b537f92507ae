"""Dagster's migrations are read from disk once a process, not three times an opened instance.

Most of the time of opening a small home goes into that, and the tests open thousands.
"""

from __future__ import annotations

from alembic.config import Config
from alembic.script import ScriptDirectory

_read = ScriptDirectory.from_config
_known: dict[str | None, ScriptDirectory] = {}


def _from_config(config: Config) -> ScriptDirectory:
    place = config.get_main_option("script_location")
    if place not in _known:
        _known[place] = _read(config)
    return _known[place]


def remember_migrations() -> None:
    """From now on."""
    ScriptDirectory.from_config = staticmethod(_from_config)
