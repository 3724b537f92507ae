"""Checks of the tables of an export, before any of them is written into a home.

Tables hold what the next build reuses: leaves, clusters, findings, costs, and decisions of people.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from raptor_core.errors import DamagedTableError, ExportError
from raptor_core.tables import values
from raptor_core.tables.curation import ACT_KINDS, ACTS
from raptor_core.tables.files import check_seal, check_unpacked, table_properties
from raptor_core.tables.schema import Schema
from raptor_core.transfer.checks import has_derived_id
from raptor_core.transfer.rows import wrong_cells

if TYPE_CHECKING:
    import pyarrow as pa


def _check_nodes(table: pa.Table) -> None:
    """Raise ValueError for a cell of a wrong type, or an id that its content does not give."""
    nodes = values.table_to_nodes(table)
    sizes = Counter(node.layer for node in nodes)
    for row, node in enumerate(nodes, 1):
        problem = next(wrong_cells(node), "")
        if not problem and not (node.documents and has_derived_id(node, sizes[node.layer])):
            problem = "its id is not that of its tree and content"
        if problem:
            raise ValueError(f"row {row}: {problem}")


_READERS: dict[Schema, Callable[..., Any]] = {
    values.CLUSTERS: values.table_to_clusterings,
    values.DOCUMENTS: values.table_to_documents,
    values.FINDINGS: values.table_to_findings,
    values.NODES: _check_nodes,
    values.USAGES: values.table_to_usages,
}
"""Functions by which a build reads the tables of a schema."""


def check_table(data: bytes, where: str, schema: Schema, trees: Collection[str] | None) -> pa.Table:
    """Return the table of a file, which must have this schema.

    ``trees`` are the values that a column ``tree`` may have; None for any. ExportError names the
    file ``where``.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        check_seal(data, where)
        file = pq.ParquetFile(pa.BufferReader(data))
        check_unpacked(file)
        schema.check(file.schema_arrow)
        history = json.loads(table_properties(file.schema_arrow).get("history", "[]"))
        if not isinstance(history, list) or not all(isinstance(row, dict) for row in history):
            raise ValueError("its history is no list of objects")
        table = file.read(use_threads=False)
        rows = list(schema.rows(table))
        if read := _READERS.get(schema):
            read(table)
    except (
        *(pa.ArrowException, OSError, KeyError, ValueError, TypeError),
        *(AttributeError, RecursionError, DamagedTableError),
    ) as error:
        raise ExportError(f"{where} is no table of this program: {error}; export again") from error
    at = schema.names.index("tree") if trees is not None and "tree" in schema.names else None
    for row, cells in enumerate(rows, 1):
        if at is not None and cells[at] not in (trees or ()):
            raise ExportError(
                f"{where}, row {row}: it is of the tree {cells[at]!r:.80}, which is not of this "
                "partition; export again"
            )
    return table


def tree_of_act_file(data: bytes, where: str, name: str) -> str:
    """Return the tree of the act ``name``; raise ExportError if the file is not its table."""
    rows = list(ACTS.rows(check_table(data, where, ACTS, None)))
    if len(rows) != 1 or rows[0][0] != name or rows[0][1] not in ACT_KINDS:
        raise ExportError(f"{where} is not the table of the decision {name!r:.80}; export again")
    return str(rows[0][2])
