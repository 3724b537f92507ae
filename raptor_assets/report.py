"""Change, cost and findings in a partition's report; the nodes come from their tables."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from raptor_assets import names
from raptor_assets.partition_costs import COUNTED
from raptor_assets.partition_state import PartitionState
from raptor_assets.specs import REPORTS
from raptor_core.audit.base import SentenceFinding
from raptor_core.audit.report import with_marks
from raptor_core.curation import Curation
from raptor_core.nodes import Node, Tree
from raptor_core.report.rebuilds import keep_live, replaced_nodes
from raptor_core.report.values import (
    Figure,
    Rebuild,
    RebuildChange,
    ReplacedNode,
    ReportTree,
    change_since,
)
from raptor_core.tables.files import TableStore
from raptor_core.tables.values import table_to_findings
from raptor_core.tree.corpus_tree import CORPUS_TREE_NAME

if TYPE_CHECKING:
    import pyarrow as pa

Cost = Mapping[str, Figure]


@dataclass(frozen=True, slots=True)
class TreeRecord:
    """Record of a tree in its report's table, from which the next change is measured."""

    tree: str
    build_id: str
    published_at: str
    node_ids: tuple[str, ...]
    change: RebuildChange
    cost: Cost | None
    rebuilds: tuple[Rebuild, ...] = ()


def read_records(tables: TableStore, partition: str) -> dict[str, TreeRecord]:
    """Return the records of a partition's trees by name, none before its first report."""
    table = tables.find(names.REPORT.split("/"), partition)
    rows = () if table is None else REPORTS.rows(table)
    records = {}
    for tree, build_id, published_at, node_ids, values, cost, kept in rows:
        change = RebuildChange(values["previous"], tuple(values["added"]), values["n_removed"])
        rebuilds = tuple(map(_rebuild, kept or ()))
        records[tree] = TreeRecord(tree, build_id, published_at, node_ids, change, cost, rebuilds)
    return records


def _rebuild(values: Mapping[str, Any]) -> Rebuild:
    pairs = ({**pair, "documents": tuple(pair["documents"])} for pair in values["replaced"])
    sizes = {name: tuple(values[name]) for name in ("sizes_before", "sizes_after")}
    replaced = tuple(ReplacedNode(**pair) for pair in pairs)
    return Rebuild(**{**values, **sizes, "replaced": replaced})


def records_table(records: Iterable[TreeRecord]) -> pa.Table:
    """Return a table with a row for each tree; its columns are the fields of a record."""
    return REPORTS.table(tuple(asdict(record).values()) for record in records)


def next_record(
    tree: ReportTree, record: TreeRecord | None, cost: Cost | None, basis: Tree | None, n_kept: int
) -> TreeRecord:
    """Return a tree's next record; ``basis`` is the tree that was built upon, if one was read."""
    if record and record.build_id == tree.build_id:
        return record
    node_ids = tuple(node.id for node in tree.nodes)
    previous = (record.published_at, record.node_ids) if record else ("", ())
    change = change_since(*previous, node_ids)
    rebuilds = _rebuilds(tree, record, cost, basis, change)[:n_kept] if record else ()
    at = tree.published_at
    return TreeRecord(tree.name, tree.build_id, at, node_ids, change, cost, rebuilds)


def _rebuilds(
    tree: ReportTree,
    record: TreeRecord,
    cost: Cost | None,
    basis: Tree | None,
    change: RebuildChange,
) -> tuple[Rebuild, ...]:
    """Return this rebuild and the earlier ones, without the text of removed documents.

    The corpus tree's keep no text: its documents are summaries, which may quote a removed document.
    If the run that published the tree died, ``basis`` is the tree itself and says nothing.
    """
    earlier, is_above = list(basis.nodes()) if basis else [], tree.name == CORPUS_TREE_NAME
    is_known = {node.id for node in earlier} == set(record.node_ids)
    newest = Rebuild(
        previous=record.published_at,
        published=tree.published_at,
        sizes_before=_sizes(earlier) if is_known else (),
        sizes_after=_sizes(tree.nodes),
        n_added=len(change.added),
        n_removed=change.n_removed,
        replaced=replaced_nodes(earlier, tree.nodes) if is_known and not is_above else (),
        cost=cost,
    )
    live = () if is_above else {name for node in tree.nodes for name in node.documents}
    kept = (replace(old, replaced=keep_live(old.replaced, live)) for old in record.rebuilds)
    return (newest, *kept)


def _sizes(nodes: Iterable[Node]) -> tuple[int, ...]:
    counts = Counter(node.layer for node in nodes)
    return tuple(counts[layer] for layer in range(len(counts)))


def build_cost(state: PartitionState) -> Cost | None:
    """Return the cost of this run's build, with audits; None if it built nothing."""
    if not state.plans:
        return None
    costs = state.costs
    used = costs.usage + costs.audit_usage
    cost: dict[str, Figure] = {
        "summaries_made": costs.n_summarized,
        "texts_embedded": costs.n_embedded,
        "summaries_audited": sum(report.n_judged for report in state.audits.values()),
    }
    if used.calls:
        cost |= {name: getattr(used, name) for name in COUNTED}
    return cost | {"spent_usd": used.usd}


def merged_cost(records: Sequence[TreeRecord]) -> Cost | None:
    """Return the cost on a page of these trees: that of the newest build."""
    known = [record for record in records if record.cost is not None]
    return max(known, key=lambda record: record.published_at).cost if known else None


def read_findings(
    tables: TableStore, partition: str, layers: Iterable[int], curation: Curation
) -> tuple[SentenceFinding, ...] | None:
    """Return the findings of judges and people with people's marks, None without any table."""
    assets = [name(layer) for layer in layers for name in (names.findings, names.manual_findings)]
    tables_found = (tables.find(asset.split("/"), partition) for asset in assets)
    known = [table for table in tables_found if table is not None]
    if not known:
        return None
    return tuple(with_marks(itertools.chain(*map(table_to_findings, known)), curation))
