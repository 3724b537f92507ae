"""Settings of the vector store."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from raptor_core.settings.base import Part, setting


class StoreSettings(Part):
    """Vector store; docs/stores.md explains the settings of a server."""

    kind: Literal["edge", "server"] = setting("edge", is_common=True)
    """"edge" is Qdrant's engine in process, "server" a Qdrant server or cluster."""
    corpus: str = Field("corpus", pattern="^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")
    """Name of the collection."""
    url: str = setting("", is_common=True)
    """Address of the server, or addresses of a cluster's nodes with commas between them."""
    api_key_env: str = setting("QDRANT_API_KEY", is_common=True)
    """Environment variable that holds the server's key."""
    lock_seconds: float = Field(30.0, ge=0)
    """Seconds to wait for an embedded store that another process has open."""
    timeout_seconds: float = Field(30.0, gt=0)
    """Time limit of one request to the server, in seconds."""
    max_retries: int = Field(4, ge=0, le=20)
    """Attempts after the first, for a request that the server did not answer."""
    tls_ca: str = ""
    """PEM file of the authority that signed the server's certificate; empty trusts the authorities
    of the machine.
    """
    collection: Mapping[str, Any] = {}
    """Options of a new collection, by the names of Qdrant's API, such as
    { shard_number = 3, replication_factor = 2, vectors = { on_disk = true } }.
    """
    search: Mapping[str, Any] = {}
    """Options of searches by vectors, by the names of Qdrant's API, such as { hnsw_ef = 512 }."""

    @model_validator(mode="after")
    def _agree(self) -> "StoreSettings":
        if any("@" in url.rpartition("://")[2].partition("/")[0] for url in self.url.split(",")):
            raise ValueError(
                "store.url holds a user or a password; neither would be sent: put the server's key "
                f"into the environment variable {self.api_key_env}"
            )
        return self
