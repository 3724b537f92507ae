"""Compression statistics, as in Table 10."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raptor_core.evaluation.paper.published import COMPRESSION
from raptor_core.evaluation.paper.study import Study
from raptor_core.evaluation.paper.table import Table
from raptor_core.evaluation.tree_statistics import TreeStatistics, pooled

_HEAD = (
    *("data set", "trees", "nodes by layer", "tokens of a summary", "tokens of a child"),
    *("children per summary", "ratio"),
)


def compression_tables(studies: Sequence[Study]) -> list[Table]:
    """The trees of all data sets, and the paper's."""
    rows = tuple(row for study in studies for row in _rows(study))
    if len(studies) > 1:
        rows += (_row("all together", pooled([study.trees for study in studies])),)
    note = "Tokens are the embedder's own or tiktoken's, as the settings say (tokens.counter)."
    published = tuple((name, *figures) for name, figures in COMPRESSION.items())
    return [
        Table("Compression of the trees", _HEAD, rows, note),
        Table("Paper, Table 10", (_HEAD[0], *_HEAD[3:]), published, "Summaries by gpt-3.5-turbo."),
    ]


def _rows(study: Study) -> Iterator[tuple[str, ...]]:
    yield _row(study.name, study.trees)
    if study.contiguous:
        yield _row(f"{study.name}, contiguous", study.contiguous)


def _row(name: str, trees: TreeStatistics) -> tuple[str, ...]:
    return (
        name,
        f"{trees.n_trees:,}",
        " → ".join(f"{n:,}" for n in trees.nodes_by_layer),
        f"{trees.mean_summary_tokens:.1f}",
        f"{trees.mean_child_tokens:.1f}",
        f"{trees.mean_children:.1f}",
        f"{trees.mean_ratio:.2f}",
    )
