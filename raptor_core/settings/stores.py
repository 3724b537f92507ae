"""Settings of the vector store."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from raptor_core.settings.base import SettingsSection, setting


class StoreSettings(SettingsSection):
    """Vector store; see docs/stores.md for the settings of a server."""

    kind: Literal["edge", "server"] = setting("edge", is_common=True)
    """"edge" is Qdrant's engine in this process, "server" a Qdrant server or cluster."""
    corpus: str = Field("corpus", pattern="^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")
    """Name of the collection."""
    url: str = setting("", is_common=True)
    """Address of the server, or the addresses of a cluster's nodes, separated by commas."""
    api_key_env: str = setting("QDRANT_API_KEY", is_common=True)
    """Environment variable with the server's key."""
    lock_seconds: float = Field(30.0, ge=0)
    """Seconds to wait for an embedded store that another process has open."""
    timeout_seconds: float = Field(30.0, gt=0)
    """Time limit of a request to the server, in seconds."""
    max_retries: int = Field(4, ge=0, le=20)
    """Attempts after the first, if the server does not answer a request."""
    tls_ca: str = ""
    """PEM file of the authority that signed the server's certificate; empty means those that the
    machine trusts.
    """
    collection: Mapping[str, Any] = {}
    """Options of a new collection, as in Qdrant's API, such as
    { shard_number = 3, replication_factor = 2, vectors = { on_disk = true } }.
    """
    search: Mapping[str, Any] = {}
    """Options of vector searches, as in Qdrant's API, such as { hnsw_ef = 512 }."""

    @model_validator(mode="after")
    def _check_consistency(self) -> "StoreSettings":
        if any("@" in url.rpartition("://")[2].partition("/")[0] for url in self.url.split(",")):
            raise ValueError(
                "store.url contains a user or a password, which would not be sent; put the "
                f"server's key into the environment variable {self.api_key_env}"
            )
        return self
