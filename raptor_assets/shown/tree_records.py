"""Table of a partition's published trees, with the changes and cost of their last build."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_assets.assets.schemas import TREES
from raptor_assets.shown.progress import COUNTED, PartitionCosts
from raptor_core.audit.base import SentenceFinding
from raptor_core.audit.report import apply_decisions
from raptor_core.curation import Curation
from raptor_core.report.values import Figure, RebuildChange
from raptor_core.store.base import Manifest, PublicationCounts
from raptor_core.tables.files import TableStore
from raptor_core.tables.values import table_to_findings

if TYPE_CHECKING:
    import pyarrow as pa

Cost = Mapping[str, Figure]


@dataclass(frozen=True, slots=True)
class TreeRecord:
    """Changes and cost of the build that made a published tree."""

    build_id: str
    change: RebuildChange
    cost: Cost | None = None

    @classmethod
    def of(
        cls,
        new: Manifest,
        replaced: Manifest | None,
        counts: PublicationCounts,
        cost: Cost | None = None,
    ) -> TreeRecord:
        """Make the record of a tree that was published; a first build has no changes."""
        change = RebuildChange()
        if replaced:
            change = RebuildChange(replaced.published_at, counts.new_ids, counts.removed)
        return cls(new.build_id, change, cost)

    def to_notes(self) -> dict[str, object]:
        """Return notes for a kept build: numbers of nodes added and removed, and the cost."""
        counts = {"n_added": len(self.change.added), "n_removed": self.change.n_removed}
        return {**counts, "cost": dict(self.cost) if self.cost else None}


def read_partition_records(tables: TableStore, partition: str) -> dict[str, TreeRecord]:
    """Return the records of a partition's published trees by name."""
    table = tables.read_if_exists(CHAIN_NAMES.tree.table_path, partition)
    records = {}
    for tree, build_id, *_, change, cost in () if table is None else TREES.rows(table):
        made = RebuildChange(change["previous"], tuple(change["added"]), change["n_removed"])
        records[tree] = TreeRecord(build_id, made, cost)
    return records


def trees_table(manifests: Iterable[Manifest], records: Mapping[str, TreeRecord]) -> pa.Table:
    """Make the table of a partition's published trees; ``records`` are by tree."""
    return TREES.to_table(
        (
            m.tree,
            m.build_id,
            m.layer_sizes,
            sum(m.layer_sizes),
            m.n_tokens,
            m.end,
            m.published_at,
            asdict(records[m.tree].change),
            records[m.tree].cost,
        )
        for m in manifests
    )


def to_build_cost(costs: PartitionCosts, n_audited: int) -> Cost:
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


def read_findings(
    tables: TableStore, partition: str, layers: Iterable[int], curation: Curation
) -> tuple[SentenceFinding, ...] | None:
    """Return the findings of judges, with people's marks; None if there is no table."""
    tables_found = (
        tables.read_if_exists(CHAIN_NAMES.findings(layer).table_path, partition) for layer in layers
    )
    known = [table for table in tables_found if table is not None]
    if not known:
        return None
    return tuple(apply_decisions(itertools.chain(*map(table_to_findings, known)), curation))
