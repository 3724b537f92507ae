"""Labelled summaries: claims about documents, and how well a judge tells the consistent ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raptor_core.audit.base import AuditedSummary, Judge, NamedText, SentenceFinding
from raptor_core.chunking.sentences import sentences
from raptor_core.errors import SourceError
from raptor_core.evaluation.bootstrap import Floats, Interval, bootstrap_interval, draws
from raptor_core.evaluation.rows import Row, read_rows
from raptor_core.identity import digest

DOCUMENTS = "docs.jsonl"
PAIRS = "pairs.jsonl"
PASSAGE_CHARS = 500
REMEDY = f"expected a folder with {DOCUMENTS} and {PAIRS}, one JSON object to a line"


@dataclass(frozen=True, slots=True)
class Pair:
    """One claim about one document; ``label`` says whether the document supports it."""

    id: str
    dataset: str
    document: str
    claim: str
    label: bool

    @property
    def calibrates(self) -> bool:
        """Whether its document is of the half that judges are calibrated on, by a hash of its id.

        The other half is reported.
        """
        return int(digest("half", self.document), 16) % 2 == 0


@dataclass(frozen=True, slots=True)
class Labelled:
    """Pairs in the order of the file, and the texts of their documents by id."""

    pairs: tuple[Pair, ...]
    documents: dict[str, str]

    def audited(self, pairs: Sequence[Pair]) -> list[AuditedSummary]:
        """Each claim as a summary of its document's passages of about 500 characters."""
        wanted = {pair.document for pair in pairs}
        passages = {name: _passages(name, self.documents[name]) for name in wanted}
        return [
            AuditedSummary(NamedText(pair.id, pair.claim), passages[pair.document])
            for pair in pairs
        ]


def load_labelled(folder: Path) -> Labelled:
    """Read ``docs.jsonl`` (doc_id, text) and ``pairs.jsonl``.

    A pair has pair_id, dataset, doc_id, claim, and label: 1 for consistent, 0 for not.

    Raises:
        SourceError: a file cannot be read, or a line does not hold what it must; it is named.
    """
    rows = read_rows(folder / DOCUMENTS, REMEDY)
    documents = {row.identifier("doc_id"): row.text("text") for row in rows}
    pairs = tuple(map(_pair, read_rows(folder / PAIRS, REMEDY)))
    if not pairs:
        raise SourceError(f"{folder / PAIRS} holds no pair; expected one JSON object in each line")
    for pair in pairs:
        if pair.document not in documents:
            raise SourceError(
                f"{folder / PAIRS}: pair {pair.id!r} names document {pair.document!r}, which "
                f"{folder / DOCUMENTS} does not hold"
            )
    return Labelled(pairs, documents)


def _pair(row: Row) -> Pair:
    label = row.whole("label", 0, 1)
    if label is None:
        raise row.wrong("label", "1 (consistent) or 0", None)
    pair, dataset, document = (row.identifier(key) for key in ("pair_id", "dataset", "doc_id"))
    return Pair(pair, dataset, document, row.text("claim"), label == 1)


def _passages(name: str, text: str) -> tuple[NamedText, ...]:
    """Runs of whole sentences."""
    spans: list[tuple[int, int]] = []
    for start, end in sentences(text):
        if spans and end - spans[-1][0] <= PASSAGE_CHARS:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return tuple(
        NamedText(f"{name}:{at}", text[start:end]) for at, (start, end) in enumerate(spans)
    )


@dataclass(frozen=True, slots=True)
class DatasetScore:
    """One judge on one data set: the half of its documents that nothing was calibrated on.

    Attributes:
        n_pairs, n_consistent, n_documents: of that half, judged ones only.
        n_not_judged: pairs of it without any judged sentence; they are left out.
        auc: that a consistent claim scores higher than an inconsistent one.
        balanced_accuracy: at the bound that is best on the calibrating half.
        bound: that bound, on a pair's score.
        verdict_accuracy: balanced accuracy of the judge's own verdicts, where a claim with an
            unsupported sentence is inconsistent.
    """

    dataset: str
    n_pairs: int
    n_consistent: int
    n_documents: int
    n_not_judged: int
    auc: Interval
    balanced_accuracy: Interval
    bound: float
    verdict_accuracy: Interval


