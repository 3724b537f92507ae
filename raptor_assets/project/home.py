"""The home: one folder with the settings and everything that is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from raptor_assets.names import CorpusNames
from raptor_assets.project.settings_file import add_sources, settings_text
from raptor_core.disk import disk_remedy, replace_file
from raptor_core.errors import SettingsError
from raptor_core.home.folder import HOME_VARIABLE, HomeFolder
from raptor_core.layout import HOME_RECORDS
from raptor_core.redaction import hide_credentials
from raptor_core.settings import Settings
from raptor_core.store.corpus import owner_name
from raptor_core.tables.files import TableStore
from raptor_core.tree.corpus_tree import CORPUS_TREE

_MARK = "# Written by raptor and kept up to date by it; delete this line to keep your own changes."
_MAX_REASON_CHARS = 300
_INSTANCE = """\
{mark}
telemetry:
  enabled: false
nux:
  enabled: false
event_log_storage:
  module: raptor_assets.standalone.storage
  class: PooledSqliteEventLogStorage
  config:
    base_dir: '{events}'
concurrency:
  runs:
    max_concurrent_runs: 1
"""


def unreadable_config(config: Path, error: Exception) -> SettingsError:
    """Return the error for Dagster's instance settings that cannot be read; no value is shown."""
    lines = [line.strip() for line in hide_credentials(str(error)).splitlines()]
    numbered = [line.partition(" Expected")[0] for line in lines if line.startswith("Error 1:")]
    reason = " ".join(numbered or lines)[:_MAX_REASON_CHARS]
    return SettingsError(
        f"{config}, Dagster's instance settings, cannot be read: {reason}. Correct it; or, in a "
        f"home of raptor, move {config} away and repeat: it is written anew, and the records stay"
    )


