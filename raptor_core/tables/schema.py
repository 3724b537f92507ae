"""Schemas of tables: rows of values become Arrow tables and are read back, without pandas.

``pa.array`` imports pandas, which takes longer than planning or building one edit. So arrays are
made from buffers. The schemas are in ``values.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["string", "int", "float", "list[string]", "json", "bytes"]
"""Type of a column; ``int`` and ``float`` may be null, ``json`` is any value as JSON text."""


@dataclass(frozen=True, slots=True)
class Column:
    """Name, type and description of a column."""

    name: str
    kind: Kind
    description: str = ""


class Schema:
    """Columns of a table, in order; types do not depend on the rows."""

    def __init__(self, *columns: tuple[str, Kind] | tuple[str, Kind, str]) -> None:
        self.columns = tuple(Column(*column) for column in columns)
        self.names = tuple(column.name for column in self.columns)

    def to_table(self, rows: Iterable[Sequence[Any]]) -> pa.Table:
        """Return the table of some rows, each with a value for every column."""
        import pyarrow as pa

        columns = list(zip(*rows, strict=True)) or [()] * len(self.columns)
        pairs = zip(self.columns, columns, strict=True)
        arrays = [_make_array(column.kind, values) for column, values in pairs]
        return pa.Table.from_arrays(arrays, names=list(self.names))

    def rows(self, table: pa.Table) -> Iterator[tuple[Any, ...]]:
        """Yield rows of a table, lists as tuples; raise KeyError for a missing column."""
        return zip(*(self._cells(column, table) for column in self.columns), strict=True)

    def _cells(self, column: Column, table: pa.Table) -> Iterable[Any]:
        values = table.column(column.name).to_pylist()
        if column.kind == "json":
            return map(json.loads, values)
        return map(tuple, values) if column.kind == "list[string]" else values


def _make_array(kind: Kind, values: Sequence[Any]) -> pa.Array:
    import pyarrow as pa

    if kind == "list[string]":
        ends = pa.py_buffer(np.cumsum([0, *map(len, values)], dtype=np.int32))
        starts = pa.Array.from_buffers(pa.int32(), len(values) + 1, [None, ends])
        texts = [text for value in values for text in value]
        return pa.ListArray.from_arrays(starts, _make_array("string", texts))
    if kind in ("int", "float"):
        known = np.array([value is not None for value in values], dtype=bool)
        numbers = np.array([value or 0 for value in values], dtype=f"{kind}64")
        buffers = [pa.py_buffer(np.packbits(known, bitorder="little")), pa.py_buffer(numbers)]
        return pa.Array.from_buffers(getattr(pa, f"{kind}64")(), len(values), buffers)
    if kind == "json":
        values = [json.dumps(value, ensure_ascii=False, default=dict) for value in values]
    data = values if kind == "bytes" else [text.encode() for text in values]
    ends = pa.py_buffer(np.cumsum([0, *map(len, data)], dtype=np.int64))
    type_ = pa.large_binary() if kind == "bytes" else pa.large_string()
    return pa.Array.from_buffers(type_, len(data), [None, ends, pa.py_buffer(b"".join(data))])
