"""The values that a report shows: trees, changes, findings and costs.

``data`` converts them to JSON. Read ``Report`` first, the last class.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from raptor_core.audit.base import SentenceFinding
from raptor_core.documents.base import Document
from raptor_core.nodes import Node

Figure = float | str | None
"""A figure of the cost; None if it is unknown, such as dollars for a model without a price."""


@dataclass(frozen=True, slots=True)
class RebuildChange:
    """The change of a tree by its last build.

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
    """A published tree of a report.

    Attributes:
        name: name of the tree.
        build_id: ``Manifest.build_id``.
        published_at: ISO 8601 time in UTC.
        ended: why the tree ends at its top layer.
        nodes: nodes layer by layer, in document order.
        documents: documents whose text can be shown; spans of others show only their own text.
        change: change by the last build; None if it is unknown.
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
    """The content of a page.

    Attributes:
        name: name of a tree or partition.
        trees: one or more trees.
        findings: findings of audits, by any judge; None without an audit. The page omits findings
            on nodes of other trees.
        settings: settings of the trees, as ``settings_text`` returns them.
        cost: figures of the build, in the order in which they are shown; a name ends in its unit
            (``_tokens``, ``_usd``). None if nothing is known.
        points: points of all nodes from ``compute_node_points``; None for a page without a map.
        link_of: returns the address at which people read a leaf's document, or "".
    """

    name: str
    trees: tuple[ReportTree, ...]
    findings: tuple[SentenceFinding, ...] | None = None
    settings: str = ""
    cost: Mapping[str, Figure] | None = None
    points: NDArray[np.float32] | None = None
    link_of: Callable[[Node], str] = lambda _node: ""
