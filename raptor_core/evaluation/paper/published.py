"""What the paper reports (Sarthi et al. 2024, arXiv:2401.18059), by its own table numbers.

Shares are in percent, as they are printed there.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from raptor_core.evaluation.paper.table import Table

READ = "Scores of answers, in percent, from the paper."
_SHARE = "Share of the nodes that the collapsed tree retrieved, in percent."


def _table(text: str, note: str = READ) -> Table:
    """A table from lines: its title, its head, its rows, cells between "|"."""
    title, *lines = text.split("\n")
    head, *rows = (tuple(map(str.strip, line.split("|"))) for line in lines)
    return Table(f"Paper, {title}", head, tuple(rows), note)


_NARRATIVEQA = _table("""Table 1: NarrativeQA, UnifiedQA-3B
retriever | ROUGE-L | BLEU-1 | BLEU-4 | METEOR
SBERT with RAPTOR | 30.87 | 23.50 | 6.42 | 19.20
SBERT without RAPTOR | 29.26 | 22.56 | 5.95 | 18.15
BM25 with RAPTOR | 27.93 | 21.17 | 5.70 | 17.03
BM25 without RAPTOR | 23.52 | 17.73 | 4.65 | 13.98
DPR with RAPTOR | 30.94 | 23.51 | 6.45 | 19.05
DPR without RAPTOR | 29.56 | 22.84 | 6.12 | 18.44""")
_UNIFIEDQA = _table("""Table 2: UnifiedQA-3B
retriever | QuALITY accuracy | QASPER F1
SBERT with RAPTOR | 56.6 | 36.70
SBERT without RAPTOR | 54.9 | 36.23
BM25 with RAPTOR | 52.1 | 27.00
BM25 without RAPTOR | 49.9 | 26.47
DPR with RAPTOR | 54.7 | 32.23
DPR without RAPTOR | 53.1 | 31.70""")
_QASPER = _table("""Table 3: QASPER F1 by reader
retriever | GPT-3 | GPT-4 | UnifiedQA-3B
title and abstract | 25.2 | 22.2 | 17.5
BM25 | 46.6 | 50.2 | 26.4
DPR | 51.3 | 53.0 | 32.1
RAPTOR | 53.1 | 55.7 | 36.6""")
_QASPER_SYSTEMS = _table("""Table 5: QASPER F1
system | F1
LongT5 XL | 53.1
CoLT5 XL | 53.9
RAPTOR, GPT-4 | 55.7""")
_NARRATIVEQA_SYSTEMS = _table("""Table 6: NarrativeQA
system | ROUGE-L | BLEU-1 | BLEU-4 | METEOR
BiDAF | 6.2 | 5.7 | 0.3 | 3.7
BM25, BERT | 15.5 | 14.5 | 1.4 | 5.0
recursively summarized books | 21.6 | 22.3 | 4.2 | 10.6
Retriever, Reader | 32.0 | 35.3 | 7.5 | 11.1
RAPTOR, UnifiedQA | 30.8 | 23.5 | 6.4 | 19.1""")
_QUALITY = _table("""Table 4: QuALITY accuracy, dev set
retriever | GPT-3 | UnifiedQA-3B
BM25 | 57.3 | 49.9
DPR | 60.4 | 53.9
RAPTOR | 62.4 | 56.6""")
_QUALITY_SYSTEMS = _table("""Table 7: QuALITY accuracy, test set
system | accuracy | HARD
Longformer-base | 39.5 | 35.3
DPR, DeBERTaV3-large | 55.4 | 46.1
CoLISA | 62.3 | 54.7
RAPTOR, GPT-4 | 82.6 | 76.2""")
_CONTIGUOUS = _table("""Table 9: QuALITY accuracy, UnifiedQA-3B, collapsed tree
tree | accuracy
RAPTOR | 56.6
contiguous, 7 nodes to a summary | 55.8""")

ANSWERS: Mapping[str, tuple[Table, ...]] = MappingProxyType(
    {
        "qasper": (_UNIFIEDQA, _QASPER, _QASPER_SYSTEMS),
        "quality": (_UNIFIEDQA, _QUALITY, _QUALITY_SYSTEMS, _CONTIGUOUS),
        "narrativeqa": (_NARRATIVEQA, _NARRATIVEQA_SYSTEMS),
    }
)
"""Tables of answers by data set."""

LAYERS = (
    _table("""Table 8: QuALITY, story 1
layers queried | start layer 0 | start layer 1 | start layer 2
1 | 57.9 | 57.8 | 57.9
2 |  | 52.6 | 63.15
3 |  |  | 73.68"""),
    _table("""Table 14: QuALITY, story 2
layers queried | start layer 0 | start layer 1 | start layer 2
1 | 58.8 | 47.1 | 41.1
2 |  | 64.7 | 52.9
3 |  |  | 47.1"""),
    _table("""Table 15: QuALITY, story 3
layers queried | start layer 0 | start layer 1 | start layer 2
1 | 66.6 | 61.1 | 61.1
2 |  | 66.6 | 66.6
3 |  |  | 83.3"""),
    _table("""Table 16: QuALITY, story 4
layers queried | start layer 0 | start layer 1
1 | 94.7 | 84.2
2 |  | 89.4"""),
    _table("""Table 17: QuALITY, story 5
layers queried | start layer 0 | start layer 1
1 | 57.9 | 47.3
2 |  | 68.4"""),
)
"""Accuracy by start layer and number of layers, of single stories."""

SHARES = (
    _table(
        """Table 18: nodes that are no leaves
data set | DPR | SBERT | BM25
NarrativeQA | 57.36 | 36.78 | 34.96
QuALITY | 32.28 | 24.41 | 32.36
QASPER | 22.93 | 18.49 | 22.76""",
        _SHARE,
    ),
    _table(
        """Table 19: DPR
layer | NarrativeQA | QuALITY | QASPER
0 | 42.64 | 67.71 | 77.07
1 | 45.00 | 29.43 | 21.88
2 | 10.57 | 2.85 | 1.05
3 | 1.78 |  |
4 | 0.003 |  |""",
        _SHARE,
    ),
    _table(
        """Table 20: SBERT
layer | NarrativeQA | QuALITY | QASPER
0 | 63.22 | 75.59 | 81.51
1 | 31.51 | 22.78 | 17.84
2 | 4.85 | 1.63 | 0.65
3 | 0.42 |  |""",
        _SHARE,
    ),
    _table(
        """Table 21: BM25
layer | NarrativeQA | QuALITY | QASPER
0 | 65.04 | 67.64 | 77.24
1 | 28.79 | 28.85 | 21.57
2 | 5.36 | 3.51 | 1.19
3 | 0.81 |  |""",
        _SHARE,
    ),
)

COMPRESSION: Mapping[str, tuple[str, str, str, str]] = MappingProxyType(
    {
        "all three": ("131", "85.6", "6.7", "0.28"),
        "quality": ("124.4", "87.9", "5.7", "0.28"),
        "narrativeqa": ("129.7", "85.5", "6.8", "0.27"),
        "qasper": ("145.9", "86.2", "5.7", "0.35"),
    }
)
"""Table 10: tokens of a summary and of a child, children per summary, ratio; by data set."""
