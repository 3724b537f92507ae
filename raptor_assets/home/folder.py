"""The home: one folder with the settings and all files that builds keep."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from raptor_assets.assets.names import CorpusNames
from raptor_assets.home.settings_file import add_sources_to_text, to_settings_text
from raptor_core.disk import file_lock, os_error_remedy, replace_file
from raptor_core.errors import SettingsError
from raptor_core.file_names import HOME_RECORDS, INSTANCE_MARK
from raptor_core.home.folder import HOME_VARIABLE, HomeFolder
from raptor_core.identity import safe_name
from raptor_core.redaction import hide_credentials
from raptor_core.settings import Settings
from raptor_core.store.collection import describe_owner
from raptor_core.tables.files import TableStore
from raptor_core.tree.corpus_tree import CORPUS_TREE

_MARK = f"{INSTANCE_MARK}; delete this line to keep your own changes."
_MAX_REASON_CHARS = 300
_GIT_IGNORE = """\
# Texts, vectors and records stay out of version control; the settings may go in.
*
!.gitignore
!raptor.toml
"""

_INSTANCE = """\
{mark}
telemetry:
  enabled: false
nux:
  enabled: false
event_log_storage:
  module: raptor_assets.local.storage
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
        f"home of raptor, move {config} away and repeat: it is written again, and the records stay"
    )


