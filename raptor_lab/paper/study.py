"""Everything that is measured on one data set for the paper's tables, and what its builds take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import linregress

from raptor_core.documents.base import Document
from raptor_core.evaluation.compare import (
    Comparison,
    ComparisonRow,
    Progress,
    by_kind,
    compare,
    join,
    with_suffix,
)
from raptor_core.evaluation.contexts import System
from raptor_core.evaluation.index import Index, TreeStatistics, tree_statistics
from raptor_core.evaluation.measures import ContextMeasurer
from raptor_core.evaluation.systems import Encoders, make_system
from raptor_core.models.summarizing.prompts import prompt_overhead, prompt_tokens
from raptor_core.nodes import grouped
from raptor_core.tree.build import build_tree
from raptor_core.tree.components import Components
from raptor_lab.baselines import DPR

MAX_TOKENS = 80_000
"""The longest document of Figure 6."""

N_PREFIXES = 6


@dataclass(frozen=True, slots=True)
class TokenPoint:
    """The tokens of a tree's leaves, and those of the calls that write its summaries.

    ``prompt_tokens`` and ``completion_tokens`` are what a chat endpoint would be asked and would
    answer, by the tree's own counter; an answer that was refused and asked for again is not among
    them.
    """

    document_tokens: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class TimePoint:
    """A document's tokens, and the seconds of a build over it from scratch."""

    document_tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Slope:
    """A straight line by least squares.

    Attributes:
        per_thousand: rise for each 1,000 tokens of the document.
        r_squared: share of the variance that the line explains; 1 where all values are equal.
    """

    per_thousand: float
    r_squared: float


def token_points(index: Index) -> list[TokenPoint]:
    """A point for each tree, shortest first; nothing is built."""
    nodes = index.store.nodes()
    by_id = {node.id: node for node in nodes}
    # For the extractive summarizer, as if a chat model were asked.
    asked = index.components.settings.summarizer.model_copy(update={"kind": "openai"})
    overhead = prompt_overhead(asked, index.components.counter)
    points = []
    for tree_nodes in grouped(nodes, lambda node: node.tree).values():
        summaries = [node for node in tree_nodes if not node.is_leaf]
        given = ([by_id[child].n_tokens for child in node.children] for node in summaries)
        points.append(
            TokenPoint(
                document_tokens=sum(node.n_tokens for node in tree_nodes if node.is_leaf),
                prompt_tokens=sum(prompt_tokens(counts, overhead) for counts in given),
                completion_tokens=sum(node.n_tokens for node in summaries),
            )
        )
    return sorted(points, key=lambda point: point.document_tokens)


def calls_nothing(components: Components) -> bool:
    """Whether a build asks no endpoint, so that building once more costs time alone."""
    settings = components.settings
    return "openai" not in (settings.summarizer.kind, settings.embedder.kind)


def time_builds(
    documents: Sequence[Document],
    components: Components,
    progress: Callable[[int], None] | None = None,
) -> list[TimePoint]:
    """Build prefixes of the longest document from scratch, shortest first.

    The shortest is built once before, so that models are loaded. ``progress`` is called before each
    with its tokens.
    """
    parts = list(_prefixes(documents, components))
    for _, part in parts[:1]:
        build_tree([part], components=components)
    points = []
    for n_tokens, part in parts:
        if progress:
            progress(n_tokens)
        started = time.perf_counter()
        build_tree([part], components=components)
        points.append(TimePoint(n_tokens, time.perf_counter() - started))
    return points


def fit_slope(lengths: Sequence[int], values: Sequence[float]) -> Slope | None:
    """The straight line through values by length; None with fewer than two lengths."""
    if len(set(lengths)) < 2:
        return None
    line = linregress(lengths, values)
    explained = float(line.rvalue) ** 2 if len(set(values)) > 1 else 1.0
    return Slope(1000 * float(line.slope), explained)


