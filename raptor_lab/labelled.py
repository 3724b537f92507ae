"""Claims about documents that people labelled, and scores of a judge on them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raptor_core.audit.base import Judge, NamedText, SentenceFinding, SummaryToAudit
from raptor_core.chunking.sentences import find_sentence_spans
from raptor_core.errors import SourceError
from raptor_core.evaluation.bootstrap import (
    Floats,
    Interval,
    bootstrap_interval,
    draw_bootstrap_rows,
)
from raptor_core.identity import digest
from raptor_lab.datasets.rows import JsonRow, read_rows

DOCUMENTS = "docs.jsonl"
PAIRS = "pairs.jsonl"
PASSAGE_CHARS = 500
_REMEDY = f"expected a folder with {DOCUMENTS} and {PAIRS}, one JSON object to a line"


@dataclass(frozen=True, slots=True)
class LabelledClaim:
    """Claim about a document; ``is_supported`` is true if the document supports it."""

    id: str
    dataset: str
    document: str
    claim: str
    is_supported: bool

    @property
    def is_for_calibration(self) -> bool:
        """Whether the document is in the half for calibration, by a hash of its id."""
        return int(digest("half", self.document), 16) % 2 == 0


@dataclass(frozen=True, slots=True)
class LabelledClaims:
    """Claims in the order of the file, and the texts of their documents by id."""

    claims: tuple[LabelledClaim, ...]
    documents: dict[str, str]

    def to_summaries_to_audit(self, pairs: Sequence[LabelledClaim]) -> list[SummaryToAudit]:
        """Convert claims to summaries of their documents' passages of about 500 characters."""
        names = {pair.document for pair in pairs}
        passages = {name: _join_sentences_to_passages(name, self.documents[name]) for name in names}
        return [
            SummaryToAudit(NamedText(pair.id, pair.claim), passages[pair.document])
            for pair in pairs
        ]


def load_labelled(folder: Path) -> LabelledClaims:
    """Read ``docs.jsonl`` and ``pairs.jsonl``, in the format of `raptor eval audit`."""
    rows = read_rows(folder / DOCUMENTS, _REMEDY)
    documents = {_read_identifier(row, "doc_id"): row.read_text("text") for row in rows}
    pairs = tuple(map(_to_claim, read_rows(folder / PAIRS, _REMEDY)))
    if not pairs:
        raise SourceError(
            f"{folder / PAIRS} contains no pair; expected one JSON object in each line"
        )
    for pair in pairs:
        if pair.document not in documents:
            raise SourceError(
                f"{folder / PAIRS}: pair {pair.id!r} names document {pair.document!r}, which "
                f"{folder / DOCUMENTS} does not contain"
            )
    return LabelledClaims(pairs, documents)


def _to_claim(row: JsonRow) -> LabelledClaim:
    label = row.read_whole_number("label", 0, 1)
    if label is None:
        raise row.to_error("label", "1 (consistent) or 0", None)
    pair, dataset, document = (
        _read_identifier(row, key) for key in ("pair_id", "dataset", "doc_id")
    )
    return LabelledClaim(pair, dataset, document, row.read_text("claim"), label == 1)


def _read_identifier(row: JsonRow, key: str) -> str:
    """Return a field with a text or a whole number, as text."""
    value = row.values.get(key)
    return str(value) if isinstance(value, int) else row.read_text(key)


def _join_sentences_to_passages(name: str, text: str) -> tuple[NamedText, ...]:
    """Join sentences to passages of at most PASSAGE_CHARS; a longer one is its own passage."""
    spans: list[tuple[int, int]] = []
    for start, end in find_sentence_spans(text):
        if spans and end - spans[-1][0] <= PASSAGE_CHARS:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return tuple(
        NamedText(f"{name}:{at}", text[start:end]) for at, (start, end) in enumerate(spans)
    )


