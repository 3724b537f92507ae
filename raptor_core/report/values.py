"""What a report shows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from raptor_core.audit.base import SentenceFinding
from raptor_core.documents.base import Document
from raptor_core.models.money.usage import Usage
from raptor_core.nodes import Node

Figure = float | str | None
"""A figure of the cost; None where it is unknown, as money is without a price."""


@dataclass(frozen=True, slots=True)
class Change:
    """What the last build changed in a tree.

    Attributes:
        previous: when the tree before was published, ISO 8601; empty when there was none.
        added: ids of nodes that the tree before did not have; of a first build, none are listed.
        n_removed: nodes that are gone. Their texts are not kept.
    """

    previous: str = ""
    added: tuple[str, ...] = ()
    n_removed: int = 0


@dataclass(frozen=True, slots=True)
class Replaced:
    """A node that a rebuild made, changed or took away: its words before and after.

    Attributes:
        layer: of the node; 0 for a chunk.
        before, after: the texts; empty where there was none, or is none now.
        n_before, n_after: children of a summary.
        documents: of both; what is left of a document that is gone is forgotten with it.
    """

    layer: int
    before: str
    after: str
    n_before: int
    n_after: int
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rebuild:
    """One rebuild of a tree.

    Attributes:
        previous, published: when the trees before and after it were published, ISO 8601.
        sizes_before, sizes_after: nodes by layer; before is empty where it is not known.
        n_added, n_removed: nodes.
        replaced: at most ``MAX_REPLACED``, from the top layer down; those of documents that are
            gone are left out.
        cost: figures of the build, as in ``Report``.
    """

    previous: str
    published: str
    sizes_before: tuple[int, ...]
    sizes_after: tuple[int, ...]
    n_added: int
    n_removed: int
    replaced: tuple[Replaced, ...]
    cost: Mapping[str, Figure] | None


@dataclass(frozen=True, slots=True)
class ReportTree:
    """One published tree.

    Attributes:
        name: the tree's name.
        build_id: see ``Manifest``.
        published_at: ISO 8601 time in UTC.
        ended: why it ended at its top layer.
        nodes: all nodes, layer by layer, in document order within each.
        documents: those whose texts are known; a span of any other shows its own text alone.
        change: since the build before; None where it is not known.
        rebuilds: the last ones, newest first.
    """

    name: str
    build_id: str
    published_at: str
    ended: str
    nodes: tuple[Node, ...]
    documents: tuple[Document, ...] = ()
    change: Change | None = None
    rebuilds: tuple[Rebuild, ...] = ()


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a strategy chose for a question: ids of nodes, best first.

    Those that are in none of the page's trees are left out.
    """

    question: str
    strategy: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """All that one page shows.

    Attributes:
        name: of the page: a tree's, or a partition's.
        trees: at least one.
        findings: of audits, by any judge; None where no audit is known. Those of nodes that are
            in none of the trees are left out.
        settings: the settings that made the trees, as ``settings_text`` gives them.
        cost: figures of the build that made the trees, in the order in which they are shown; a
            name ends in its unit (``_tokens``, ``_usd``). None where nothing is known.
        usages: what the summaries were paid for, by node id, in whichever build; those that took
            nothing, or nobody knows what, are left out.
        chosen: nodes that questions chose, marked in the tree; of several strategies, each has
            marks of its own.
        points: of all nodes on a plane, as ``lay_out`` gives them; None for a page without a map.
    """

    name: str
    trees: tuple[ReportTree, ...]
    findings: tuple[SentenceFinding, ...] | None = None
    settings: str = ""
    cost: Mapping[str, Figure] | None = None
    usages: Mapping[str, Usage] = field(default_factory=dict)
    chosen: tuple[Chosen, ...] = ()
    points: NDArray[np.float32] | None = None


def change_since(previous: str, known: Collection[str], node_ids: Collection[str]) -> Change:
    """The change from a tree of the nodes ``known``, published at ``previous``, to ``node_ids``."""
    if not previous:
        return Change()
    before, now = set(known), set(node_ids)
    added = tuple(node_id for node_id in node_ids if node_id not in before)
    return Change(previous, added, len(before - now))
