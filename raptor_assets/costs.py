"""Cost of each summary, in a small table next to its layer's table.

A cost is no part of a node, of its table or of a version. Rows are by content key and are written
at the end of a step, also after an error, so that a later run finds the costs of finished texts.
Only a killed process loses the costs of its current layer.
"""

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

Usages = Mapping[str, Usage]  # usages by content key, of all attempts at the text, failed ones too


def is_metered(settings: Settings) -> bool:
    """Return whether a model writes the summaries, so that each has a usage of its calls."""
    return settings.summarizer.kind != "extractive" or bool(settings.components.summarizer)


def read_usages(tables: TableStore, partition: str, layers: Iterable[int]) -> dict[str, Usage]:
    """Read the usages of the summaries of some layers; a damaged table counts as empty."""
    read: dict[str, Usage] = {}
    for layer in layers:
        with suppress(DamagedTableError):
            table = tables.find(usages(layer).split("/"), partition)
            read |= {} if table is None else table_to_usages(table)
    return read


def add_usages(tables: TableStore, partition: str, layer: int, paid: Usages) -> None:
    """Add usages to a layer's table; nothing is written without any."""
    if paid:
        known = read_usages(tables, partition, [layer])
        more = {key: known.get(key, Usage()) + usage for key, usage in paid.items()}
        tables.write(usages(layer).split("/"), partition, usages_to_table(known | more))


def keep_usages(
    tables: TableStore, partition: str, layer: int, content_keys: Collection[str], moved: Usages
) -> None:
    """Keep the costs of these texts of a layer only; ``moved`` adds those from other partitions."""
    known = read_usages(tables, partition, [layer])
    kept = {key: usage for key, usage in {**moved, **known}.items() if key in set(content_keys)}
    if kept and kept != known:
        tables.write(usages(layer).split("/"), partition, usages_to_table(kept))
    elif known and not kept:
        tables.delete(usages(layer).split("/"), partition)


def node_usages(nodes: Iterable[Node], usages: Usages) -> dict[str, Usage]:
    """Return usages by node id; of several nodes with one text the first has its usage."""
    rest = dict(usages)
    return {node.id: rest.pop(node.content_key) for node in nodes if node.content_key in rest}