@dataclass(frozen=True, slots=True)
class DatasetScore:
    """Scores of a judge on the half of a data set that is not for calibration.

    Attributes:
        n_pairs, n_consistent, n_documents: numbers of judged claims and their documents.
        n_not_judged: claims without a judged sentence, which are excluded.
        auc: probability that a consistent claim scores higher than an inconsistent one.
        balanced_accuracy: accuracy with the ``bound`` on scores that is best in calibration.
        verdict_accuracy: balanced accuracy of the judge's verdicts; a claim with an unsupported
            sentence is inconsistent.
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


def score_judge(labelled: LabelledClaims, judge: Judge) -> list[DatasetScore]:
    """Score a judge on each data set, in the order of the file."""
    judged = list(
        zip(
            labelled.claims,
            judge.judge(labelled.to_summaries_to_audit(labelled.claims)),
            strict=True,
        )
    )
    datasets = dict.fromkeys(pair.dataset for pair in labelled.claims)
    return [
        _score_dataset(name, [item for item in judged if item[0].dataset == name])
        for name in datasets
    ]


_Measure = Callable[[NDArray[np.bool_], NDArray[Any]], float]
"""Function of labels and of their scores or verdicts."""


def _score_dataset(
    name: str, judged: Sequence[tuple[LabelledClaim, Sequence[SentenceFinding]]]
) -> DatasetScore:
    scores = np.array([_score_claim(findings) for _, findings in judged])
    labels = np.array([pair.is_supported for pair, _ in judged])
    calibrates = np.array([pair.is_for_calibration for pair, _ in judged])
    is_judged = ~np.isnan(scores)
    calibrating, reported = is_judged & calibrates, np.flatnonzero(is_judged & ~calibrates)
    bound = find_best_bound(labels[calibrating], scores[calibrating])
    documents = tuple(judged[at][0].document for at in reported.tolist())
    samples = [reported[rows] for rows in draw_bootstrap_rows(documents)]

    def interval(measure: _Measure, values: NDArray[Any]) -> Interval:
        sampled = [measure(labels[rows], values[rows]) for rows in samples]
        value = measure(labels[reported], values[reported])
        return bootstrap_interval(value, sampled, documents)

    verdicts = [all(f.judgement != "unsupported" for f in findings) for _, findings in judged]
    return DatasetScore(
        dataset=name,
        n_pairs=len(reported),
        n_consistent=int(labels[reported].sum()),
        n_documents=len(set(documents)),
        n_not_judged=int((~is_judged & ~calibrates).sum()),
        auc=interval(auc, scores),
        balanced_accuracy=interval(lambda y, s: balanced_accuracy(y, s >= bound), scores),
        bound=bound,
        verdict_accuracy=interval(balanced_accuracy, np.array(verdicts)),
    )


def _score_claim(findings: Sequence[SentenceFinding]) -> float:
    scores = [finding.score for finding in findings if finding.judgement != "not judged"]
    return sum(scores) / len(scores) if scores else float("nan")


def auc(labels: NDArray[np.bool_], scores: Floats) -> float:
    """Compute the area under the ROC curve; NaN if one of the labels is missing."""
    n_true, n_false = int(labels.sum()), int((~labels).sum())
    if not n_true or not n_false:
        return float("nan")
    from scipy.stats import rankdata

    above = rankdata(scores)[labels].sum() - n_true * (n_true + 1) / 2
    return float(above / (n_true * n_false))


def balanced_accuracy(labels: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> float:
    """Compute the mean recall of both labels; NaN if one of them is missing."""
    if labels.all() or not labels.any():
        return float("nan")
    return float((predicted[labels].mean() + (~predicted[~labels]).mean()) / 2)


def find_best_bound(labels: NDArray[np.bool_], scores: Floats) -> float:
    """Find the bound of best balanced accuracy, or 0.5 without two scores and labels."""
    distinct = np.unique(scores)
    if len(distinct) < 2 or labels.all() or not labels.any():
        return 0.5
    bounds = (distinct[1:] + distinct[:-1]) / 2
    accuracies = [balanced_accuracy(labels, scores >= bound) for bound in bounds]
    return float(bounds[int(np.argmax(accuracies))])
