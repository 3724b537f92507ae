"""Settings of the vector store."""

from typing import Literal

from pydantic import Field, model_validator

from raptor_core.settings.base import Part, setting


class StoreSettings(Part):
    """Vector store; docs/stores.md explains the settings of a server.

    Settings from ``shard_number`` to ``hnsw_ef_construct`` take effect when a collection is made.
    """

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
    tls_verify: bool = True
    """Verify the certificate; false is for tests."""
    grpc: bool = False
    """Send requests by gRPC instead of HTTP."""
    grpc_port: int = Field(6334, ge=1, le=65535)
    """Port of gRPC on the server."""
    read_consistency: Literal["one", "majority", "quorum", "all"] = "one"
    """Number of copies that must agree on a read; "one" asks any copy. "majority" and "all" fail
    while a copy is dead.
    """
    shard_number: int = Field(0, ge=0)
    """Shards of a collection; 0 is the server's choice."""
    replication_factor: int = Field(0, ge=0)
    """Copies of each shard; 0 is the server's choice."""
    write_consistency_factor: int = Field(0, ge=0)
    """Copies that must confirm a write; 0 is the server's choice."""
    on_disk_vectors: bool = False
    """Read vectors from disk instead of memory."""
    on_disk_payload: bool = True
    """Read texts from disk instead of memory."""
    quantization: Literal["none", "scalar", "binary"] = "none"
    """Small copies of vectors in memory that find candidates. "scalar" has a byte for each
    dimension, "binary" a bit.
    """
    indexing_threshold: int = Field(150000, ge=-1)
    """Size of a segment in kB of vectors from which it has a search graph; 0 is never, -1 the
    server's choice.
    """
    hnsw_m: int = Field(-1, ge=-1)
    """Links of a node in the search graph; -1 is the server's choice."""
    hnsw_payload_m: int = Field(-1, ge=-1)
    """Links within a tree or a document; -1 is the server's choice."""
    hnsw_ef_construct: int = Field(0, ge=0)
    """Neighbours compared for each link; 0 is the server's choice."""
    oversampling: float = Field(2.0, ge=1)
    """With quantization, candidates for each result that are scored by their full vectors."""
    hnsw_ef: int = Field(256, ge=0)
    """Candidates that a search keeps; 0 is the server's choice, which finds fewer."""

    @model_validator(mode="after")
    def _agree(self) -> "StoreSettings":
        if any("@" in url.rpartition("://")[2].partition("/")[0] for url in self.url.split(",")):
            raise ValueError(
                "store.url holds a user or a password; neither would be sent: put the server's key "
                f"into the environment variable {self.api_key_env}"
            )
        if self.grpc and not self.tls_verify:
            raise ValueError(
                "store.tls_verify is false and store.grpc true; gRPC always verifies: name the "
                "authority's file in store.tls_ca"
            )
        if 0 < self.replication_factor < self.write_consistency_factor:
            raise ValueError(
                f"store.write_consistency_factor is {self.write_consistency_factor} and "
                f"store.replication_factor {self.replication_factor}; more copies than there are "
                "can have no write"
            )
        if 0 < self.hnsw_ef_construct < 4:
            raise ValueError(
                f"store.hnsw_ef_construct is {self.hnsw_ef_construct}; the server takes 4 or more"
            )
        return self
