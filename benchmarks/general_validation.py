"""Decisions and weights of general questions, validated on data sets that are left out.

    python benchmarks/general_validation.py qmsum.jsonl quality.jsonl qasper.jsonl \
        narrativeqa.jsonl --cache trees/
    python benchmarks/general_validation.py qmsum.jsonl --cache trees/ --wordings questions.txt

First, how many general and specific questions of each data set are taken for general: as shipped,
with the subject share that is best on the other data sets, and without the words of the lists that
no other data set's questions have. Then content recall of general questions with the weights of
the choice that are best on other documents. With ``--wordings``, only how many general questions
of other files, one in a line, are taken for general about every seventh document.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, dataclass, replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from general_recall import BUDGETS_TOKENS, load, print_wrong_decisions
from measuring import print_head, print_row

from raptor_core import Query
from raptor_core.evaluation.bootstrap import interval_text, mean_interval, paired_difference
from raptor_core.evaluation.datasets import load_dataset
from raptor_core.evaluation.datasets.base import GENERAL, Dataset, Question
from raptor_core.evaluation.index import Index, open_index
from raptor_core.evaluation.measures import content_recall
from raptor_core.nodes import grouped
from raptor_core.retrieval.general import coverage, decide, kinds, terms, wording
from raptor_core.retrieval.general.terms import TermTable
from raptor_core.store.base import Where
from raptor_core.tree.components import Components

SUBJECT_SHARES = (0.15, 0.05, 0.1, 0.2, 0.3, 1.0)
"""Values of ``kinds.SUBJECT_SHARE``, the shipped one first, so that it wins a tie."""

WEIGHTS = {
    "COMMON_SHARE": (0.2, 0.1, 1.0),
    "TOKENS_POWER": (0.8, 0.7, 0.9),
    "KEPT_WORTH": (0.25, 0.1, 0.5),
}
"""Weights of the choice, the shipped value first; the first is of ``terms``."""

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True)
class Decided:
    """Numbers of general and of specific questions, and how many of each are taken for general."""

    general: int = 0
    general_taken: int = 0
    specific: int = 0
    specific_taken: int = 0

    @property
    def error(self) -> float:
        """Share of the general questions that are missed, and of the specific ones taken."""
        missed = (self.general - self.general_taken) / max(self.general, 1)
        return missed + self.specific_taken / max(self.specific, 1)

    def __add__(self, second: Decided) -> Decided:
        pairs = zip(astuple(self), astuple(second), strict=True)
        return Decided(*(a + b for a, b in pairs))

    @property
    def cells(self) -> tuple[str, str]:
        """Cells of a table."""
        return (
            f"{self.general_taken} of {self.general}",
            f"{self.specific_taken} of {self.specific}",
        )


def count(index: Index) -> Decided:
    """Decide all questions of a data set."""
    counted = Decided()
    for question in index.dataset.questions:
        where = index.where(question, pooled=False)
        taken = int(decide(question.text, Query(where=where), index.store).is_general)
        is_general = GENERAL in question.kinds
        counted += Decided(1, taken, 0, 0) if is_general else Decided(0, 0, 1, taken)
    return counted


def entries_of(question: str) -> set[str]:
    """Return the entries of the English lists that a question's words match."""
    english = wording.languages()[0]
    pieces = re.findall(r"[^\W_]+", question.casefold())
    pieces += map(" ".join, list(pairwise(pieces)))
    matched = set()
    for piece in pieces:
        starts = (f"{piece[:end]}*" for end in range(len(piece), 1, -1))
        found = (start for start in starts if start[:-1] in english.beginnings)
        matched |= {piece} if piece in english.words else set(list(found)[:1])
    return matched


@contextmanager
def without(entries: set[str]) -> Iterator[None]:
    """Remove entries from the English lists for a time."""
    forget = wording._class_of.cache_clear  # noqa: SLF001 - classes depend on the lists
    english = wording.languages()[0]
    words, beginnings = dict(english.words), dict(english.beginnings)
    for entry in entries:
        english.words.pop(entry, None)
        english.beginnings.pop(entry.rstrip("*") if entry.endswith("*") else "", None)
    forget()
    yield
    english.words.update(words)
    english.beginnings.update(beginnings)
    forget()


def validate_decision(indexes: Mapping[str, Index]) -> None:
    """Print the decisions on each data set, with what was chosen on the others."""
    counts: dict[float, dict[str, Decided]] = {}
    for share in SUBJECT_SHARES:
        kinds.SUBJECT_SHARE = share
        counts[share] = {name: count(index) for name, index in indexes.items()}
    shipped = kinds.SUBJECT_SHARE = SUBJECT_SHARES[0]
    matched = {
        name: set().union(*(entries_of(q.text) for q in index.dataset.questions))
        for name, index in indexes.items()
    }
    for index in indexes.values():
        print_wrong_decisions(index)
    print_head("data set", "variant", "general taken", "specific taken")
    for name, index in indexes.items():
        others = [other for other in indexes if other != name]
        best = min(
            SUBJECT_SHARES, key=lambda s: sum((counts[s][o] for o in others), Decided()).error
        )
        print_row(name, "as shipped", *counts[shipped][name].cells)
        print_row(name, f"subject share of the others, {best}", *counts[best][name].cells)
        only = matched[name].difference(*(matched[other] for other in others))
        with without(only):
            print_row(
                name, f"without {len(only)} of {len(matched[name])} words", *count(index).cells
            )
        print(f"words of {name} alone: {' '.join(sorted(only))}")
    for share, by_name in counts.items():
        print(f"subject share {share}: {sum(by_name.values(), Decided()).cells}")


