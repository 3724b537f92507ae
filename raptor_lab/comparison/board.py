"""Board that compares every strategy on every public data set, with paired intervals.

The command is in ``raptor_lab.cli.board``, the comparison of one set in ``compare.py``.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from raptor_core.documents import load_documents
from raptor_core.errors import SettingsError, SourceError
from raptor_core.evaluation.bootstrap import Difference, format_interval
from raptor_lab.comparison.compare import Comparison, MeasuredMean, compare, restrict_to_questions
from raptor_lab.comparison.contexts import QuestionBatch, System
from raptor_lab.comparison.index import Index
from raptor_lab.comparison.measures import FIRST_DOCUMENTS
from raptor_lab.comparison.tables import Table
from raptor_lab.datasets.base import GENERAL, Dataset
from raptor_lab.datasets.load import load_dataset, needs_documents

SETS = (
    "qmsum",
    "squality",
    "qasper",
    "narrativeqa",
    "locomo",
    "musique",
    "hotpotqa",
    "wildgraph",
    "financebench",
    "lines",
)
"""Data sets of the board; the file of a set is named by the set, as in ``qmsum-val.jsonl``."""

DOCUMENTS = "documents"
"""Name of the measure of the best documents, which does not depend on the budget."""

N_TIMED = 40
"""Number of questions that are timed, one at a time, at the middle budget."""


@dataclass(frozen=True, slots=True)
class BoardRow:
    """Row of the board: one measure of a strategy on a set, at each budget or document count.

    Attributes:
        measure: "evidence", "answers", "answers, general" or "documents".
        figures: at each budget, or among the best ``FIRST_DOCUMENTS`` documents.
        milliseconds: median time of a question, with the embedding of its text.
    """

    dataset: str
    measure: str
    strategy: str
    figures: tuple[MeasuredMean, ...]
    milliseconds: float

    def to_json_values(self) -> dict[str, Any]:
        """Convert the row to values for JSON."""
        return asdict(self)


def find_dataset_files(folder: Path, names: Collection[str]) -> tuple[dict[str, Path], list[str]]:
    """Find the files of sets in a folder.

    Args:
        folder: a folder of files, each named as its set, such as ``qmsum-val.jsonl``. A golden set
            has its documents in a folder next to it, ``lines/`` for ``lines.jsonl``.
        names: sets, or files without their endings; empty for all of ``SETS``.

    Returns:
        Files by name without the ending, and the names of the sets that have no file.

    Raises:
        SourceError: the folder does not exist.
        SettingsError: a name is neither a set of the board nor a file in the folder.
    """
    if not folder.is_dir():
        raise SourceError(f"there is no folder {folder}; name one with files such as qmsum.jsonl")
    files = {path.stem: path for path in sorted(folder.iterdir()) if _name_of_set(path.stem)}
    if unknown := {*names} - {*SETS} - files.keys():
        raise SettingsError(
            f"{min(unknown)!r} is neither a set of the board nor a file in {folder}; there are: "
            f"{', '.join(dict.fromkeys((*SETS, *files)))}"
        )
    chosen = {n: path for n, path in files.items() if not names or {n, _name_of_set(n)} & {*names}}
    present = {_name_of_set(stem) for stem in chosen}
    sought = [name for name in SETS if not names or name in names]
    return chosen, [name for name in sought if name not in present]


def _name_of_set(stem: str) -> str:
    return next((name for name in SETS if stem.casefold().startswith(name)), "")


def load_dataset_file(path: Path) -> Dataset:
    """Load the data set of a file; the documents of a golden set are in the folder next to it."""
    if needs_documents(path):
        return load_dataset(path, documents=load_documents(path.with_suffix("")).documents)
    return load_dataset(path)


def keep_first_questions(dataset: Dataset, limit: int | None) -> Dataset:
    """Reduce a data set to its first ``limit`` questions and the documents that they need."""
    questions = dataset.questions[:limit]
    named = {question.document for question in questions}
    documents = dataset.documents
    if limit is not None and None not in named:
        documents = tuple(document for document in documents if document.id in named)
    return replace(dataset, questions=questions, documents=documents)


def measure_dataset(
    name: str, index: Index, systems: Sequence[System], budgets: Sequence[int]
) -> list[BoardRow]:
    """Measure the systems on a set; the others are compared with the first."""
    compared = compare(index, systems, budgets)
    middle = budgets[len(budgets) // 2]
    milliseconds = {system.name: _measure_milliseconds(index, system, middle) for system in systems}
    return [
        BoardRow(name, measure, system, figures, milliseconds[system])
        for measure, rows in _figures_by_measure(index.dataset, compared)
        for system, figures in rows.items()
    ]


Figures = dict[str, tuple[MeasuredMean, ...]]


def _figures_by_measure(dataset: Dataset, compared: Comparison) -> Iterator[tuple[str, Figures]]:
    """Yield each measure that applies to a set, with the figures of every system."""
    general = {q.id for q in dataset.questions if GENERAL in q.kinds}
    details = restrict_to_questions(compared, {q.id for q in dataset.questions} - general)
    parts = {"answers, general": restrict_to_questions(compared, general), "answers": details}
    if "evidence_recall" in compared.measures:
        yield "evidence", _figures_by_budget(compared, "evidence_recall")
    for measure, part in parts.items():
        if "content_recall" in part.measures:
            yield measure, _figures_by_budget(part, "content_recall")
    if "document_recall" in compared.measures:
        rows = compared.rows_at_budget(compared.budgets[-1])
        names = [f"document_recall_at_{n}" for n in FIRST_DOCUMENTS]
        figures = {s: tuple(row.figures[name] for name in names) for s, row in rows.items()}
        yield DOCUMENTS, figures


def _figures_by_budget(compared: Comparison, measure: str) -> Figures:
    rows = [compared.rows_at_budget(budget) for budget in compared.budgets]
    return {system: tuple(row[system].figures[measure] for row in rows) for system in rows[0]}


def _measure_milliseconds(index: Index, system: System, budget_tokens: int) -> float:
    questions = index.dataset.questions
    seconds = []
    for question in questions[:: -(-len(questions) // N_TIMED)]:
        started = time.perf_counter()
        vectors = index.components.embedder.embed_queries([question.text])
        batch = QuestionBatch([question], vectors, index.filter_of(question, pooled=False))
        system.make_contexts(index, batch, budget_tokens)
        seconds.append(time.perf_counter() - started)
    return round(1000 * median(seconds), 1)


def board_tables(
    rows: Sequence[BoardRow], sizes: Mapping[str, tuple[int, int]], budgets: Sequence[int]
) -> Iterator[Table]:
    """Yield the tables of contexts and of documents; ``sizes`` is (documents, questions) by set."""
    read = "; ".join(f"{name}: {d:,} documents, {q:,} questions" for name, (d, q) in sizes.items())
    brackets = "Brackets are 95 % intervals of the paired difference, bootstrapped over documents."
    contexts = (
        f"{read}. Evidence: share of its runs of four words in the context. Answers: share of the "
        f"words of a reference answer. {brackets}"
    )
    documents = f"Share of the documents that answer among the best. {brackets}"
    limits = [f"{budget:,} tokens" for budget in budgets]
    if of_contexts := [row for row in rows if row.measure != DOCUMENTS]:
        yield _make_table("Public data sets", of_contexts, limits, contexts)
    if of_documents := [row for row in rows if row.measure == DOCUMENTS]:
        firsts = [f"best {n}" for n in FIRST_DOCUMENTS]
        yield _make_table("Documents", of_documents, firsts, documents)


def _make_table(
    title: str, rows: Sequence[BoardRow], limit_labels: Sequence[str], note: str
) -> Table:
    differences = [f"less {rows[0].strategy}, {limit}" for limit in limit_labels]
    head = ("set", "measure", "questions", "strategy", *limit_labels, *differences, "p50 ms")
    cells = (
        (
            row.dataset,
            row.measure,
            str(row.figures[0].n_questions),
            row.strategy,
            *(f"{figure.mean.value:.3f}" for figure in row.figures),
            *(_difference_text(figure.difference) for figure in row.figures),
            f"{row.milliseconds:.1f}",
        )
        for row in rows
    )
    return Table(title, head, tuple(cells), note)


def _difference_text(difference: Difference | None) -> str:
    return "" if difference is None else format_interval(difference.interval, "+")
