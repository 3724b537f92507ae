"""How thematic a question is, told from the scores of its candidates."""

from __future__ import annotations

import numpy as np

from raptor_core.retrieval.hybrid.groups import Scores

N_FOLLOWING = 9
LOCAL_LEAD = 0.9
THEMATIC_LEAD = 0.4
"""Leads of the best chunk over the next nine, in standard deviations, of questions about one fact
and about a theme: over the handbook's questions the medians are 1.4 and 0.8."""


def theme(own: Scores) -> float:
    """From 0 for a question about one fact to 1 for one about a theme.

    A fact stands in one chunk, which leads; what a theme asks for stands in many, near in score.

    Args:
        own: standardized scores of the chunks by their own text, in any order.
    """
    if len(own) < 2:
        return 0.0
    best = np.sort(own)[::-1][: N_FOLLOWING + 1]
    lead = float(best[0] - best[1:].mean())
    return float(np.clip((LOCAL_LEAD - lead) / (LOCAL_LEAD - THEMATIC_LEAD), 0.0, 1.0))
