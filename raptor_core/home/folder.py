"""The folder of a home: the paths and settings that are needed to read its published trees.

Files that builds write are in ``raptor_assets.home.folder``.
"""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from raptor_core.errors import MissingHomeError, SettingsError
from raptor_core.file_names import HOME_DECLARATION, HOME_SETTINGS
from raptor_core.settings import Settings, load_settings, override_settings

HOME_VARIABLE = "RAPTOR_HOME"
DEFAULT_HOME = ".raptor"

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class HomeFolder:
    """The paths of a home; ``path`` is absolute."""

    path: Path

    @classmethod
    def at(cls, path: str | Path | None = None) -> Self:
        """Return the home at a path; None means the value of ``RAPTOR_HOME``, else ``.raptor``."""
        chosen = path or os.environ.get(HOME_VARIABLE) or DEFAULT_HOME
        return cls(Path(chosen).expanduser().absolute())

    @classmethod
    def open_with_settings(cls, path: str | Path | None = None) -> tuple[Self, Settings]:
        """Return the home at a path, as ``at`` does, and its settings.

        Raises:
            MissingHomeError: the folder is not a home.
            SettingsError: its settings file is invalid.
        """
        home = cls.at(path)
        if not (home.settings_path.exists() or home.declaration_path.exists()):
            raise MissingHomeError(
                f"there is no home at {home.path}: `{command_hint('build SOURCE', home.path)}` "
                "creates one "
                f"and builds, `{command_hint('init', home.path)}` creates an empty one; --home "
                "DIR names another folder"
            )
        return home, home.load_settings()

    @property
    def settings_path(self) -> Path:
        """Path of the settings file."""
        return self.path / HOME_SETTINGS

    @property
    def declaration_path(self) -> Path:
        """Path of the declaration: names and settings of a corpus that is defined in Python."""
        return self.path / HOME_DECLARATION

    def read_declaration(self) -> dict[str, Any]:
        """Return the values of the declaration; empty if the file does not exist.

        Raises:
            SettingsError: it is damaged, or contains other values than a run writes.
        """
        if not self.declaration_path.exists():
            return {}
        try:
            values: dict[str, Any] = json.loads(self.declaration_path.read_text(encoding="utf-8"))
            corpus, prefix, _ = values["corpus"], values["prefix"], dict(values["settings"])
            is_prefix = isinstance(prefix, str) and isinstance(values["follows"], bool)
            is_sound = _NAME.fullmatch(corpus) and is_prefix
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            is_sound = False
        if not is_sound:
            raise SettingsError(
                f"{self.declaration_path} is damaged; remove it, and the next run writes it"
            )
        return values

    @property
    def embedded_store_path(self) -> Path:
        """Path of the embedded vector store."""
        return self.path / "qdrant"

    def load_settings(self) -> Settings:
        """Return the settings of the home, overridden by the environment.

        Raises:
            SettingsError: the settings file is missing or invalid.
        """
        values = {} if self.settings_path.exists() else self.read_declaration()
        if not values:
            return load_settings(self.settings_path)
        return override_settings(Settings(), values["settings"], str(self.declaration_path))


def command_hint(words: str, home: Path) -> str:
    """Return a command to type, such as "raptor build --home DIR"; a default home is omitted."""
    return f"raptor {words}" + ("" if home == HomeFolder.at().path else f" --home {home}")
