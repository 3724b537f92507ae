"""Record of a collection: its embedder, and the corpus that builds into it.

An embedded store keeps the record in a file (``folder.py``), a server in the metadata of the
collection (``server.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from raptor_core.errors import StoreError, StoreMismatchError
from raptor_core.identity import digest
from raptor_core.nodes import NODE_FIELDS
from raptor_core.store.base import StoreIdentity

_LAYOUT = 7
SCHEMA = f"{_LAYOUT}-{digest('node', *(f'{name} {kind}' for name, kind, _ in NODE_FIELDS))[:8]}"
"""Version of payloads and layout, and a digest of the fields of a node.

A store of another schema is refused, and an export carries trees over.
"""

LEAST_COSINE = 0.95
"""Lowest cosine of two probes of one model, whose last digits differ between machines."""


@dataclass(frozen=True, slots=True)
class CollectionRecord:
    """Identity of a collection, and its owner.

    ``owner`` is the name in Dagster of the corpus that builds into it, "" for the raptor command,
    None if unknown.
    """

    identity: StoreIdentity
    owner: str | None = None

    @property
    def points_collection_name(self) -> str:
        """Name of the points of this embedder, which another embedder's lie beside."""
        return f"{self.identity.corpus}.{self.identity.embedder_fingerprint[:8]}"

    def to_record(self) -> dict[str, Any]:
        """Return the record, which ``from_record`` parses."""
        return {"schema": SCHEMA, **asdict(self)}

    @classmethod
    def from_record(cls, record: Any, where: str, remedy: str) -> Self:
        """Parse the record of a collection; ``where`` and ``remedy`` are for messages.

        Raises:
            StoreError: the record is damaged.
            StoreMismatchError: the record has another schema version.
        """
        try:
            schema, owner = record["schema"], record.get("owner")
            identity = StoreIdentity(**record["identity"]) if schema == SCHEMA else None
        except (LookupError, TypeError, AttributeError) as error:
            raise StoreError(f"{where} is damaged or not from this program; {remedy}") from error
        if identity is None:
            raise StoreMismatchError(
                f"{where} has store schema {schema}; this version reads schema {SCHEMA}. Export it "
                "with the version that wrote it (raptor export) and import it with this one into "
                "another home or corpus name; or build into one from the source. Nothing was "
                "changed"
            )
        return cls(identity, owner)

    def check_owner_and_identity(
        self, identity: StoreIdentity | None, owner: str | None, where: str
    ) -> None:
        """Raise StoreMismatchError if the owner or embedder differs; None accepts any."""
        if None not in (self.owner, owner) and self.owner != owner:
            raise StoreMismatchError(
                f"{where} belongs to {describe_owner(self.owner)}, but {describe_owner(owner)} "
                "would build "
                "into it. Choose another corpus name (store.corpus); raptor export and raptor "
                "import copy trees between them. Nothing was changed"
            )
        if identity is not None:
            check_identity(self.identity, identity, where)


def nothing_built_error(where: str) -> StoreError:
    """Return the error for a store that does not exist yet."""
    return StoreError(f"{where} does not exist yet; build it first")


def describe_owner(owner: str | None) -> str:
    """Return how messages refer to the owner of a home or a collection."""
    return f"the corpus {owner!r} of a Dagster project" if owner else "a home of the raptor command"


def check_identity(stored: StoreIdentity, expected: StoreIdentity, where: str) -> None:
    """Raise StoreMismatchError if the embedder, dimension or model is not the store's."""
    check_embedder(stored, expected.embedder_fingerprint, expected.embedder_label, where)
    if stored.n_dims != expected.n_dims or not _are_probes_alike(stored.probe, expected.probe):
        raise StoreMismatchError(
            f"{where} was made with {stored.embedder_label}, but the name "
            f"{expected.embedder_model} now means another model ({expected.n_dims} dimensions), "
            "whose vectors cannot be compared with those of the store. Restore the model, or set "
            f'embedder.revision to another word, such as "2", and {_second_corpus_remedy(stored)}'
        )


def check_embedder(stored: StoreIdentity, fingerprint: str, embedder: str, where: str) -> None:
    """Raise StoreMismatchError unless the store was made for the embedder of a fingerprint."""
    if fingerprint != stored.embedder_fingerprint:
        is_same = f"embedder {stored.embedder_model} " in f"{embedder} "
        other = " with another precision or revision, or at another address" if is_same else ""
        raise StoreMismatchError(
            f"{where} was made for {stored.embedder_label}; the settings ask for "
            f"{embedder}{other}. "
            "Nothing was changed. Set the embedder back; or run raptor build --reembed, which "
            "embeds what is published again and keeps the summaries; or "
            f"{_second_corpus_remedy(stored)}"
        )


def _second_corpus_remedy(stored: StoreIdentity) -> str:
    """Return the remedy that builds a second corpus beside the stored one."""
    name = stored.corpus
    return (
        f'name the corpus differently, such as store.corpus = "{name}_2", and run raptor build: '
        "all nodes are embedded again, into a second store. Remove the old one when nobody uses it "
        f"any more: the folder qdrant/{name} of the home, or the collection "
        f"{CollectionRecord(stored).points_collection_name} of the server"
    )


def _are_probes_alike(stored: Sequence[float], current: Sequence[float]) -> bool:
    """Return whether two probes are of one model; an empty one matches any."""
    if not stored or not current:
        return True
    first, second = np.asarray(stored), np.asarray(current)
    cosine = first @ second / (np.linalg.norm(first) * np.linalg.norm(second))
    return bool(cosine >= LEAST_COSINE)
