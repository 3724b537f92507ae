"""What the weights of "hybrid" are worth on documents that they were not chosen on.

    python benchmarks/tuning.py qasper.jsonl
    python benchmarks/tuning.py qasper.jsonl --settings 20 --reranker sentences

The file is a data set of `raptor eval retrieval` whose questions name their evidence, each asked of
its own document. Settings are drawn at random around the shipped ones. The documents are dealt into
folds; for each fold the settings with the best evidence recall on the others, mean over the
budgets, answer its questions. That is repeated over many deals, and a question's recall is its mean
over them. Intervals are 95 % bootstrap intervals over documents, differences paired.

"cross-validated" chooses among the drawn settings alone. The shipped ones were chosen by hand; if
that was on these very documents, they know the fold that is held out, so that the row in which they
are among the choices is no clean test. "best drawn, in hindsight" chooses on the questions that it
is measured on: what it gains over "cross-validated" is what choosing pretends.

With `--reranker` all of them take a second look, each with a weight that is drawn too, and
"without the second look" are the shipped settings and the drawn ones, cross-validated, without it.

Trees come from the cache of evaluations and are built where they are not there. Every read of the
store is remembered, so that further settings only score and pack.
"""

from __future__ import annotations

import argparse
import pickle
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raptor_core import Components, Query, Settings
from raptor_core.evaluation.bootstrap import interval_text, mean_interval, paired_difference
from raptor_core.evaluation.compare import Comparison, compare
from raptor_core.evaluation.contexts import Context, ContextScores, QuestionBatch
from raptor_core.evaluation.datasets import Question, open_dataset
from raptor_core.evaluation.index import Index, open_index
from raptor_core.evaluation.measures import evidence_recall
from raptor_core.evaluation.systems import make_system
from raptor_core.identity import digest
from raptor_core.settings import HybridSettings

BUDGETS_TOKENS = (400, 1000, 2000)
MEASURE = "evidence_recall"
VALIDATED = "cross-validated"
Fold = NDArray[np.bool_]
"""Which questions are in it, shape ``(n_questions,)``."""

Recall = NDArray[np.float64]
"""Of shape ``(n_settings, n_questions, n_budgets)``, or without the settings."""


def main() -> None:
    arguments = _arguments()
    settings = Settings()
    dataset = open_dataset(arguments.file, settings.source)
    asked = tuple(question for question in dataset.questions if question.evidence)
    rng = np.random.default_rng(arguments.seed)
    if not asked:
        raise SystemExit(f"{arguments.file}: no question names its evidence")
    drawn = [draw(rng) for _ in range(arguments.settings)]
    weights = np.random.default_rng(arguments.seed).uniform(0.5, 3.5, len(drawn)).tolist()
    ways = [Way(HybridSettings()), *map(Way, drawn)]
    if arguments.reranker:
        drawn = [
            one.model_copy(update={"reranker": w}) for one, w in zip(drawn, weights, strict=True)
        ]
        ways += [Way(one, arguments.reranker) for one in (HybridSettings(), *drawn)]
    with open_index(
        replace(dataset, questions=asked), Components(settings), arguments.cache
    ) as index:
        (flat, *measured), documents = measure(index, ways)
    n_ways = 1 + len(drawn)
    shipped, *others = measured[-n_ways:]
    recall = np.array(others)
    print(f"{recall.shape[1]} questions of {len(set(documents))} documents, ", end="")
    print(f"{len(drawn)} settings drawn, {arguments.folds} folds, {arguments.deals} deals\n")
    dealt = list(deals(documents, arguments.folds, arguments.deals, rng))
    unseen, chosen = cross_validate(recall, dealt)
    among = np.array([shipped, *others])
    rows = {
        "flat": flat,
        "shipped": shipped,
        VALIDATED: unseen,
        f"{VALIDATED}, shipped among them": cross_validate(among, dealt)[0],
        "best drawn, in hindsight": recall[best(recall)],
    }
    if arguments.reranker:
        rows["shipped, without the second look"] = measured[0]
        before = np.array(measured[1:n_ways])
        rows[f"{VALIDATED}, without the second look"] = cross_validate(before, dealt)[0]
    print_rows(rows, documents)
    print_chosen(chosen, drawn)


def draw(rng: np.random.Generator) -> HybridSettings:
    """Settings around the shipped ones; a third of them takes no summaries."""
    near, next_but_one = rng.uniform(0.2, 1.2), rng.uniform(0, 0.6)
    return HybridSettings(
        lexical=rng.uniform(0.1, 0.6),
        neighbours=(near, min(near, next_but_one)),
        paragraph=rng.uniform(0, 1.2),
        summaries=max(0.0, rng.uniform(-0.1, 0.2)),
    )


@dataclass(frozen=True)
class Way:
    """Settings of the strategy, and the reranker that it asks."""

    weights: HybridSettings
    reranker: str = ""


@dataclass(frozen=True)
class Weighted:
    """The strategy in one way; a system of a comparison."""

    name: str
    way: Way

    def contexts(self, index: Index, asked: QuestionBatch, budget_tokens: int) -> list[Context]:
        """See ``System.contexts``."""
        query = Query(
            "hybrid",
            budget_tokens,
            where=asked.where,
            hybrid=self.way.weights,
            reranker=self.way.reranker,
        )
        texts = [question.text for question in asked.questions]
        return list(map(Context.of, index.retriever.search_vectors(texts, asked.vectors, query)))


