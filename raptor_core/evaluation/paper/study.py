"""Everything that is measured on one data set for the paper's tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from raptor_core.evaluation.baselines import Dpr
from raptor_core.evaluation.compare import Comparison, Progress, compare, join
from raptor_core.evaluation.contexts import Way
from raptor_core.evaluation.forest import Forest
from raptor_core.evaluation.measures import ContextMeasurer
from raptor_core.evaluation.paper.scaling import TimePoint, TokenPoint, token_points
from raptor_core.evaluation.tree_statistics import TreeStatistics, tree_statistics
from raptor_core.evaluation.ways import make_way

WITHOUT_TREE = ("flat", "lexical")
WITH_TREE = ("collapsed", "traversal", "beam", "hybrid", "root")
CONTIGUOUS = "contiguous"
"""The clustering of the ablation (Table 9)."""

_SUFFIX = f", {CONTIGUOUS} tree"
_ON_CONTIGUOUS = ("collapsed", "hybrid")


@dataclass(frozen=True, slots=True)
class Study:
    """One data set.

    Attributes:
        name: of the data set.
        n_documents, n_questions: of it.
        retrievers: retrievers without and with the tree; the first is flat.
        layers: traversals by start layer and number of layers.
        n_layers: layers of the highest tree.
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
    trees: TreeStatistics
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
            "layers": self.layers.values(),
            "trees": self.trees.values(),
            "contiguous": self.contiguous and asdict(self.contiguous),
            "tokens": [asdict(point) for point in self.tokens],
            "times": [asdict(point) for point in self.times],
        }


def layers_name(start: int, n_layers: int) -> str:
    """The name of a traversal from a layer down through ``n_layers`` of them."""
    return f"traversal@{start - n_layers + 1}-{start}"


def measure_study(
    forest: Forest,
    budgets: Sequence[int],
    measurer: ContextMeasurer,
    dpr: Dpr | None = None,
    progress: Progress | None = None,
) -> Study:
    """Measure all retrievers and all subsets of layers on a data set.

    ``measurer`` is of the same forest.

    Raises:
        RaptorError: as retrieving and encoding raise.
    """
    n_layers = max(len(manifest.layer_sizes) for manifest in forest.manifests)
    names = [
        layers_name(start, queried) for start in range(n_layers) for queried in range(1, start + 2)
    ]
    subsets = [make_way(name) for name in names]
    measured = partial(compare, forest, budgets=budgets, measurer=measurer, progress=progress)
    return Study(
        name=forest.dataset.name,
        n_documents=len(forest.dataset.documents),
        n_questions=len(forest.dataset.questions),
        retrievers=measured(_retrievers(forest, dpr)),
        layers=measured(subsets),
        n_layers=n_layers,
        trees=tree_statistics(forest),
        tokens=tuple(token_points(forest)),
    )


def with_contiguous(
    study: Study,
    forest: Forest,
    budgets: Sequence[int],
    measurer: ContextMeasurer,
    progress: Progress | None = None,
) -> Study:
    """The study with the ablation: the same data set over a forest of contiguous trees.

    ``measurer`` may be of the study's own forest: questions and options are the same.
    """
    ways = [make_way(name) for name in _ON_CONTIGUOUS]
    here = replace(measurer, forest=forest)
    found = compare(forest, ways, budgets, measurer=here, progress=progress)
    renamed = tuple(replace(item, way=f"{item.way}{_SUFFIX}") for item in found.found)
    retrievers = join(study.retrievers, renamed)
    return replace(study, retrievers=retrievers, contiguous=tree_statistics(forest))


def _retrievers(forest: Forest, dpr: Dpr | None) -> list[Way]:
    names = [*WITHOUT_TREE, *([Dpr.name] if dpr else ())]
    has_abstracts = any(forest.dataset.abstracts.values())
    names += ["title-abstract"] if has_abstracts else []
    return [make_way(name, dpr) for name in (*names, *WITH_TREE)]