def score_judge(labelled: Labelled, judge: Judge) -> list[DatasetScore]:
    """Scores of a judge, in the order in which the data sets come."""
    findings = judge.judge(labelled.audited(labelled.pairs))
    judged = list(zip(labelled.pairs, findings, strict=True))
    datasets = dict.fromkeys(pair.dataset for pair in labelled.pairs)
    return [_score(name, [one for one in judged if one[0].dataset == name]) for name in datasets]


_Measure = Callable[[NDArray[np.bool_], NDArray[Any]], float]
"""Of labels, and what is told of each."""


def _score(name: str, judged: Sequence[tuple[Pair, Sequence[SentenceFinding]]]) -> DatasetScore:
    scores = np.array([_pair_score(findings) for _, findings in judged])
    labels = np.array([pair.label for pair, _ in judged])
    calibrates = np.array([pair.calibrates for pair, _ in judged])
    is_judged = ~np.isnan(scores)
    calibrating, reported = is_judged & calibrates, np.flatnonzero(is_judged & ~calibrates)
    bound = best_bound(labels[calibrating], scores[calibrating])
    documents = tuple(judged[at][0].document for at in reported.tolist())
    samples = [reported[rows] for rows in draws(documents)]

    def interval(measure: _Measure, values: NDArray[Any]) -> Interval:
        sampled = [measure(labels[rows], values[rows]) for rows in samples]
        return bootstrap_interval(measure(labels[reported], values[reported]), sampled)

    told = np.array([all(f.judgement != "unsupported" for f in findings) for _, findings in judged])
    return DatasetScore(
        dataset=name,
        n_pairs=len(reported),
        n_consistent=int(labels[reported].sum()),
        n_documents=len(set(documents)),
        n_not_judged=int((~is_judged & ~calibrates).sum()),
        auc=interval(auc, scores),
        balanced_accuracy=interval(lambda y, s: balanced_accuracy(y, s >= bound), scores),
        bound=bound,
        verdict_accuracy=interval(balanced_accuracy, told),
    )


def _pair_score(findings: Sequence[SentenceFinding]) -> float:
    """Mean support over the judged sentences; NaN without any."""
    scores = [finding.score for finding in findings if finding.judgement != "not judged"]
    return sum(scores) / len(scores) if scores else float("nan")


def auc(labels: NDArray[np.bool_], scores: Floats) -> float:
    """Area under the ROC curve, ties counting half; NaN where one of the labels is missing."""
    n_true, n_false = int(labels.sum()), int((~labels).sum())
    if not n_true or not n_false:
        return float("nan")
    from scipy.stats import rankdata

    above = rankdata(scores)[labels].sum() - n_true * (n_true + 1) / 2
    return float(above / (n_true * n_false))


def balanced_accuracy(labels: NDArray[np.bool_], told: NDArray[np.bool_]) -> float:
    """Mean of the shares of both labels that are told right; NaN where one is missing."""
    if labels.all() or not labels.any():
        return float("nan")
    return float((told[labels].mean() + (~told[~labels]).mean()) / 2)


def best_bound(labels: NDArray[np.bool_], scores: Floats) -> float:
    """The bound of best balanced accuracy, halfway between two scores; 0.5 where none is."""
    distinct = np.unique(scores)
    if len(distinct) < 2 or labels.all() or not labels.any():
        return 0.5
    bounds = (distinct[1:] + distinct[:-1]) / 2
    accuracies = [balanced_accuracy(labels, scores >= bound) for bound in bounds]
    return float(bounds[int(np.argmax(accuracies))])
