"""Everything that is measured on one data set for the paper's tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from raptor_core.evaluation.baselines import Dpr
from raptor_core.evaluation.compare import Comparison, Progress, compare, join
from raptor_core.evaluation.contexts import System
from raptor_core.evaluation.index import Index
from raptor_core.evaluation.measures import ContextMeasurer
from raptor_core.evaluation.paper.scaling import TimePoint, TokenPoint, token_points
from raptor_core.evaluation.systems import DPR, make_system
from raptor_core.evaluation.tree_statistics import TreeStatistics, tree_statistics

WITHOUT_TREE = ("flat", "lexical")
WITH_TREE = ("collapsed", "collapsed-lexical", "traversal", "beam", "hybrid", "root")
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
        layers: the collapsed tree by start layer and number of layers.
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
    """The name of a search over ``n_layers`` layers, of which ``start`` is the highest."""
    return f"collapsed@{start - n_layers + 1}-{start}"


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
    found = compare(index, systems, budgets, measurer=here, progress=progress)
    renamed = tuple(replace(item, system=f"{item.system}{_SUFFIX}") for item in found.found)
    retrievers = join(study.retrievers, renamed)
    return replace(study, retrievers=retrievers, contiguous=tree_statistics(index))


def _retrievers(index: Index, dpr: Dpr | None) -> list[System]:
    names = [*WITHOUT_TREE, "document", *(DPR if dpr else ())]
    has_abstracts = any(index.dataset.abstracts.values())
    names += ["title-abstract"] if has_abstracts else []
    return [make_system(name, dpr) for name in (*names, *WITH_TREE)]
