"""The sensor's look at the store, in passing: a build looks each time and may wait."""

from __future__ import annotations

import time

from raptor_assets.project.home import Home
from raptor_assets.project.resources import ComponentsResource, StoreResource
from raptor_assets.project.store_state import StoreState, read_store_state
from raptor_core.settings import Settings
from raptor_core.store.folder import store_stamp

SERVER_SECONDS = 3600
"""How often a server is looked at: it has no files of ours that would tell."""

_SERVER_TIMEOUT_SECONDS = 10.0


class StoreLook:
    """Says when it is worth looking, and what the store holds."""

    def __init__(self, settings: Settings, home: Home, components: ComponentsResource) -> None:
        self._settings = settings
        self._root = home.qdrant
        store = settings.store
        in_passing = {
            "lock_seconds": 0.0,
            "max_retries": 0,
            "timeout_seconds": min(store.timeout_seconds, _SERVER_TIMEOUT_SECONDS),
        }
        quick = settings.model_copy(update={"store": store.model_copy(update=in_passing)})
        self._place = StoreResource(quick, home, components)

    def stamp(self) -> str:
        """Differs once the store may hold something else than it did.

        Raises:
            StoreError: the disk refuses.
        """
        store = self._settings.store
        if store.kind == "server":
            return f"hour {int(time.time() // SERVER_SECONDS)}"
        return store_stamp(self._root, store.corpus)

    def store_state(self) -> StoreState | None:
        """What the store holds; None where it is in use at the moment.

        Raises:
            StoreError: it is damaged, or its server does not answer.
        """
        return read_store_state(self._place, self._settings.grouping)
