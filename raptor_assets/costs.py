"""What each summary was paid for, in a small table beside its layer's.

A cost is no part of a node: it stands in no version, and a table of nodes is the same whatever
its nodes cost. Rows are by content key and written at the end of a step, also of one that an error
or the budget ended: a later run, which goes on from what is finished, finds its cost too. Only a
process that is killed takes with it what it knew of the layer under way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

from raptor_assets.names import usages
from raptor_core.errors import DamagedTableError
from raptor_core.models.money.usage import Usage
from raptor_core.nodes import Node
from raptor_core.settings import Settings
from raptor_core.tables.files import TableStore
from raptor_core.tables.values import table_to_usages, usages_to_table

COUNTED = ("calls", "retries", "prompt_tokens", "completion_tokens")
"""Fields of a usage, in the order in which they are shown."""

Usages = Mapping[str, Usage]
"""By content key; all attempts at the text together, failed ones too."""


def is_metered(settings: Settings) -> bool:
    """Whether summaries may be paid for; what quotes takes nothing worth keeping."""
    return settings.summarizer.kind == "openai" or bool(settings.components.summarizer)


def read_usages(tables: TableStore, partition: str, layers: Iterable[int]) -> dict[str, Usage]:
    """What the summaries of some layers were paid for; a text without a record is left out.

    A damaged table counts as none: what its texts cost is no longer known.
    """
    read: dict[str, Usage] = {}
    for layer in layers:
        with suppress(DamagedTableError):
            table = tables.find(usages(layer).split("/"), partition)
            read |= {} if table is None else table_to_usages(table)
    return read


def add_usages(tables: TableStore, partition: str, layer: int, paid: Usages) -> None:
    """Add what was paid just now; nothing is written where nothing was."""
    if paid:
        known = read_usages(tables, partition, [layer])
        more = {key: known.get(key, Usage()) + usage for key, usage in paid.items()}
        tables.write(usages(layer).split("/"), partition, usages_to_table(known | more))


def keep_usages(
    tables: TableStore, partition: str, layer: int, wanted: Collection[str], others: Usages
) -> None:
    """Keep the costs of the wanted texts of a layer alone; ``others`` may know what is missing."""
    known = read_usages(tables, partition, [layer])
    kept = {key: usage for key, usage in {**others, **known}.items() if key in set(wanted)}
    if kept and kept != known:
        tables.write(usages(layer).split("/"), partition, usages_to_table(kept))
    elif known and not kept:
        tables.delete(usages(layer).split("/"), partition)


def node_usages(nodes: Iterable[Node], usages: Usages) -> dict[str, Usage]:
    """Usages by node id. Nodes with one text paid for it once: the first of them has it."""
    left = dict(usages)
    return {node.id: left.pop(node.content_key) for node in nodes if node.content_key in left}
