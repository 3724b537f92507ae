"""Change, cost and findings in a partition's report; the nodes come from their tables."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from raptor_assets.assets.names import CHAIN_NAMES, manual_findings
from raptor_assets.assets.schemas import REPORTS
from raptor_assets.shown.progress import COUNTED, PartitionCosts
from raptor_core.audit.base import SentenceFinding
from raptor_core.audit.report import with_marks
from raptor_core.curation import Curation
from raptor_core.report.values import (
    Figure,
    RebuildChange,
    ReportTree,
    change_since,
)
from raptor_core.tables.files import TableStore
from raptor_core.tables.values import table_to_findings

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

    def notes(self) -> dict[str, object]:
        """Return what a kept build says of itself: nodes that came and went, and the cost."""
        counts = {"n_added": len(self.change.added), "n_removed": self.change.n_removed}
        return {**counts, "cost": dict(self.cost) if self.cost else None}


def read_records(tables: TableStore, partition: str) -> dict[str, TreeRecord]:
    """Return the records of a partition's trees by name, none before its first report."""
    table = tables.find(CHAIN_NAMES.report.path, partition)
    rows = () if table is None else REPORTS.rows(table)
    records = {}
    for tree, build_id, published_at, node_ids, values, cost in rows:
        change = RebuildChange(values["previous"], tuple(values["added"]), values["n_removed"])
        records[tree] = TreeRecord(tree, build_id, published_at, node_ids, change, cost)
    return records


def records_table(records: Iterable[TreeRecord]) -> pa.Table:
    """Return a table with a row for each tree; its columns are the fields of a record."""
    return REPORTS.table(tuple(asdict(record).values()) for record in records)


def next_record(tree: ReportTree, record: TreeRecord | None, cost: Cost | None) -> TreeRecord:
    """Return a tree's next record."""
    if record and record.build_id == tree.build_id:
        return record
    node_ids = tuple(node.id for node in tree.nodes)
    previous = (record.published_at, record.node_ids) if record else ("", ())
    change = change_since(*previous, node_ids)
    return TreeRecord(tree.name, tree.build_id, tree.published_at, node_ids, change, cost)


def build_cost(costs: PartitionCosts, n_audited: int) -> Cost:
    """Return the cost of a build, with its audits."""
    used = costs.usage + costs.audit_usage
    cost: dict[str, Figure] = {
        "summaries_made": costs.n_summarized,
        "texts_embedded": costs.n_embedded,
        "summaries_audited": n_audited,
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
    both = (CHAIN_NAMES.findings, manual_findings)
    assets = [of_layer(layer) for layer in layers for of_layer in both]
    tables_found = (tables.find(asset.path, partition) for asset in assets)
    known = [table for table in tables_found if table is not None]
    if not known:
        return None
    return tuple(with_marks(itertools.chain(*map(table_to_findings, known)), curation))
