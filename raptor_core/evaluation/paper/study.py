"""Everything that is measured on one data set for the paper's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from raptor_core.evaluation.baselines import Dpr
from raptor_core.evaluation.compare import (
    Comparison,
    Line,
    Progress,
    by_kind,
    compare,
    join,
    suffixed,
)
from raptor_core.evaluation.contexts import System
from raptor_core.evaluation.index import Index, TreeStatistics, tree_statistics
from raptor_core.evaluation.measures import ContextMeasurer
from raptor_core.evaluation.paper.scaling import TimePoint, TokenPoint, token_points
from raptor_core.evaluation.systems import DPR, make_system

WITHOUT_TREE = ("flat", "lexical")
WITH_TREE = ("collapsed", "collapsed-lexical", "traversal", "beam", "hybrid", "root")
CONTIGUOUS = "contiguous"
"""The clustering of the ablation (Table 9)."""

CURVE_TOKENS = (250, 500, 1000, 1500, 2000, 2500, 3000)
"""Budgets of the collapsed tree in Figure 3."""

CURVE_TOP_K = (1, 2, 3, 5, 8, 12)
"""Nodes of a layer of the traversal in Figure 3."""

UNBOUND = 1_000_000
"""Tokens of a budget that ends no traversal of the figure."""

_ON_CONTIGUOUS = ("collapsed", "hybrid")


@dataclass(frozen=True, slots=True)
class Study:
    """One data set.

    Attributes:
        name: of the data set.
        n_documents, n_questions: of it.
        retrievers: retrievers without and with the tree; the first is flat.
        layers: the collapsed tree by start layer and number of layers.
        n_layers: layers of the highest tree.
        curve: the collapsed tree over budgets and traversal over ``top_k``, a line each.
        titles: of the documents that have one, by id.
        trees: their sizes.
        contiguous: sizes of the contiguous trees, where they were measured.
        tokens: tokens of building by length of the document, a point for each tree.
        times: seconds of building by length of the document, where they were measured.
    """

    name: str
    n_documents: int
    n_questions: int
    retrievers: Comparison
    layers: Comparison
    n_layers: int
    curve: tuple[Line, ...]
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


def measure_curve(index: Index, measurer: ContextMeasurer, progress: Progress | None) -> list[Line]:
    """Figure 3: the collapsed tree by its budget, and traversal by the nodes of a layer."""
    walks = [make_system(f"traversal:{top_k}") for top_k in CURVE_TOP_K]
    measured = partial(compare, index, measurer=measurer, progress=progress)
    collapsed = measured([make_system("collapsed")], CURVE_TOKENS)
    return [*collapsed.lines, *measured(walks, [UNBOUND]).lines]


def measure_study(
    index: Index,
    budgets: Sequence[int],
    measurer: ContextMeasurer,
    dpr: Dpr | None = None,
    progress: Progress | None = None,
) -> Study:
    """Measure all retrievers and all subsets of layers on a data set.

    ``measurer`` is of the same index.

    Raises:
        RaptorError: as retrieving and encoding raise.
    """
    n_layers = max(len(manifest.layer_sizes) for manifest in index.manifests)
    names = [
        layers_name(start, queried) for start in range(n_layers) for queried in range(1, start + 2)
    ]
    subsets = [make_system(name) for name in names]
    measured = partial(compare, index, budgets=budgets, measurer=measurer, progress=progress)
    return Study(
        name=index.dataset.name,
        n_documents=len(index.dataset.documents),
        n_questions=len(index.dataset.questions),
        retrievers=measured(_retrievers(index, dpr)),
        layers=measured(subsets),
        n_layers=n_layers,
        curve=tuple(measure_curve(index, measurer, progress)),
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
    """The study with the ablation: the same data set over a index of contiguous trees.

    ``measurer`` may be of the study's own index: questions and options are the same.
    """
    systems = [make_system(name) for name in _ON_CONTIGUOUS]
    here = replace(measurer, index=index)
    comparison = compare(index, systems, budgets, measurer=here, progress=progress)
    retrievers = join(study.retrievers, suffixed(comparison, f"{CONTIGUOUS} tree").found)
    return replace(study, retrievers=retrievers, contiguous=tree_statistics(index))


def _retrievers(index: Index, dpr: Dpr | None) -> list[System]:
    names = [*WITHOUT_TREE, "document", *(DPR if dpr else ())]
    has_abstracts = any(index.dataset.abstracts.values())
    names += ["title-abstract"] if has_abstracts else []
    return [make_system(name, dpr) for name in (*names, *WITH_TREE)]
