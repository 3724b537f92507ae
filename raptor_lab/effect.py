"""Effect of nodes with hallucinations on contexts and answers, as in appendix E of the paper.

The paper found no discernible effect on answers.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from raptor_core.evaluation.golden_file import Question
from raptor_core.store.base import Where
from raptor_core.store.store import VectorStore
from raptor_core.tree.components import Components
from raptor_lab.comparison.compare import Comparison, compare
from raptor_lab.comparison.contexts import Context, Measurer, QuestionBatch
from raptor_lab.comparison.index import Index
from raptor_lab.comparison.systems import StrategySystem
from raptor_lab.datasets.base import Dataset


@dataclass(frozen=True, slots=True)
class _PublishedTreesSystem:
    """System that searches published trees by the settings' strategy, except for some nodes."""

    name: str
    excluded: Where | None = None

    def make_contexts(
        self, index: Index, batch: QuestionBatch, budget_tokens: int
    ) -> list[Context]:
        """See ``System.make_contexts``."""
        tree = batch.questions[0].document
        where = Where(trees=(tree,) if tree else None, exclude=self.excluded)
        strategy = StrategySystem(self.name, index.components.settings.retrieval.strategy)
        return strategy.make_contexts(index, replace(batch, where=where), budget_tokens)


def compare_without_nodes(
    store: VectorStore,
    components: Components,
    cases: Sequence[Question],
    nodes: Collection[str],
    measurer: Measurer | None,
) -> Comparison:
    """Compare searches of published trees with and without ``nodes``."""
    index = Index(Dataset("study", (), tuple(cases)), store, components)
    without = Where(ids=tuple(sorted(nodes)))
    systems = [_PublishedTreesSystem("all nodes"), _PublishedTreesSystem("without them", without)]
    budget = components.settings.retrieval.budget_tokens
    return compare(index, systems, [budget], measurer=measurer)
