"""What a partition's report is made of beside its nodes: change, cost, findings."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from raptor_assets import keys
from raptor_assets.costs import COUNTED
from raptor_assets.names import hand_findings
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

if TYPE_CHECKING:
    import pyarrow as pa

Cost = Mapping[str, Figure]


@dataclass(frozen=True, slots=True)
class TreeRecord:
    """What is kept of a tree beside its page: what the next build's change is measured from.

    ``cost`` is of the build that made the tree, of its whole partition; None where it is unknown.
    ``rebuilds`` are the last ones, newest first.
    """

    tree: str
    build_id: str
    published_at: str
    node_ids: tuple[str, ...]
    change: RebuildChange
    cost: Cost | None
    rebuilds: tuple[Rebuild, ...] = ()


def read_records(tables: TableStore, partition: str) -> dict[str, TreeRecord]:
    """What is kept of a partition's trees, by name; nothing where it has no report yet."""
    table = tables.find(keys.REPORT.path, partition)
    rows = () if table is None else REPORTS.rows(table)
    records = {}
    for tree, build_id, published_at, node_ids, told, cost, kept in rows:
        change = RebuildChange(told["previous"], tuple(told["added"]), told["n_removed"])
        rebuilds = tuple(map(_rebuild, kept or ()))
        records[tree] = TreeRecord(tree, build_id, published_at, node_ids, change, cost, rebuilds)
    return records


def _rebuild(values: Mapping[str, Any]) -> Rebuild:
    pairs = ({**one, "documents": tuple(one["documents"])} for one in values["replaced"])
    sizes = {name: tuple(values[name]) for name in ("sizes_before", "sizes_after")}
    return Rebuild(**{**values, **sizes, "replaced": tuple(ReplacedNode(**one) for one in pairs)})


def records_table(records: Iterable[TreeRecord]) -> pa.Table:
    """One row per tree; the columns are a record's fields in their order."""
    return REPORTS.table(tuple(asdict(record).values()) for record in records)


def next_record(
    tree: ReportTree, record: TreeRecord | None, cost: Cost | None, before: Tree | None, n_kept: int
) -> TreeRecord:
    """The record of a tree: the old one while its content is the same, else what changed.

    Args:
        record: the last one.
        cost: of this build.
        before: the tree that was built upon; None where this run read none.
        n_kept: rebuilds whose words are kept.
    """
    if record and record.build_id == tree.build_id:
        return record
    node_ids = tuple(node.id for node in tree.nodes)
    previous = (record.published_at, record.node_ids) if record else ("", ())
    change = change_since(*previous, node_ids)
    rebuilds = _rebuilds(tree, record, cost, before, change)[:n_kept] if record else ()
    at = tree.published_at
    return TreeRecord(tree.name, tree.build_id, at, node_ids, change, cost, rebuilds)


def _rebuilds(
    tree: ReportTree,
    record: TreeRecord,
    cost: Cost | None,
    before: Tree | None,
    change: RebuildChange,
) -> tuple[Rebuild, ...]:
    """This rebuild and those before it, without the words of documents that are gone.

    Where the run that published it died, what it built upon is the tree itself, and its words are
    not known.
    """
    earlier = list(before.nodes()) if before else []
    is_known = {node.id for node in earlier} == set(record.node_ids)
    newest = Rebuild(
        previous=record.published_at,
        published=tree.published_at,
        sizes_before=_sizes(earlier) if is_known else (),
        sizes_after=_sizes(tree.nodes),
        n_added=len(change.added),
        n_removed=change.n_removed,
        replaced=replaced_nodes(earlier, tree.nodes) if is_known else (),
        cost=cost,
    )
    live = {name for node in tree.nodes for name in node.documents}
    kept = (replace(old, replaced=keep_live(old.replaced, live)) for old in record.rebuilds)
    return (newest, *kept)


def _sizes(nodes: Iterable[Node]) -> tuple[int, ...]:
    counts = Counter(node.layer for node in nodes)
    return tuple(counts[layer] for layer in range(len(counts)))


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
        cost |= {name: getattr(used, name) for name in COUNTED}
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
    """
    places = ([keys.findings(layer).path, hand_findings(layer).split("/")] for layer in layers)
    given = (tables.find(key, partition) for key in itertools.chain(*places))
    known = [table for table in given if table is not None]
    if not known:
        return None
    return tuple(with_marks(itertools.chain(*map(table_to_findings, known)), curation))