def recalls(index: Index, settings: Sequence[tuple[float, ...]]) -> tuple[list[Question], Floats]:
    """Compute content recall, shape ``(n_settings, n_budgets, n_questions)``."""
    questions = [q for q in index.dataset.questions if GENERAL in q.kinds]
    nodes = grouped(index.store.nodes(), lambda node: node.tree)
    values = np.zeros((len(settings), len(BUDGETS_TOKENS), len(questions)))
    for column, question in enumerate(questions):
        tables: dict[float, TermTable] = {}
        part = nodes[str(question.document)]
        for row, setting in enumerate(settings):
            terms.COMMON_SHARE, coverage.TOKENS_POWER, coverage.KEPT_WORTH = setting
            if setting[0] not in tables:
                tables[setting[0]] = TermTable.from_nodes(part)
            table = tables[setting[0]]
            for at, budget in enumerate(BUDGETS_TOKENS):
                everything = np.ones(len(part), dtype=bool)
                rows = coverage.choose(table, Query(budget_tokens=budget), everything)
                text = "\n\n".join(part[number].text for number, _ in rows)
                values[row, at, column] = content_recall(question, text) or 0.0
    return questions, values


def validate_weights(indexes: Mapping[str, Index]) -> None:
    """Print content recall with weights that were chosen on other documents."""
    settings = list(product(*WEIGHTS.values()))
    measured = {name: recalls(index, settings) for name, index in indexes.items()}
    print_head("data set", "weights", *map(str, BUDGETS_TOKENS))
    for name, (questions, values) in measured.items():
        documents = [question.cluster for question in questions]
        others = [v.mean(axis=(1, 2)) for other, (_, v) in measured.items() if other != name]
        elsewhere = settings[int(np.sum(others, axis=0).argmax())] if others else settings[0]
        folds = chosen_by_folds(values, documents)
        rows = {
            f"as shipped {settings[0]}": values[0],
            f"best on the other data sets {elsewhere}": values[settings.index(elsewhere)],
            "best on four other fifths of the documents": folds,
            "best in hindsight": values[int(values.mean(axis=(1, 2)).argmax())],
        }
        for label, row in rows.items():
            cells = []
            for at in range(len(BUDGETS_TOKENS)):
                change = paired_difference(row[at].tolist(), values[0, at].tolist(), documents)
                mean = mean_interval(row[at].tolist(), documents)
                cells.append(f"{interval_text(mean)}, {interval_text(change.interval, '+')}")
            print_row(name, label, *cells)


def chosen_by_folds(values: Floats, documents: Sequence[str]) -> Floats:
    """Return each document's recalls with the weights that are best on the other fifths."""
    names = sorted(set(documents))
    fold = np.array([names.index(document) % 5 for document in documents])
    chosen = np.zeros_like(values[0])
    for number in range(5):
        best = int(values[:, :, fold != number].mean(axis=(1, 2)).argmax())
        chosen[:, fold == number] = values[best][:, fold == number]
    return chosen


def validate_wordings(questions: Sequence[str], index: Index) -> None:
    """Print how many general questions are taken for general, each about some documents."""
    read = [wording.read_wording(text) for text in questions]
    n_clear = sum(each.is_generic and not each.names for each in read)
    documents = index.dataset.documents[::7]
    taken = {
        text: sum(
            decide(text, Query(where=Where(trees=(document.id,))), index.store).is_general
            for document in documents
        )
        for text in questions
    }
    n_decided = len(taken) * len(documents)
    print(
        f"{n_clear} of {len(questions)} have no names; {sum(taken.values())} of {n_decided} taken"
    )
    for text, number in taken.items():
        if number < len(documents):
            print(f"taken {number} times of {len(documents)}: {text!r}")


def main() -> None:
    """Validate on all data sets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", type=Path, nargs="+")
    parser.add_argument("--cache", type=Path, required=True, help="folder that keeps trees")
    parser.add_argument(
        "--wordings", type=Path, nargs="*", default=[], help="files of general questions"
    )
    arguments = parser.parse_args()
    with ExitStack() as stack:
        indexes: dict[str, Index] = {}
        for path in arguments.datasets:
            dataset = load(path)
            index = stack.enter_context(open_index(dataset, Components(), arguments.cache))
            indexes[dataset.name] = index
            if dataset.name == "stories":  # the other questions about the same stories
                indexes[path.stem] = replace(index, dataset=choices_of(path, dataset))
        for path in arguments.wordings:
            lines = path.read_text(encoding="utf-8").splitlines()
            validate_wordings(list(filter(None, lines)), next(iter(indexes.values())))
        if arguments.wordings:
            return
        validate_decision(indexes)
        validate_weights({n: i for n, i in indexes.items() if has_general(i.dataset)})


def choices_of(path: Path, stories: Dataset) -> Dataset:
    """Return the data set of a file with the questions about some of its stories."""
    names = {document.id for document in stories.documents}
    dataset = load_dataset(path)
    questions = tuple(q for q in dataset.questions if q.document in names)
    return replace(dataset, documents=stories.documents, questions=questions)


def has_general(dataset: Dataset) -> bool:
    """Whether a data set has general questions."""
    return any(GENERAL in question.kinds for question in dataset.questions)


if __name__ == "__main__":
    main()
