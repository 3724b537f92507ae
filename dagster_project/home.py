"""The home: one folder with the settings and everything that is kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HOME_VARIABLE = "RAPTOR_HOME"
DEFAULT_HOME = ".raptor"

_MARK = "# Written by raptor and kept up to date by it; delete this line to keep your own changes."
_INSTANCE = """\
{mark}
telemetry:
  enabled: false
nux:
  enabled: false
event_log_storage:
  module: dagster_project.storage
  class: PooledSqliteEventLogStorage
  config:
    base_dir: {events}
concurrency:
  runs:
    max_concurrent_runs: 1
"""


@dataclass(frozen=True, slots=True)
class Home:
    """Paths of one home; ``path`` is absolute."""

    path: Path

    @classmethod
    def at(cls, path: str | Path | None = None, environ: Mapping[str, str] | None = None) -> Home:
        """The home at a path; without one, what ``RAPTOR_HOME`` names, else ``.raptor``."""
        named = path or (os.environ if environ is None else environ).get(HOME_VARIABLE)
        return cls(Path(named or DEFAULT_HOME).expanduser().absolute())

    @property
    def settings(self) -> Path:
        """The settings file."""
        return self.path / "raptor.toml"

    @property
    def dagster(self) -> Path:
        """Dagster's own home, with its instance settings and SQLite files."""
        return self.path / "dagster"

    @property
    def tables(self) -> Path:
        """The tables, unless the settings name another place."""
        return self.path / "tables"

    @property
    def qdrant(self) -> Path:
        """The vector store, when it is embedded."""
        return self.path / "qdrant"

    def ensure(self) -> None:
        """Make the folders, and Dagster's instance settings where they are ours or missing.

        The instance settings switch telemetry and the sign-up dialog off, allow one run at a
        time (an embedded store has one writer), and keep events in SQLite.
        """
        for folder in (self.dagster, self.tables, self.qdrant):
            folder.mkdir(parents=True, exist_ok=True)
        wanted = _INSTANCE.format(mark=_MARK, events=_quoted(self.dagster / "history" / "runs"))
        config = self.dagster / "dagster.yaml"
        found = config.read_text(encoding="utf-8") if config.exists() else _MARK
        if found.startswith(_MARK) and found != wanted:
            config.write_text(wanted, encoding="utf-8")


def _quoted(path: Path) -> str:
    """A YAML scalar in single quotes."""
    return "'" + str(path).replace("'", "''") + "'"