@dataclass(frozen=True, slots=True)
class Home(HomeFolder):
    """Paths of one home, with those that builds write; writing may raise a SettingsError."""

    @property
    def owner(self) -> "Home":
        """Home with Dagster's records: this one, but for a corpus tree the one that contains it."""
        return self

    @property
    def corpus_tree(self) -> "CorpusTreeHome":
        """Home of the corpus tree."""
        return CorpusTreeHome(self.path / CORPUS_TREE)

    @property
    def dagster_home(self) -> Path:
        """Dagster's own home, with its instance settings and SQLite files."""
        return self.path / HOME_RECORDS

    @property
    def tables(self) -> Path:
        """Folder of the tables, unless the settings name another place."""
        return self.path / "tables"

    def tables_url(self, settings: Settings) -> str:
        """Return the path or URL of the tables: that of the settings, or a folder of the home."""
        return settings.tables.url or str(self.tables)

    def table_store(self, settings: Settings) -> TableStore:
        """Return the tables, to read and to write."""
        return TableStore(self.tables_url(settings))

    def map_path(self, tree: str) -> Path:
        """Return the path of the cached map of a tree, or of all trees for an empty name."""
        return self.path / "maps" / f"{safe_name(tree)}.map"

    def golden_path(self, settings: Settings) -> Path | None:
        """Return the path of the golden set, None if the settings name none."""
        path = settings.checks.golden
        return None if path is None else self.settings_path.parent / Path(path).expanduser()

    @property
    def unfinished_work(self) -> Path:
        """Folder of unfinished work, which may have cost money."""
        return self.path / "answers"

    @property
    def run_lock(self) -> Path:
        """File whose lock a run holds while it works on the home."""
        return self.path / "run.lock"

    def is_building(self) -> bool:
        """Return whether a run of this machine works on the home; False if that is not known."""
        with suppress(OSError):
            if self.run_lock.exists():
                with file_lock(self.run_lock) as is_free:
                    return not is_free
        return False

    def create_folders_and_instance(self) -> None:
        """Make the folders, and Dagster's instance settings unless a person wrote them.

        They switch telemetry and the sign-up dialog off, allow one run at a time (an embedded store
        has one writer), and keep events in SQLite. The home keeps itself out of version control.
        """
        with self._explain_write_errors():
            for folder in (self.dagster_home, self.tables, self.embedded_store_path):
                folder.mkdir(parents=True, exist_ok=True)
            if not (ignore := self.path / ".gitignore").exists():
                replace_file(ignore, _GIT_IGNORE.encode())
            kept, default = self._instance_text(), self._default_instance_text()
            if kept.startswith(_MARK) and kept != default:
                replace_file(self.dagster_home / "dagster.yaml", default.encode())

    def has_default_instance(self) -> bool:
        """Return whether Dagster's instance settings are the defaults; a person may edit them."""
        return self._instance_text() == self._default_instance_text()

    def _instance_text(self) -> str:
        config = self.dagster_home / "dagster.yaml"
        try:
            return config.read_text(encoding="utf-8") if config.exists() else _MARK
        except (OSError, UnicodeDecodeError) as error:
            raise unreadable_config(config, error) from error

    def _default_instance_text(self) -> str:
        events = str(self.dagster_home / "history" / "runs").replace("'", "''")  # as YAML quotes
        return _INSTANCE.format(mark=_MARK, events=events)

    @property
    def upstream_folder(self) -> Path:
        """Folder of the last documents of an upstream asset."""
        return self.path / "source"

    def read_names(self) -> CorpusNames:
        """Return the Dagster names of its corpus: those of its declaration, or the defaults."""
        if declared := self.read_declaration():
            return CorpusNames(declared["corpus"], declared["prefix"], declared["follows"])
        return CorpusNames()

    def check_owner(self, corpus: str) -> None:
        """Raise a SettingsError if another corpus builds here; "" is the corpus of the command."""
        unnamed = "" if self.settings_path.exists() else corpus
        owner = self.read_declaration().get("corpus", unnamed)
        if owner != corpus:
            raise SettingsError(
                f"the home {self.path} belongs to {describe_owner(owner)}, and "
                f"{describe_owner(corpus)} "
                "would build into it: choose another home; raptor export and raptor import carry "
                "trees over. Where it is the same corpus under a new name, move "
                f"{self.declaration_path if owner else self.settings_path} out of the home. "
                "Nothing was changed"
            )

    def write_declaration(self, names: CorpusNames, settings: Settings) -> None:
        """Write names and settings of a project's corpus for the command, without credentials."""
        values = settings.model_dump(mode="json")
        place = {"corpus": names.corpus, "prefix": names.prefix, "follows": names.has_upstream}
        declared = {**place, "settings": values}
        text = hide_credentials(json.dumps(declared, indent=1))
        with self._explain_write_errors():
            if not (self.declaration_path.exists() and self.declaration_path.read_text() == text):
                replace_file(self.declaration_path, text.encode())

    def create(
        self,
        *,
        sources: Sequence[str] = (),
        preset: str = "default",
        group_by: str = "document",
        is_complete: bool = False,
        local_model: str = "",
    ) -> bool:
        """Make the home with a settings file; return False if it has a file already."""
        text = to_settings_text(
            sources=sources,
            preset=preset,
            group_by=group_by,
            is_complete=is_complete,
            local_model=local_model,
        )
        self.check_owner("")
        self.create_folders_and_instance()
        if self.settings_path.exists():
            return False
        with self._explain_write_errors():
            replace_file(self.settings_path.resolve(), text.encode())
        return True

    def add_sources(self, sources: Sequence[str]) -> None:
        """Add new sources to the settings file; its comments stay."""
        known = self.load_settings().source.paths
        fresh = [source for source in sources if source not in known]
        if fresh:
            text = add_sources_to_text(self.settings_path.read_text(encoding="utf-8"), fresh)
            with self._explain_write_errors():
                replace_file(self.settings_path.resolve(), text.encode())

    def dagster_environment(self) -> dict[str, str]:
        """Return the variables that make a Dagster process work on this home."""
        return {HOME_VARIABLE: str(self.path), "DAGSTER_HOME": str(self.dagster_home)}

    @contextmanager
    def _explain_write_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SettingsError(
                f"cannot write the home {self.path}: {error}; {os_error_remedy(error)}, or choose "
                "another with --home"
            ) from error


@dataclass(frozen=True, slots=True)
class CorpusTreeHome(Home):
    """Folder of the corpus tree; Dagster's records are in its owner."""

    @property
    def owner(self) -> Home:
        """See ``Home.owner``."""
        return Home(self.path.parent)

    def read_names(self) -> CorpusNames:
        """See ``CorpusNames.corpus_tree``."""
        return self.owner.read_names().corpus_tree()
