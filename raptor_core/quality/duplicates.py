"""Check for summaries of a layer that repeat one another nearly word for word.

Texts are compared by their runs of three words (of three characters in scripts without spaces).
MinHash signatures put texts into buckets by bands (Broder 1997); the exact Jaccard index decides
between neighbours of a bucket. So the time is near-linear, also for many equal texts.
"""

import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raptor_core.audit.collage import folded
from raptor_core.nodes import Node, grouped
from raptor_core.quality.checks import CheckedLayer, CheckMeasurement, WorstNode, check, percent
from raptor_core.quality.statistics import DIGITS
from raptor_core.settings import CheckSettings

RUN_WORDS = 3
MIN_RUNS = 6
"""Runs of words that a text needs to be compared."""
_BANDS, _ROWS = 20, 4
_SEED = 20_010
_NEIGHBOURS = 3
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class SimilarPair:
    """Rows of two texts, ``first < second``, and their similarity in [0, 1]."""

    first: int
    second: int
    likeness: float


def pairs_by_words(texts: Sequence[str], least: float) -> list[SimilarPair]:
    """Return pairs of texts that share at least ``least`` of their runs, most similar first.

    A text has pairs with only some of many equal texts. For ``least`` of 0.8 or more, more than
    99.9 % of such pairs are found.
    """
    runs = [_runs(text) for text in texts]
    rows = [row for row, pairs in enumerate(runs) if len(pairs) >= MIN_RUNS]
    if len(rows) < 2:
        return []
    neighbours = _neighbours(rows, _signatures([runs[row] for row in rows]))
    pairs = (SimilarPair(a, b, _jaccard(runs[a], runs[b])) for a, b in neighbours)
    similar = (pair for pair in pairs if pair.likeness >= least)
    return sorted(similar, key=lambda pair: (-pair.likeness, pair.first, pair.second))


def _runs(text: str) -> Hashes:
    """Return sorted hashes of the distinct runs of three words."""
    codes = np.array(
        [zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in _WORD.findall(folded(text))],
        dtype=np.uint64,
    )
    if len(codes) < RUN_WORDS:
        return np.zeros(0, dtype=np.uint64)
    mixed = codes[2:] + codes[1:-1] * np.uint64(0x9E3779B97F4A7C15)
    mixed += codes[:-2] * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= mixed >> np.uint64(29)
    hashes: Hashes = np.unique(mixed * np.uint64(0xBF58476D1CE4E5B9))
    return hashes


def _signatures(runs: Sequence[Hashes]) -> NDArray[np.uint64]:
    """Return MinHash signatures of shape ``(len(runs), bands, rows)``."""
    rng = np.random.default_rng(_SEED)
    n_hashes = _BANDS * _ROWS
    factors = rng.integers(1, 2**63, n_hashes, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    shifts = rng.integers(0, 2**63, n_hashes, dtype=np.uint64)
    signatures = [((h[:, None] * factors + shifts) >> np.uint64(16)).min(axis=0) for h in runs]
    return np.reshape(signatures, (len(runs), _BANDS, _ROWS))


def _neighbours(rows: Sequence[int], bands: NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Yield each row with the last few rows that equal it in a band, each pair once.

    ``bands`` has shape ``(len(rows), n_bands, n_values)``.
    """
    latest: defaultdict[tuple[int, bytes], list[int]] = defaultdict(list)
    pairs: set[tuple[int, int]] = set()
    for row, of_row in zip(rows, bands, strict=True):
        for band, values in enumerate(of_row):
            bucket = latest[band, values.tobytes()]
            for neighbour in bucket:
                if (neighbour, row) not in pairs:
                    pairs.add((neighbour, row))
                    yield neighbour, row
            bucket.append(row)
            del bucket[:-_NEIGHBOURS]


def _jaccard(first: Hashes, second: Hashes) -> float:
    shared = len(np.intersect1d(first, second, assume_unique=True))
    return shared / (len(first) + len(second) - shared)


Twin = tuple[Node, Node, float]
"""Summary, the summary that it repeats, and their similarity in [0, 1]."""


@check(
    "near_duplicates",
    "warn",
    "Share of summaries that say nearly the same words as another of their layer and tree.",
)
def near_duplicates(layer: CheckedLayer) -> CheckMeasurement:
    """Measure the share of summaries that repeat another of their tree by their words."""
    checks = layer.settings.checks
    twins = [
        (nodes[pair.first], nodes[pair.second], pair.likeness)
        for nodes in grouped(layer.summaries, lambda node: node.tree).values()
        for pair in pairs_by_words([node.text for node in nodes], checks.near_duplicate)
    ]
    return _measure(len(layer.summaries), twins, checks)


def count_repeated(twins: Sequence[Twin]) -> int:
    """Count the summaries that could be removed: all but one of each group of near duplicates."""
    if not twins:
        return 0
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = [[node.id for node, *_ in twins], [repeated.id for _, repeated, _ in twins]]
    ids, rows = np.unique(ends, return_inverse=True)
    graph = coo_array((np.ones(len(twins)), rows.reshape(2, -1)), shape=(len(ids), len(ids)))
    return len(ids) - int(connected_components(graph, directed=False)[0])


def _measure(n_checked: int, twins: Sequence[Twin], checks: CheckSettings) -> CheckMeasurement:
    n_repeated = count_repeated(twins)
    share = n_repeated / max(1, n_checked)
    numbers: dict[str, float] = {
        "summaries": n_checked,
        "near_duplicates": n_repeated,
        "near_duplicate_pairs": len(twins),
    }
    summary = "No summary to compare."
    if n_checked:
        numbers["near_duplicate_share"] = round(share, DIGITS)
        summary = (
            f"{n_repeated} of {n_checked} summaries nearly repeat another of their "
            f"layer (at most {percent(checks.max_near_duplicates)})."
        )
    worst = [
        WorstNode.of(node, likeness, f"as {repeated.id} (words {likeness:.2f})")
        for node, repeated, likeness in sorted(twins, key=lambda twin: (-twin[2], twin[0].id))
    ]
    remedy = (
        "Look for copied documents first; else raise clustering.threshold, so that fewer nodes "
        "join several clusters."
    )
    return CheckMeasurement(share <= checks.max_near_duplicates, summary, numbers, worst, remedy)