def _prefixes(
    documents: Sequence[Document], components: Components
) -> Iterator[tuple[int, Document]]:
    """Equal steps up to the longest document, or ``MAX_TOKENS`` of it; no two the same."""
    counts = components.counter.count([document.text for document in documents])
    longest = documents[int(np.argmax(counts))]
    spans = components.counter.token_spans(longest.text)[:MAX_TOKENS]
    sizes = {len(spans) * step // N_PREFIXES for step in range(1, N_PREFIXES + 1)}
    for size in sorted(sizes - {0}):
        yield size, Document(longest.id, longest.text[: spans[size - 1][1]], longest.title)


WITHOUT_TREE = ("flat", "lexical", "document")
WITH_TREE = ("collapsed", "collapsed-lexical", "traversal", "beam", "hybrid", "root")
CONTIGUOUS = "contiguous"
"""The clustering of the ablation (Table 9)."""

CURVE_TOKENS = (250, 500, 1000, 1500, 2000, 2500, 3000)
"""Budgets of the collapsed tree in Figure 3."""

CURVE_TOP_K = (1, 2, 3, 5, 8, 12)
"""Nodes of a layer of the traversal in Figure 3."""

UNBOUND = 1_000_000
"""Tokens of a budget that ends no traversal of the figure."""


@dataclass(frozen=True, slots=True)
class Study:
    """One data set; ``contiguous`` trees and ``times`` only where they were measured.

    Attributes:
        retrievers: without and with the tree; the first is flat.
        layers: the collapsed tree by start layer and number of layers.
        n_layers: of the highest tree.
        curve: the collapsed tree over budgets and traversal over ``top_k``, a line each.
        titles: of the documents that have one, by id.
        tokens, times: of building by length of the document; tokens have a point for each tree.
    """

    name: str
    n_documents: int
    n_questions: int
    retrievers: Comparison
    layers: Comparison
    n_layers: int
    curve: tuple[ComparisonRow, ...]
    trees: TreeStatistics
    titles: Mapping[str, str] = field(default_factory=dict)
    contiguous: TreeStatistics | None = None
    tokens: tuple[TokenPoint, ...] = ()
    times: tuple[TimePoint, ...] = ()

    @property
    def measure(self) -> str:
        """The first measure that the data set allows; empty where it allows none."""
        return next(iter(self.retrievers.measures), "")

    def values(self) -> dict[str, Any]:
        """All figures as plain values."""
        return {
            "dataset": self.name,
            "n_documents": self.n_documents,
            "n_questions": self.n_questions,
            "retrievers": self.retrievers.values(),
            "by_kind": {
                kind: comparison.values() for kind, comparison in by_kind(self.retrievers).items()
            },
            "layers": self.layers.values(),
            "curve": [asdict(line) for line in self.curve],
            "trees": self.trees.values(),
            "contiguous": self.contiguous and asdict(self.contiguous),
            "tokens": [asdict(point) for point in self.tokens],
            "times": [asdict(point) for point in self.times],
        }


def layers_name(start: int, n_layers: int) -> str:
    """The name of a search over ``n_layers`` layers, of which ``start`` is the highest."""
    return f"collapsed@{start - n_layers + 1}-{start}"


def measure_study(
    index: Index,
    budgets: Sequence[int],
    measurer: ContextMeasurer,
    encoders: Encoders = None,
    progress: Progress | None = None,
) -> Study:
    """Measure all retrievers and all subsets of layers on a data set.

    ``measurer`` is of the same index.
    """
    names = [
        layers_name(start, queried)
        for start in range(index.n_layers)
        for queried in range(1, start + 2)
    ]
    walks = [make_system(f"traversal:{top_k}") for top_k in CURVE_TOP_K]
    measured = partial(compare, index, measurer=measurer, progress=progress)
    retrievers = measured(_retrievers(index, encoders), budgets)
    layers = measured([make_system(name) for name in names], budgets)
    collapsed = measured([make_system("collapsed")], CURVE_TOKENS)
    return Study(
        name=index.dataset.name,
        n_documents=len(index.dataset.documents),
        n_questions=len(index.dataset.questions),
        retrievers=retrievers,
        layers=layers,
        n_layers=index.n_layers,
        curve=(*collapsed.lines, *measured(walks, [UNBOUND]).lines),
        titles={d.id: d.title for d in index.dataset.documents if d.title},
        trees=tree_statistics(index),
        tokens=tuple(token_points(index)),
    )


def with_contiguous(
    study: Study,
    index: Index,
    budgets: Sequence[int],
    measurer: ContextMeasurer,
    progress: Progress | None = None,
) -> Study:
    """The study with the ablation: the same data set over an index of contiguous trees.

    ``measurer`` may be of the study's own index: questions and options are the same.
    """
    systems = [make_system(name) for name in ("collapsed", "hybrid")]
    here = replace(measurer, index=index)
    comparison = compare(index, systems, budgets, measurer=here, progress=progress)
    retrievers = join(study.retrievers, with_suffix(comparison, f"{CONTIGUOUS} tree").scores)
    return replace(study, retrievers=retrievers, contiguous=tree_statistics(index))


def _retrievers(index: Index, encoders: Encoders) -> list[System]:
    names = [*WITHOUT_TREE, *(DPR if encoders else ())]
    if any(index.dataset.abstracts.values()):
        names.append("title-abstract")
    return [make_system(name, encoders) for name in (*names, *WITH_TREE)]
