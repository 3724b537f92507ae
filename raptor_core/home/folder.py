"""The folder of a home, as far as reading what it publishes needs it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from raptor_core.errors import MissingHomeError, SettingsError, StoreError
from raptor_core.layout import HOME_DECLARATION, HOME_SETTINGS
from raptor_core.models.embedding.local_models import settle_precision
from raptor_core.settings import Settings, load_settings
from raptor_core.store import stored_identities

HOME_VARIABLE = "RAPTOR_HOME"
DEFAULT_HOME = ".raptor"

HURRIED_SECONDS = 10
"""How long a server may take that nobody waits for."""


@dataclass(frozen=True, slots=True)
class HomeFolder:
    """Paths of one home; ``path`` is absolute."""

    path: Path

    @classmethod
    def at(cls, path: str | Path | None = None) -> Self:
        """The home at a path; without one, what ``RAPTOR_HOME`` names, else ``.raptor``."""
        named = path or os.environ.get(HOME_VARIABLE) or DEFAULT_HOME
        return cls(Path(named).expanduser().absolute())

    @classmethod
    def open(cls, path: str | Path | None = None) -> tuple[Self, Settings]:
        """The home at a path, as ``at`` finds it, and its settings.

        Raises:
            MissingHomeError: there is no home here.
            SettingsError: its settings file is wrong.
        """
        home = cls.at(path)
        if not (home.settings.exists() or home.declaration.exists()):
            raise MissingHomeError(
                f"there is no home at {home.path}: `{hint('build SOURCE', home.path)}` makes one "
                f"and builds, `{hint('init', home.path)}` makes an empty one; --home DIR names "
                "another"
            )
        return home, home.load_settings()

    @property
    def settings(self) -> Path:
        """The settings file."""
        return self.path / HOME_SETTINGS

    @property
    def declaration(self) -> Path:
        """Names and settings of a corpus that another program defines; see ``declared``."""
        return self.path / HOME_DECLARATION

    def declared(self) -> dict[str, Any]:
        """What stands in the declaration; empty where there is none.

        Raises:
            SettingsError: it is damaged.
        """
        if not self.declaration.exists():
            return {}
        try:
            values: dict[str, Any] = json.loads(self.declaration.read_text(encoding="utf-8"))
        except ValueError as error:
            raise SettingsError(
                f"{self.declaration} is damaged; remove it, and the next run writes it"
            ) from error
        return values

    @property
    def qdrant(self) -> Path:
        """The vector store, when it is embedded."""
        return self.path / "qdrant"

    def load_settings(self) -> Settings:
        """The home's settings, overridden by the environment, settled.

        Raises:
            SettingsError: there is no settings file, or it is wrong.
        """
        told = {} if self.settings.exists() else self.declared()
        settings = (
            Settings.model_validate(told["settings"]) if told else load_settings(self.settings)
        )
        return self.settled(settings)

    def settled(self, settings: Settings, *, hurried: bool = False) -> Settings:
        """The settings as they hold in this home: an embedder's precision is never "auto" in them.

        It is what the store was made with, and in a new one what this machine is faster at.
        ``hurried`` waits for no server that is down, as where Dagster loads a team's definitions.
        """
        store, embedder = settings.store, settings.embedder
        if embedder.precision != "auto" or embedder.kind == "openai":
            return settings
        if hurried:
            seconds = min(store.timeout_seconds, HURRIED_SECONDS)
            hurry = {"max_retries": min(store.max_retries, 1), "timeout_seconds": seconds}
            store = store.model_copy(update=hurry)
        try:
            identities = stored_identities(store, self.qdrant)
        except StoreError:  # whatever opens it will tell
            identities = []
        stored = [identity.embedder_fingerprint for identity in identities]
        return settings.model_copy(update={"embedder": settle_precision(embedder, stored)})


def hint(words: str, home: Path) -> str:
    """A command to type: "raptor build --home DIR", without the option where the home is usual."""
    return f"raptor {words}" + ("" if home == HomeFolder.at().path else f" --home {home}")
