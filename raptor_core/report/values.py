"""Values that a report shows: trees, changes, findings, costs.

``data`` turns them into JSON. Read ``Report`` first, the last class.
"""

from collections.abc import Callable, Collection, Mapping
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
class ReportTree:
    """Published tree of a report.

    ``build_id`` is that of ``Manifest``; ``published_at`` is an ISO 8601 time in UTC. ``ended``
    says why the tree ended at its top layer. ``nodes`` come layer by layer, in document order.
    ``documents`` are those with known texts; a span of any other shows only its own text.
    ``change`` is that of the last build, None if unknown.
    """

    name: str
    build_id: str
    published_at: str
    ended: str
    nodes: tuple[Node, ...]
    documents: tuple[Document, ...] = ()
    change: RebuildChange | None = None


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
        link_of: returns the address of a leaf's document in its own place, or "".
    """

    name: str
    trees: tuple[ReportTree, ...]
    findings: tuple[SentenceFinding, ...] | None = None
    settings: str = ""
    cost: Mapping[str, Figure] | None = None
    points: NDArray[np.float32] | None = None
    link_of: Callable[[Node], str] = lambda _node: ""


def change_since(
    previous: str, previous_ids: Collection[str], node_ids: Collection[str]
) -> RebuildChange:
    """Compare the nodes of a tree with those of the previous tree, published at ``previous``."""
    if not previous:
        return RebuildChange()
    known = set(previous_ids)
    added = tuple(node_id for node_id in node_ids if node_id not in known)
    return RebuildChange(previous, added, len(known - set(node_ids)))
