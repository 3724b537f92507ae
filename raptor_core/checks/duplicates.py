"""Check for summaries of a layer that repeat one another nearly word for word.

Texts are compared by their runs of three words (pairs of letters in scripts without spaces), by the
Jaccard index of these sets.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from raptor_core.checks.base import (
    DIGITS,
    CheckedLayer,
    CheckMeasurement,
    WorstNode,
    check,
    percent,
)
from raptor_core.nodes import grouped
from raptor_core.text.words import folded_words

MIN_RUNS = 6
"""Runs of words that a text needs to be compared."""
_BLOCK_ROWS = 1024
"""Texts that are compared with all texts at the same time."""

_Runs = frozenset[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class SimilarPair:
    """Rows of two texts, ``first < second``, and their similarity in [0, 1]."""

    first: int
    second: int
    likeness: float


def pairs_by_words(texts: Sequence[str], least: float) -> list[SimilarPair]:
    """Return the pairs of texts that share at least ``least`` of their runs, most similar first.

    Of texts with equal runs, each has one pair, with the first of them.
    """
    first_rows: dict[_Runs, int] = {}
    pairs = []
    for row, text in enumerate(texts):
        runs = _runs(text)
        first = first_rows.setdefault(runs, row) if len(runs) >= MIN_RUNS else row
        if first != row:
            pairs.append(SimilarPair(first, row, 1.0))
    if len(first_rows) > 1:
        pairs += _pairs_of_distinct(first_rows, least)
    return sorted(pairs, key=lambda pair: (-pair.likeness, pair.first, pair.second))


def _runs(text: str) -> _Runs:
    """Return the distinct runs of three words."""
    words = folded_words(text)
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def _pairs_of_distinct(rows: dict[_Runs, int], least: float) -> list[SimilarPair]:
    """Return the pairs of at least ``least`` likeness among distinct sets of runs."""
    from scipy.sparse import csr_array

    numbers, sizes = list(rows.values()), np.array([len(runs) for runs in rows])
    columns: dict[tuple[str, str, str], int] = {}
    present = [columns.setdefault(run, len(columns)) for runs in rows for run in runs]
    ends = np.concatenate(([0], np.cumsum(sizes)))
    matrix = csr_array((np.ones(len(present), np.int32), present, ends), (len(rows), len(columns)))
    pairs = []
    for start in range(0, len(numbers), _BLOCK_ROWS):
        shared = (matrix[start : start + _BLOCK_ROWS] @ matrix.T).tocoo()
        above, below = shared.row + start, shared.col
        likeness = shared.data / (sizes[above] + sizes[below] - shared.data)
        for pair in np.flatnonzero((above < below) & (likeness >= least)).tolist():
            first, second = sorted((numbers[above[pair]], numbers[below[pair]]))
            pairs.append(SimilarPair(first, second, float(likeness[pair])))
    return pairs


NEAR_DUPLICATE = 0.8
"""Share of three-word runs that two near duplicates have in common."""
MAX_SHARE = 0.1
"""Share of a layer's summaries that may nearly repeat another; of two alike, one counts."""


@check(
    "near_duplicates",
    "warn",
    "Share of summaries that say nearly the same words as another of their layer and tree.",
)
def near_duplicates(layer: CheckedLayer) -> CheckMeasurement:
    """Measure the share of summaries that repeat another of their tree by their words."""
    twins = [
        (nodes[pair.first], nodes[pair.second], pair.likeness)
        for nodes in grouped(layer.summaries, lambda node: node.tree).values()
        for pair in pairs_by_words([node.text for node in nodes], NEAR_DUPLICATE)
    ]
    n_checked, n_repeated = len(layer.summaries), len({second.id for _, second, _ in twins})
    share = n_repeated / max(1, n_checked)
    numbers = {
        "summaries": n_checked,
        "near_duplicates": n_repeated,
        "near_duplicate_pairs": len(twins),
        "near_duplicate_share": round(share, DIGITS),
    }
    summary = (
        f"{n_repeated} of {n_checked} summaries nearly repeat another of their layer (at most "
        f"{percent(MAX_SHARE)})."
    )
    worst = [
        WorstNode.of(node, likeness, f"as {repeated.id} (words {likeness:.2f})")
        for node, repeated, likeness in sorted(twins, key=lambda twin: (-twin[2], twin[0].id))
    ]
    remedy = (
        "Look for copied documents first; else raise clustering.threshold, so that fewer nodes "
        "join several clusters."
    )
    return CheckMeasurement(share <= MAX_SHARE, summary, numbers, worst, remedy)
