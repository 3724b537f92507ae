"""What summaries were paid for as a table, and back: a row for each text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple
from typing import TYPE_CHECKING

from raptor_core.models.money.usage import Usage
from raptor_core.tables.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

USAGES = Schema(
    ("content_key", "string"),
    ("calls", "int"),
    ("prompt_tokens", "int"),
    ("completion_tokens", "int"),
    ("retries", "int"),
    ("usd", "float"),
)
"""The fields of a usage in their order, behind the text's content key."""


def usages_to_table(usages: Mapping[str, Usage]) -> pa.Table:
    """One row per content key, sorted; ``usd`` is empty where no price was set."""
    return USAGES.table((key, *astuple(used)) for key, used in sorted(usages.items()))


def table_to_usages(table: pa.Table) -> dict[str, Usage]:
    """The usages of a table that ``usages_to_table`` made, by content key."""
    return {key: Usage(*used) for key, *used in USAGES.rows(table)}
