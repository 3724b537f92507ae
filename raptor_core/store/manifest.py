"""What is published under a tree name: whole, and in short."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from raptor_core.identity import digest
from raptor_core.nodes import Fit


@dataclass(frozen=True, slots=True)
class Mark:
    """A manifest in short: whether a tree is the one that was recorded, with all its nodes.

    ``build_id`` and ``quarantined`` are the manifest's; ``n_nodes`` counts those of all layers.
    """

    tree: str
    build_id: str
    n_nodes: int
    quarantined: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is published under one tree name.

    ``build_id`` is a digest of all nodes: the same content has the same build id.
    ``layer_sizes[k]`` is the number of nodes in layer ``k``. ``documents`` maps document id to
    content hash. ``end`` says why the tree ended at its top layer.
    ``published_at`` is an ISO 8601 time in UTC; it is no part of any identity. ``fits`` are those
    of ``Tree``: the next rebuild anchors on them. ``quarantined`` are ids of summaries that no
    search finds, sorted: they are listed and traced like any.
    """

    tree: str
    build_id: str
    layer_sizes: tuple[int, ...]
    n_tokens: int
    documents: Mapping[str, str]
    end: str
    settings_fingerprint: str
    published_at: str
    fits: tuple[Fit, ...] = ()
    quarantined: tuple[str, ...] = ()

    @property
    def mark(self) -> Mark:
        """The manifest in short."""
        return Mark(self.tree, self.build_id, sum(self.layer_sizes), self.quarantined)

    @property
    def content(self) -> str:
        """What its documents say, under whatever names; see ``content_of``."""
        return content_of(self.documents.values())


def content_of(hashes: Iterable[str]) -> str:
    """Digest of the content hashes of a tree's documents, in any order."""
    return digest("documents", *sorted(hashes))