class RememberingStore:
    """Another store that is read once: a repeated call is answered from memory."""

    def __init__(self, inner: object) -> None:
        self._inner = inner
        self._known: dict[bytes, Any] = {}

    def read_consistently(self, read: Callable[[Any], Any]) -> Any:
        """Return the result of a retrieval, whose calls this store answers."""
        return read(self)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._inner, name)

        def remembered(*given: Any, **named: Any) -> Any:
            key = pickle.dumps((name, given, named))
            if key not in self._known:
                self._known[key] = method(*given, **named)
            return self._known[key]

        return remembered


@dataclass
class RecallMeasurer:
    """Evidence recall; many settings give the same context, which is measured once."""

    known: dict[tuple[str, str], ContextScores] = field(default_factory=dict)

    def measure(
        self, questions: Sequence[Question], contexts: Sequence[Context]
    ) -> list[ContextScores]:
        """See ``Measurer.measure``."""
        return list(map(self._one, questions, contexts))

    def _one(self, question: Question, context: Context) -> ContextScores:
        key = (question.id, digest(context.text))
        if key not in self.known:
            found = evidence_recall(question.evidence, context.text)
            self.known[key] = ContextScores({MEASURE: found})
        return self.known[key]


def measure(index: Index, ways: Sequence[Way]) -> tuple[Recall, list[str]]:
    """Recall of flat and of each way, and the document of each question."""
    reading: Any = RememberingStore(index.store)
    systems = [Weighted(str(row), one) for row, one in enumerate(ways)]
    found = compare(
        replace(index, store=reading),
        [make_system("flat"), *systems],
        BUDGETS_TOKENS,
        measurer=RecallMeasurer(),
        progress=tell,
    )
    recall = as_array(found, ["flat", *(system.name for system in systems)])
    first = [item for item in found.scores if (item.system, item.budget_tokens) == ("flat", 400)]
    documents = [item.question.cluster for item in first]
    return recall, documents


def tell(system: str, budget_tokens: int) -> None:
    if system.isdecimal() and int(system) % 20 == 0:
        print(f"settings {system} at {budget_tokens:,} tokens", file=sys.stderr)


def as_array(found: Comparison, names: Sequence[str]) -> Recall:
    values: dict[str, dict[int, list[float]]] = {
        name: {budget: [] for budget in BUDGETS_TOKENS} for name in names
    }
    for item in found.scores:
        values[item.system][item.budget_tokens].append(item.measures[MEASURE])
    return np.array([[values[name][b] for b in BUDGETS_TOKENS] for name in names]).swapaxes(1, 2)


def best(recall: Recall) -> int:
    """Row of the settings that are best on average; the first of equals."""
    return int(recall.mean(axis=(1, 2)).argmax())


def cross_validate(recall: Recall, dealt: Sequence[Sequence[Fold]]) -> tuple[Recall, Counter[int]]:
    """Recall of each question by settings chosen without its document; and what was chosen."""
    held_out = np.zeros(recall.shape[1:])
    chosen: Counter[int] = Counter()
    for here in (fold for folds in dealt for fold in folds):
        row = best(recall[:, ~here])
        chosen[row] += 1
        held_out[here] += recall[row][here]
    return (held_out / len(dealt)).round(9), chosen


def deals(
    documents: Sequence[str], n_folds: int, n_deals: int, rng: np.random.Generator
) -> Iterator[list[Fold]]:
    """The folds of each deal; a document is in one fold."""
    names = np.array(documents)
    for _ in range(n_deals):
        parts = np.array_split(rng.permutation(np.unique(names)), n_folds)
        yield [np.isin(names, part) for part in parts]


def print_rows(rows: dict[str, Recall], documents: Sequence[str]) -> None:
    head = [f"{budget:,} tokens" for budget in BUDGETS_TOKENS]
    print(f"| settings | {' | '.join(head)} |\n{'| --- ' * (1 + len(head))}|")
    for name, values in rows.items():
        cells = [interval_text(mean_interval(v.tolist(), documents)) for v in values.T]
        print(f"| {name} | {' | '.join(cells)} |")
    print(f"\n| {VALIDATED}, against | {' | '.join(head)} |\n{'| --- ' * (1 + len(head))}|")
    for name in (name for name in rows if name != VALIDATED):
        cells = []
        for ours, theirs in zip(rows[VALIDATED].T, rows[name].T, strict=True):
            found = paired_difference(ours.tolist(), theirs.tolist(), documents)
            cells.append(f"{interval_text(found.interval, '+')}, p {found.p:.3f}")
        print(f"| {name} | {' | '.join(cells)} |")


def print_chosen(chosen: Counter[int], drawn: Sequence[HybridSettings]) -> None:
    print("\n| chosen in folds | lexical | neighbours | paragraph | summaries | reranker |")
    print("| --- " * 6 + "|")
    for row, times in chosen.most_common(8):
        one = drawn[row]
        near = " / ".join(f"{weight:.2f}" for weight in one.neighbours)
        cells = (f"{one.lexical:.2f}", near, f"{one.paragraph:.2f}")
        print(f"| {times} | {' | '.join(cells)} | {one.summaries:.2f} | {one.reranker:.2f} |")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("file", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(".raptor/evaluation"))
    parser.add_argument("--settings", type=int, default=200, help="settings that are drawn")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--deals", type=int, default=20, help="times that folds are dealt")
    parser.add_argument("--reranker", default="", help='as retrieval.reranker, e.g. "sentences"')
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
