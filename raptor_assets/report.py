"""What a partition's report is made of beside its nodes: change, cost, findings."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from raptor_assets import keys
from raptor_assets.columns import REPORTS
from raptor_assets.hand import hand_keys
from raptor_assets.partition_state import PartitionState
from raptor_core.audit.base import SentenceFinding
from raptor_core.audit.report import with_marks
from raptor_core.curation import Curation
from raptor_core.report import Change, ReportTree, change_since
from raptor_core.report.values import Figure
from raptor_core.tables import TableStore, table_to_findings

if TYPE_CHECKING:
    import pyarrow as pa

Cost = Mapping[str, Figure]


@dataclass(frozen=True, slots=True)
class TreeRecord:
    """What is kept of a tree beside its page: what the next build's change is measured from.

    ``cost`` is of the build that made the tree, of its whole partition; None where it is unknown.
    """

    tree: str
    build_id: str
    published_at: str
    node_ids: tuple[str, ...]
    change: Change
    cost: Cost | None


def read_records(tables: TableStore, partition: str) -> dict[str, TreeRecord]:
    """What is kept of a partition's trees, by name; nothing where it has no report yet.

    Raises:
        TableError: the table is damaged.
    """
    table = tables.find(keys.REPORT.path, partition)
    rows = () if table is None else REPORTS.rows(table)
    records = {}
    for tree, build_id, published_at, node_ids, told, cost in rows:
        change = Change(told["previous"], tuple(told["added"]), told["n_removed"])
        records[tree] = TreeRecord(tree, build_id, published_at, node_ids, change, cost)
    return records


def records_table(records: Iterable[TreeRecord]) -> pa.Table:
    """One row per tree."""
    return REPORTS.table(
        (
            record.tree,
            record.build_id,
            record.published_at,
            record.node_ids,
            asdict(record.change),
            record.cost,
        )
        for record in records
    )


def next_record(tree: ReportTree, before: TreeRecord | None, cost: Cost | None) -> TreeRecord:
    """The record of a tree: the old one while its content is the same, else what changed."""
    if before and before.build_id == tree.build_id:
        return before
    node_ids = tuple(node.id for node in tree.nodes)
    previous = (before.published_at, before.node_ids) if before else ("", ())
    change = change_since(*previous, node_ids)
    return TreeRecord(tree.name, tree.build_id, tree.published_at, node_ids, change, cost)


def build_cost(state: PartitionState) -> Cost | None:
    """What this run's build of a partition took, audits included; None where it built nothing.

    Calls and tokens are left out where no endpoint was called; money is None without a price.
    """
    if not state.plans:
        return None
    used = state.usage + state.audit_usage
    cost: dict[str, Figure] = {
        "summaries_made": state.n_summarized,
        "texts_embedded": state.n_embedded,
        "summaries_audited": sum(report.n_judged for report in state.audits.values()),
    }
    if used.calls:
        cost |= {
            "calls": used.calls,
            "retries": used.retries,
            "prompt_tokens": used.prompt_tokens,
            "completion_tokens": used.completion_tokens,
        }
    return cost | {"spent_usd": used.usd}


def merged_cost(records: Sequence[TreeRecord]) -> Cost | None:
    """The cost that a page of these trees shows: of the newest build among them."""
    known = [record for record in records if record.cost is not None]
    return max(known, key=lambda record: record.published_at).cost if known else None


def read_findings(
    tables: TableStore, partition: str, layers: Iterable[int], curation: Curation
) -> tuple[SentenceFinding, ...] | None:
    """Findings of judges and people on some layers, in their order; None where there are none.

    With the marks that people gave them.

    Raises:
        TableError: a table is damaged.
    """
    places = ([keys.findings(layer).path, *hand_keys([layer])] for layer in layers)
    given = (tables.find(key, partition) for key in itertools.chain(*places))
    known = [table for table in given if table is not None]
    if not known:
        return None
    return tuple(with_marks(itertools.chain(*map(table_to_findings, known)), curation))
