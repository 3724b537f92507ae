"""The folder of a home, as far as reading what it publishes needs it."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from raptor_core.errors import MissingHomeError, SettingsError, StoreError
from raptor_core.models.embedding.local_models import resolve_precision
from raptor_core.settings import Settings, load_settings, settings_of
from raptor_core.store import stored_identities

HOME_VARIABLE = "RAPTOR_HOME"
DEFAULT_HOME = ".raptor"

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

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
        return self.path / "raptor.toml"

    @property
    def declaration(self) -> Path:
        """Names and settings of a corpus that another program defines; see ``declared``."""
        return self.path / "corpus.json"

    def declared(self) -> dict[str, Any]:
        """Return what stands in the declaration; empty where there is none.

        Raises:
            SettingsError: it is damaged, or holds other values than a run writes.
        """
        if not self.declaration.exists():
            return {}
        try:
            values: dict[str, Any] = json.loads(self.declaration.read_text(encoding="utf-8"))
            corpus, assets, _ = values["corpus"], values["assets"], dict(values["settings"])
            texts = [text for pair in assets.items() for text in pair]
            is_sound = _NAME.fullmatch(corpus) and all(isinstance(text, str) for text in texts)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            is_sound = False
        if not is_sound:
            raise SettingsError(
                f"{self.declaration} is damaged; remove it, and the next run writes it"
            )
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
        declared = {} if self.settings.exists() else self.declared()
        if not declared:
            return self.settled(load_settings(self.settings))
        return self.settled(settings_of(Settings(), declared["settings"], str(self.declaration)))

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
        return settings.model_copy(update={"embedder": resolve_precision(embedder, stored)})


def hint(words: str, home: Path) -> str:
    """A command to type: "raptor build --home DIR", without the option where the home is usual."""
    return f"raptor {words}" + ("" if home == HomeFolder.at().path else f" --home {home}")
