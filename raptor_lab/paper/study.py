"""Measurements on a data set for the paper's tables and figures.

Their tables are in ``tables``, pictures in ``raptor_lab.cli.paper``.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from scipy.stats import linregress

from raptor_core.documents.base import Document
from raptor_core.models.summarizing.prompts import count_prompt_tokens, prompt_overhead_tokens
from raptor_core.nodes import group_nodes
from raptor_core.tree.build import build_tree
from raptor_core.tree.components import Components
from raptor_lab.comparison.compare import (
    Comparison,
    ComparisonRow,
    Progress,
    compare,
    join_systems,
    split_by_kind,
)
from raptor_lab.comparison.contexts import Measurer
from raptor_lab.comparison.index import Index, TreeStatistics, compute_tree_statistics
from raptor_lab.comparison.measures import ContextMeasurer
from raptor_lab.comparison.systems import make_system
from raptor_lab.dpr import DPR, DprSystem

MAX_TOKENS = 80_000  # longest document of Figure 6
N_PREFIXES = 6
UNBOUND = 1_000_000  # budget of a traversal that is limited only by its number of nodes


@dataclass(frozen=True, slots=True)
class TokenPoint:
    """Tokens of a tree's leaves, and of the calls that write its summaries, without retries."""

    document_tokens: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class TimePoint:
    """Tokens of a document, and seconds of processor time of a build from scratch."""

    document_tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class FittedLine:
    """Line fitted by least squares: rise per 1,000 tokens of the document, and R²."""

    per_thousand_tokens: float
    r_squared: float


def count_tokens_by_tree(index: Index) -> list[TokenPoint]:
    """Count the tokens of each tree and its calls, shortest tree first, without a build."""
    nodes = index.store.nodes()
    by_id = {node.id: node for node in nodes}
    # Extracted summaries are counted as if a chat model wrote them.
    summarizer = index.components.settings.summarizer.model_copy(update={"kind": "openai"})
    overhead = prompt_overhead_tokens(summarizer, index.components.counter)
    points = []
    for tree_nodes in group_nodes(nodes, lambda node: node.tree).values():
        summaries = [node for node in tree_nodes if not node.is_leaf]
        inputs = ([by_id[child].n_tokens for child in node.children] for node in summaries)
        points.append(
            TokenPoint(
                document_tokens=sum(node.n_tokens for node in tree_nodes if node.is_leaf),
                prompt_tokens=sum(count_prompt_tokens(counts, overhead) for counts in inputs),
                completion_tokens=sum(node.n_tokens for node in summaries),
            )
        )
    return sorted(points, key=lambda point: point.document_tokens)


def needs_no_endpoint(components: Components) -> bool:
    """Return whether a build calls no chat model and no endpoint, so that a repeat is cheap."""
    settings = components.settings
    return settings.summarizer.kind == "extractive" and settings.embedder.kind != "openai"


def time_builds(
    documents: Sequence[Document],
    components: Components,
    progress: Callable[[int], None] | None = None,
) -> list[TimePoint]:
    """Build prefixes of the longest document, shortest first; report the tokens of each."""
    parts = list(_cut_prefixes(documents, components))
    for _, part in parts[:1]:  # a first build, not timed, loads the models
        build_tree([part], components=components)
    points = []
    for n_tokens, part in parts:
        if progress:
            progress(n_tokens)
        started = time.process_time()
        build_tree([part], components=components)
        points.append(TimePoint(n_tokens, time.process_time() - started))
    return points


def fit_line(lengths: Sequence[int], values: Sequence[float]) -> FittedLine | None:
    """Fit a straight line through values by length; None with fewer than two lengths."""
    if len(set(lengths)) < 2:
        return None
    line = linregress(lengths, values)
    explained = float(line.rvalue) ** 2 if len(set(values)) > 1 else 1.0
    return FittedLine(1000 * float(line.slope), explained)


