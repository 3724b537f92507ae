"""Recall of general and specific questions by hybrid and by simpler choices, and its decisions.

    python benchmarks/general_recall.py qmsum.jsonl --cache trees/
    python benchmarks/general_recall.py quality.jsonl --cache trees/      # plots of its stories

"detail" is hybrid with ``kind="detail"``. "even cover" takes the lowest layer of summaries that
fits whole, and fills up evenly from the layer below. "random leaves" is one draw. Differences are
to hybrid, question by question. Questions that the decision takes for the other kind are listed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from measuring import print_head, print_row

from raptor_core import Query
from raptor_core.evaluation.compare import by_kind, compare
from raptor_core.evaluation.contexts import Context, QuestionBatch
from raptor_core.evaluation.datasets import load_dataset
from raptor_core.evaluation.datasets.base import GENERAL, SPECIFIC, Dataset, Question
from raptor_core.evaluation.index import Index, open_index
from raptor_core.evaluation.systems import StrategySystem
from raptor_core.evaluation.tables import comparison_tables
from raptor_core.nodes import Node, grouped
from raptor_core.retrieval.general import decide
from raptor_core.store.base import Where
from raptor_core.tree.components import Components

BUDGETS_TOKENS = (400, 1000, 2000)


class Detail(StrategySystem):
    """Hybrid that takes every question for one about a detail."""

    def _query(self, index: Index, where: Where, budget_tokens: int) -> Query:
        query = StrategySystem._query(self, index, where, budget_tokens)  # noqa: SLF001 - its own
        return replace(query, kind="detail")


@dataclass(frozen=True)
class EvenCover:
    """Lowest layer of summaries that fits whole, filled up evenly from the layer below."""

    name: str = "even cover"

    def contexts(self, index: Index, batch: QuestionBatch, budget_tokens: int) -> list[Context]:
        """See ``System.contexts``."""
        layers = grouped(index.store.nodes(batch.where), lambda node: node.layer)
        sizes = {n: sum(node.n_tokens for node in nodes) for n, nodes in layers.items()}
        fitting = [n for n in layers if n and sizes[n] <= budget_tokens]
        lowest = min(fitting, default=max(layers) + 1)
        nodes = list(layers.get(lowest, ()))
        nodes += evenly(layers[lowest - 1], budget_tokens - sizes.get(lowest, 0))
        return [context(nodes)] * len(batch.questions)


@dataclass(frozen=True)
class RandomLeaves:
    """Chunks in a random order, each that still fits."""

    name: str = "random leaves"

    def contexts(self, index: Index, batch: QuestionBatch, budget_tokens: int) -> list[Context]:
        """See ``System.contexts``."""
        leaves = [node for node in index.store.nodes(batch.where) if node.is_leaf]
        chosen = []
        for row in np.random.default_rng(len(leaves)).permutation(len(leaves)):
            if leaves[row].n_tokens <= budget_tokens:
                chosen.append(leaves[row])
                budget_tokens -= leaves[row].n_tokens
        return [context(chosen)] * len(batch.questions)


def evenly(nodes: Sequence[Node], budget_tokens: int) -> list[Node]:
    """Return the largest number of nodes at equal distances that fit a budget."""
    in_order = sorted(nodes, key=lambda node: node.position)
    for n in range(len(in_order), 0, -1):
        rows = (np.arange(n) + 0.5) * len(in_order) // n
        chosen = [in_order[int(row)] for row in rows]
        if sum(node.n_tokens for node in chosen) <= budget_tokens:
            return chosen
    return []


def context(nodes: Sequence[Node]) -> Context:
    """Make the context of some nodes."""
    text = "\n\n".join(node.text for node in nodes)
    return Context(text, sum(node.n_tokens for node in nodes), tuple(nodes))


def load(path: Path) -> Dataset:
    """Load a data set; of one that has summaries of its stories (SQuALITY), their questions."""
    dataset = load_dataset(path)
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    summaries = {row["article_id"]: row["squality"] for row in lines if row.get("squality")}
    if not summaries:
        return dataset
    questions = tuple(
        Question(
            id=f"{story}-{number}",
            text=item["question"],
            document=story,
            sources=(story,),
            answers=tuple(item["references"]),
            kinds=(SPECIFIC if number else GENERAL,),
        )
        for story, items in summaries.items()
        for number, item in enumerate(items)
    )
    documents = tuple(item for item in dataset.documents if item.id in summaries)
    return replace(dataset, name="stories", documents=documents, questions=questions)


def print_wrong_decisions(index: Index) -> None:
    """Print each question that the decision takes for the other kind."""
    for question in index.dataset.questions:
        where = index.where(question, pooled=False)
        decision = decide(question.text, Query(where=where), index.store)
        if decision.is_general != (GENERAL in question.kinds):
            taken = "general" if decision.is_general else "a detail"
            print(f"taken for {taken}: {question.text!r}, which {decision.reason}")


def main() -> None:
    """Print a row for each kind of question, budget and choice."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--cache", type=Path, required=True, help="folder that keeps trees")
    parser.add_argument("--budgets-tokens", type=int, nargs="+", default=BUDGETS_TOKENS)
    arguments = parser.parse_args()
    walk = StrategySystem("traversal", "traversal")
    systems = [StrategySystem("hybrid", "hybrid"), Detail("detail", "hybrid"), walk]
    with open_index(load(arguments.dataset), Components(), arguments.cache) as index:
        compared = [*systems, EvenCover(), RandomLeaves()]
        comparison = compare(index, compared, arguments.budgets_tokens)
        for kind, part in by_kind(comparison).items():
            for table in comparison_tables(part, kind):
                print(f"\n{table.title}\n")
                print_head(*table.head)
                for row in table.rows:
                    print_row(*row)
        print_wrong_decisions(index)


if __name__ == "__main__":
    main()