@dataclass(frozen=True, slots=True)
class Home(HomeFolder):
    """All paths of one home; what builds write besides what readers need.

    What writes raises SettingsError where the home refuses, or would hold wrong settings.
    """

    @property
    def owner(self) -> Home:
        """The home whose records hold this one's: itself, but for the corpus tree."""
        return self

    @property
    def corpus_tree(self) -> CorpusTreeHome:
        """That of the corpus tree."""
        return CorpusTreeHome(self.path / CORPUS_TREE)

    @property
    def dagster(self) -> Path:
        """Dagster's own home, with its instance settings and SQLite files."""
        return self.path / HOME_RECORDS

    @property
    def tables(self) -> Path:
        """The tables, unless the settings name another place."""
        return self.path / "tables"

    def tables_url(self, settings: Settings) -> str:
        """Where the tables are: in the home, or where the settings say."""
        return settings.tables.url or str(self.tables)

    def table_store(self, settings: Settings) -> TableStore:
        """The tables themselves, to read and to write."""
        return TableStore(self.tables_url(settings))

    @property
    def reports(self) -> Path:
        """The HTML reports."""
        return self.path / "reports"

    def golden(self, settings: Settings) -> Path | None:
        """The golden set that the settings name; None for none."""
        named = settings.checks.golden
        return None if named is None else self.beside_settings(named)

    def beside_settings(self, named: str) -> Path:
        """A file that the settings name; they do so from where their own file stands."""
        return self.settings.parent / Path(named).expanduser()

    @property
    def evaluation(self) -> Path:
        """The trees over data sets, and what building and reading them cost."""
        return self.path / "evaluation"

    @property
    def answers(self) -> Path:
        """What is made, or paid for, and not published yet."""
        return self.path / "answers"

    @property
    def turns(self) -> Path:
        """Locks of the partitions that runs are at, where no database keeps them."""
        return self.path / "turns"

    def ensure(self) -> None:
        """Make the folders, and Dagster's instance settings where they are ours or missing.

        The instance settings switch telemetry and the sign-up dialog off, allow one run at a
        time (an embedded store has one writer), and keep events in SQLite.
        """
        with self._writable():
            for folder in (self.dagster, self.tables, self.qdrant):
                folder.mkdir(parents=True, exist_ok=True)
            kept, wanted = self._instance(), self._own_instance()
            if kept.startswith(_MARK) and kept != wanted:
                replace_file(self.dagster / "dagster.yaml", wanted.encode())

    def has_own_instance(self) -> bool:
        """Whether Dagster's records are as ``ensure`` sets them up: in SQLite files, here."""
        return self._instance() == self._own_instance()

    def _instance(self) -> str:
        config = self.dagster / "dagster.yaml"
        try:
            return config.read_text(encoding="utf-8") if config.exists() else _MARK
        except (OSError, UnicodeDecodeError) as error:
            raise unreadable_config(config, error) from error

    def _own_instance(self) -> str:
        events = str(self.dagster / "history" / "runs").replace("'", "''")  # as YAML quotes
        return _INSTANCE.format(mark=_MARK, events=events)

    @property
    def followed(self) -> Path:
        """What the asset that gives the documents gave last, where there is one."""
        return self.path / "source"

    def names(self) -> CorpusNames:
        """What its corpus is called in Dagster; as ``declare`` was told, else by default names."""
        told = self.read_declaration()
        return CorpusNames(told["corpus"], told["assets"]) if told else CorpusNames()

    def check_owner(self, corpus: str) -> None:
        """Refuse a home that another corpus builds into.

        Args:
            corpus: name in Dagster of the one that would, empty for the raptor command.

        Raises:
            SettingsError: another one does; it is named.
        """
        unnamed = "" if self.settings.exists() else corpus
        owner = self.read_declaration().get("corpus", unnamed)
        if owner != corpus:
            raise SettingsError(
                f"the home {self.path} belongs to {owner_name(owner)}, and {owner_name(corpus)} "
                "would build into it: choose another home; raptor export and raptor import carry "
                "trees over. Where it is the same corpus under a new name, move "
                f"{self.declaration if owner else self.settings} out of the home. Nothing was "
                "changed"
            )

    def declare(self, names: CorpusNames, settings: Settings) -> None:
        """Keep names and settings of a corpus that a project of the team's own defines.

        The command knows by them where it looks, in which instance. Credentials are left out.
        """
        values = settings.model_dump(mode="json")
        told = {"corpus": names.corpus, "assets": dict(names.assets), "settings": values}
        text = hide_credentials(json.dumps(told, indent=1))
        with self._writable():
            if not (self.declaration.exists() and self.declaration.read_text() == text):
                replace_file(self.declaration, text.encode())

    def create(
        self,
        *,
        sources: Sequence[str] = (),
        preset: str = "default",
        group_by: str = "document",
        is_complete: bool = False,
    ) -> bool:
        """Make the home with a commented settings file; return False if it has a file already.

        With ``is_complete`` the file shows every setting, else the common ones.
        """
        text = settings_text(
            sources=sources, preset=preset, group_by=group_by, is_complete=is_complete
        )
        self.check_owner("")
        self.ensure()
        if self.settings.exists():
            return False
        with self._writable():
            replace_file(self.settings.resolve(), text.encode())
        return True

    def add_sources(self, sources: Sequence[str]) -> None:
        """Write sources into the settings file that are not there yet; its comments stay."""
        known = self.load_settings().source.paths
        fresh = [source for source in sources if source not in known]
        if fresh:
            text = add_sources(self.settings.read_text(encoding="utf-8"), fresh)
            with self._writable():
                replace_file(self.settings.resolve(), text.encode())

    def environment(self) -> dict[str, str]:
        """Variables that make a Dagster process work on this home."""
        return {HOME_VARIABLE: str(self.path), "DAGSTER_HOME": str(self.dagster)}

    @contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SettingsError(
                f"cannot write the home {self.path}: {error}; {disk_remedy(error)}, or choose "
                "another with --home"
            ) from error


@dataclass(frozen=True, slots=True)
class CorpusTreeHome(Home):
    """The folder of the corpus tree; Dagster's records are those of its home."""

    @property
    def owner(self) -> Home:
        """See ``Home.owner``."""
        return Home(self.path.parent)

    def names(self) -> CorpusNames:
        """Its own, after those of the corpus below."""
        return self.owner.names().corpus_tree()