def _cut_prefixes(
    documents: Sequence[Document], components: Components
) -> Iterator[tuple[int, Document]]:
    """Cut prefixes of the longest document in equal steps, up to ``MAX_TOKENS``."""
    counts = components.counter.count([document.text for document in documents])
    longest = documents[int(np.argmax(counts))]
    spans = list(islice(components.counter.token_spans(longest.text), MAX_TOKENS))
    sizes = {len(spans) * step // N_PREFIXES for step in range(1, N_PREFIXES + 1)}
    for size in sorted(sizes - {0}):
        yield size, Document(longest.id, longest.text[: spans[size - 1][1]], longest.title)


WITHOUT_TREE = ("flat", "lexical", "document")
WITH_TREE = ("collapsed", "collapsed-lexical", "traversal", "hybrid", "root")
CONTIGUOUS = "contiguous"  # clustering of the ablation (Table 9)

# Figure 3: budgets of the collapsed tree, nodes per layer of the traversal, and its budget.
CURVE_TOKENS = (250, 500, 1000, 1500, 2000, 2500, 3000)
CURVE_TOP_K = (1, 2, 3, 5, 8, 12)


@dataclass(frozen=True, slots=True)
class Study:
    """Measurements on a data set; ``contiguous_trees`` and ``time_points`` are optional.

    Attributes:
        retrievers: comparison without and with the tree; the first is flat.
        layer_subsets: collapsed tree by start layer and number of layers.
        curve_rows: rows of the collapsed tree by budget, and of the traversal by ``top_k``.
        token_points: cost of a build by length of the document, for each tree.
        time_points: duration of builds by length of the document.
    """

    name: str
    n_documents: int
    n_questions: int
    retrievers: Comparison
    layer_subsets: Comparison
    n_layers: int
    curve_rows: tuple[ComparisonRow, ...]
    tree_statistics: TreeStatistics
    titles: Mapping[str, str] = field(default_factory=dict)
    contiguous_trees: TreeStatistics | None = None
    token_points: tuple[TokenPoint, ...] = ()
    time_points: tuple[TimePoint, ...] = ()

    @property
    def first_measure(self) -> str:
        """The first measure that the data set allows, or ""."""
        return next(iter(self.retrievers.measures), "")

    @property
    def curve_measure(self) -> str:
        """The first measure of the curve, or ""."""
        return next(iter(self.curve_rows[0].figures), "")

    def to_json_values(self) -> dict[str, Any]:
        """Convert the figures to values for JSON."""
        return {
            "dataset": self.name,
            "n_documents": self.n_documents,
            "n_questions": self.n_questions,
            "retrievers": self.retrievers.to_json_values(),
            "by_kind": {
                kind: comparison.to_json_values()
                for kind, comparison in split_by_kind(self.retrievers).items()
            },
            "layers": self.layer_subsets.to_json_values(),
            "curve": [asdict(line) for line in self.curve_rows],
            "trees": self.tree_statistics.to_json_values(),
            "contiguous": self.contiguous_trees and asdict(self.contiguous_trees),
            "tokens": [asdict(point) for point in self.token_points],
            "times": [asdict(point) for point in self.time_points],
        }


def name_of_layer_search(start: int, n_layers: int) -> str:
    """Return the name of a search over ``n_layers`` layers down from ``start``."""
    return f"collapsed@{start - n_layers + 1}-{start}"


def measure_study(
    index: Index,
    budgets: Sequence[int],
    measurer: ContextMeasurer,
    progress: Progress | None = None,
    curve_measurer: Measurer | None = None,
    encoders: tuple[str, str] | None = None,
) -> Study:
    """Measure all retrievers and subsets of layers.

    ``curve_measurer`` measures the curve; ``encoders`` add DPR to the retrievers.
    """
    names = [
        name_of_layer_search(start, queried)
        for start in range(index.n_layers)
        for queried in range(1, start + 2)
    ]
    walks = [make_system(f"traversal:{top_k}") for top_k in CURVE_TOP_K]
    measured = partial(compare, index, measurer=measurer, progress=progress)
    abstracts = ["title-abstract"] if any(index.dataset.abstracts.values()) else []
    compared = [make_system(name) for name in (*WITHOUT_TREE, *abstracts, *WITH_TREE)]
    compared += [DprSystem(name, *encoders) for name in DPR] if encoders else []
    retrievers = measured(compared, budgets)
    layers = measured([make_system(name) for name in names], budgets)
    curved = partial(measured, measurer=curve_measurer or measurer)
    collapsed = curved([make_system("collapsed")], CURVE_TOKENS)
    return Study(
        name=index.dataset.name,
        n_documents=len(index.dataset.documents),
        n_questions=len(index.dataset.questions),
        retrievers=retrievers,
        layer_subsets=layers,
        n_layers=index.n_layers,
        curve_rows=(*collapsed.rows, *curved(walks, [UNBOUND]).rows),
        titles={d.id: d.title for d in index.dataset.documents if d.title},
        tree_statistics=compute_tree_statistics(index),
        token_points=tuple(count_tokens_by_tree(index)),
    )


def add_contiguous_trees(
    study: Study,
    index: Index,
    budgets: Sequence[int],
    measurer: ContextMeasurer,
    progress: Progress | None = None,
) -> Study:
    """Add the ablation to a study: an index of contiguous trees over the same data set."""
    systems = [make_system(name) for name in ("collapsed", "hybrid")]
    comparison = compare(index, systems, budgets, measurer=measurer, progress=progress)
    retrievers = join_systems(study.retrievers, comparison, f"{CONTIGUOUS} tree")
    return replace(study, retrievers=retrievers, contiguous_trees=compute_tree_statistics(index))
