"""Values that a report shows: trees, rebuilds, findings, costs.

``data`` turns them into JSON. Read ``Report`` first, the last class.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from raptor_core.audit.base import SentenceFinding
from raptor_core.documents.base import Document
from raptor_core.nodes import Node

Figure = float | str | None
"""Figure of a cost; None if it is unknown, such as money without a price."""


@dataclass(frozen=True, slots=True)
class RebuildChange:
    """Change of a tree by its last build.

    Attributes:
        previous: ISO 8601 time when the previous tree was published; empty for a first build.
        added: ids of nodes that the previous tree lacked; empty for a first build.
        n_removed: number of nodes that the build removed. Their texts are not kept.
    """

    previous: str = ""
    added: tuple[str, ...] = ()
    n_removed: int = 0


@dataclass(frozen=True, slots=True)
class ReplacedNode:
    """Node that a rebuild added, changed or removed: its texts before and after it.

    ``layer`` is 0 for a chunk. The text is empty before for a new node, and after for a removed
    one. ``n_before`` and ``n_after`` count children. ``documents`` are ids of the documents of
    both, sorted; the pair is deleted with any of them.
    """

    layer: int
    before: str
    after: str
    n_before: int
    n_after: int
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rebuild:
    """Rebuild of a tree.

    ``previous`` and ``published`` are ISO 8601 times when the trees were published.
    ``sizes_before`` and ``sizes_after`` are numbers of nodes by layer, empty if unknown.
    ``replaced`` are changed nodes, from the top layer down, at most ``MAX_REPLACED``, without
    those of removed documents. ``cost`` has figures of the build, as in ``Report``.
    """

    previous: str
    published: str
    sizes_before: tuple[int, ...]
    sizes_after: tuple[int, ...]
    n_added: int
    n_removed: int
    replaced: tuple[ReplacedNode, ...]
    cost: Mapping[str, Figure] | None


@dataclass(frozen=True, slots=True)
class ReportTree:
    """Published tree of a report.

    ``build_id`` is that of ``Manifest``; ``published_at`` is an ISO 8601 time in UTC. ``ended``
    says why the tree ended at its top layer. ``nodes`` come layer by layer, in document order.
    ``documents`` are those with known texts; a span of any other shows only its own text.
    ``change`` is that of the last build, None if unknown. ``rebuilds`` come newest first.
    """

    name: str
    build_id: str
    published_at: str
    ended: str
    nodes: tuple[Node, ...]
    documents: tuple[Document, ...] = ()
    change: RebuildChange | None = None
    rebuilds: tuple[Rebuild, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """Content of a page.

    Attributes:
        name: name of the page: that of a tree or of a partition.
        trees: at least one tree.
        findings: findings of audits, by any judge; None without an audit. The page omits findings
            on nodes of other trees.
        settings: settings of the trees, as ``settings_text`` returns them.
        cost: figures of the build, in the order in which they are shown; a name ends in its unit
            (``_tokens``, ``_usd``). None if nothing is known.
        points: points of all nodes, as ``lay_out`` returns them; None for a page without a map.
    """

    name: str
    trees: tuple[ReportTree, ...]
    findings: tuple[SentenceFinding, ...] | None = None
    settings: str = ""
    cost: Mapping[str, Figure] | None = None
    points: NDArray[np.float32] | None = None


def change_since(
    previous: str, previous_ids: Collection[str], node_ids: Collection[str]
) -> RebuildChange:
    """Compare the nodes of a tree with those of the previous tree, published at ``previous``."""
    if not previous:
        return RebuildChange()
    known = set(previous_ids)
    added = tuple(node_id for node_id in node_ids if node_id not in known)
    return RebuildChange(previous, added, len(known - set(node_ids)))
