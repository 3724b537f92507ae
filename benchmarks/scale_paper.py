"""Ten million documents on paper: what a build of so much would take, from measured unit costs.

Every number is a unit cost times a count; `docs/scale.md` says where each unit cost was measured.
All may be replaced by a reader's own: `python benchmarks/scale.py --paper --set workers=50`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields

GB = 1e9
Row = tuple[str, str, float, str]
"""What, its formula, the result, its unit."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What is given, what was measured, what is assumed. CPU seconds are of one core."""

    # Given.
    documents: float = 1e7
    tokens: float = 1e9
    documents_per_tree: float = 100
    shards: float = 20_000
    workers: float = 20
    # Measured: docs/scale.md, "Unit costs".
    tokens_per_leaf: float = 79
    summaries_per_leaf: float = 0.231
    own_cpu_seconds_per_million_tokens: float = 167
    event_rows_per_partition: float = 51
    event_bytes_per_partition: float = 79e3
    look_cpu_seconds_per_row: float = 12e-6
    look_bytes_per_row: float = 170
    store_bytes_per_node: float = 4.0e3
    table_bytes_per_node: float = 1.9e3
    page_bytes_per_node: float = 1.1e3
    # Assumed: replace them.
    dimensions: float = 384
    embedded_texts_per_second_and_worker: float = 85
    memberships_per_node: float = 1.2
    summary_tokens: float = 131
    prompt_overhead_tokens: float = 60
    usd_per_million_input_tokens: float = 0.15
    usd_per_million_output_tokens: float = 0.60
    seconds_per_call: float = 2.0
    calls_at_once_per_worker: float = 8

    @property
    def leaves(self) -> float:
        """A document has one at the least."""
        return max(self.tokens / self.tokens_per_leaf, self.documents)

    @property
    def summaries(self) -> float:
        """Of all layers; a model call each."""
        return self.leaves * self.summaries_per_leaf

    @property
    def nodes(self) -> float:
        """Of all layers."""
        return self.leaves + self.summaries


def counts(c: Costs) -> Iterator[Row]:
    """Partitions, trees, nodes, events."""
    yield "partitions", "shards", c.shards, ""
    yield "documents in a partition", "documents / shards", c.documents / c.shards, ""
    yield "trees", "documents / documents_per_tree", c.documents / c.documents_per_tree, ""
    yield "leaves", "max(tokens / tokens_per_leaf, documents)", c.leaves, ""
    yield "summaries, model calls", "leaves × summaries_per_leaf", c.summaries, ""
    yield "nodes", "leaves + summaries", c.nodes, ""
    rows = c.shards * c.event_rows_per_partition
    yield "event rows of a whole build", "shards × event_rows_per_partition", rows, ""


def sizes(c: Costs) -> Iterator[Row]:
    """What lies on disks and in memories."""
    events = c.shards * c.event_bytes_per_partition
    yield "events in SQLite", "shards × event_bytes_per_partition", events / GB, "GB"
    store = c.nodes * c.store_bytes_per_node
    yield "vector store on disk", "nodes × store_bytes_per_node", store / GB, "GB"
    vectors = c.nodes * c.dimensions * 4
    yield "of which vectors, float32", "nodes × dimensions × 4", vectors / GB, "GB"
    yield "Qdrant's memory, all vectors in it", "vectors × 1.5", 1.5 * vectors / GB, "GB"
    yield "int8 in memory, float32 on disk", "vectors / 4 × 1.5", 1.5 * vectors / 4 / GB, "GB"
    yield "binary in memory, float32 on disk", "vectors / 32 × 1.5", 1.5 * vectors / 32 / GB, "GB"
    files = c.nodes * (c.table_bytes_per_node + c.page_bytes_per_node)
    formula = "nodes × (table_bytes_per_node + page_bytes_per_node)"
    yield "tables and pages", formula, files / GB, "GB"
    look = c.documents * c.look_bytes_per_row
    yield "memory of a look, rows of tables", "documents × look_bytes_per_row", look / GB, "GB"


def money(c: Costs) -> Iterator[Row]:
    """What the summaries cost once; every node but the tops is read by those above it."""
    tops = c.documents / c.documents_per_tree
    read = c.tokens + max(0.0, c.summaries - tops) * c.summary_tokens
    given = read * c.memberships_per_node + c.summaries * c.prompt_overhead_tokens
    formula = "(tokens + (summaries - trees) × summary_tokens) × memberships + prompts"
    yield "tokens to the model", formula, given, ""
    made = c.summaries * c.summary_tokens
    yield "tokens from the model", "summaries × summary_tokens", made, ""
    usd = (given * c.usd_per_million_input_tokens + made * c.usd_per_million_output_tokens) / 1e6
    yield "cost", "tokens to × price in + tokens from × price out", usd, "USD"


def hours(c: Costs) -> Iterator[Row]:
    """How long it takes, with nothing in the way of the workers."""
    look = c.documents * c.look_cpu_seconds_per_row / 60
    yield "a look without changes", "documents × look_cpu_seconds_per_row", look, "minutes"
    own = c.tokens / 1e6 * c.own_cpu_seconds_per_million_tokens / c.workers / 3600
    formula = "tokens / 1e6 × own_cpu_seconds_per_million_tokens / workers"
    yield "our own work, one core of each worker", formula, own, "hours"
    embedding = c.nodes / c.embedded_texts_per_second_and_worker / c.workers / 3600
    yield "embedding", "nodes / embedded_texts_per_second / workers", embedding, "hours"
    calls = c.summaries * c.seconds_per_call / c.calls_at_once_per_worker / c.workers / 3600
    formula = "summaries × seconds_per_call / calls_at_once / workers"
    yield "waiting for the model", formula, calls, "hours"
    yield "the whole build", "the sum of these three", own + embedding + calls, "hours"


def print_paper(given: Sequence[str]) -> None:
    """Print the costs and what follows from them; ``given`` are "name=value"."""
    known = [field.name for field in fields(Costs)]
    values = dict(pair.split("=", 1) for pair in given)
    unknown = sorted(values.keys() - set(known))
    if unknown:
        raise SystemExit(f"no number is called {unknown[0]!r}; there are: {', '.join(known)}")
    costs = Costs(**{name: float(value) for name, value in values.items()})
    print("| number | value |\n| --- | --- |")
    for name, value in asdict(costs).items():
        print(f"| `{name}` | {value:,.6g} |")
    print("\n| what | formula | result |\n| --- | --- | --- |")
    for rows in (counts, sizes, money, hours):
        for what, formula, result, unit in rows(costs):
            print(f"| {what} | {formula} | {_shown(result)} {unit}".rstrip() + " |")


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
